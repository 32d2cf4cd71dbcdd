/* Goal: nothing from outside can steer a terminal or leave its 80 columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "base/quantity.h"
#include "base/text.h"
#include "base/terminal.h"

#define ROUNDS 20000

/* Random text, biased to what is near controls and UTF-8's edges. */
static size_t
random_text(char *out, size_t max)
{
	static const unsigned char edges[] = {0x1b, 0x7f, 0x9b, 0xc2, 0x80,
	    0x9f, 0xa0, 0xe2, 0x94, 0x82, 0xf0, 0xed, 'a', ' ', '\n'};
	size_t n = (size_t)random() % max;

	for (size_t i = 0; i < n; i++)
		out[i] = (char)(random() % 2 ? random() % 255 + 1
					     : edges[random() % 15]);
	out[n] = '\0';
	return n;
}

/* Characters in the text; fails on anything a terminal might obey. */
static unsigned
harmless(const char *text, size_t length, bool lines)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned columns = 0;

	while (length > 0) {
		size_t n = utf8_sequence(s, length);

		assert_true(n > 0);
		assert_int_equal(utf8_control(s, n), 0);
		assert_int_not_equal(*s, 0x7f);
		if (*s < 0x20)
			assert_true(lines && (*s == '\n' || *s == '\t'));
		columns++;
		s += n;
		length -= n;
	}
	return columns;
}

TEST(test_random)
{
	char text[128], *out;
	size_t length;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned columns = 4 + (unsigned)random() % 60;
		size_t n = random_text(text, sizeof(text));
		const char *cell = plain_cell(text, columns);
		FILE *file = open_memstream(&out, &length);

		assert_true(harmless(cell, strlen(cell), false) <= columns);
		plain_write(file, text, n);
		fclose(file);
		harmless(out, length, true);
		free(out);
	}
}

TEST(test_cell_exact)
{
	assert_string_equal(plain_cell(NULL, 9), "-");
	assert_string_equal(plain_cell("", 9), "");
	/* C1 and a mark of direction: their bytes */
	assert_string_equal(
	    plain_cell("a\xc2\x9b\xe2\x80\xae z", 20), "a????? z");
	assert_string_equal(plain_cell("123456", 6), "123456");
	assert_string_equal(plain_cell("1234567", 6), "123...");
	assert_string_equal(
	    plain_cell("\303\251t\303\251", 4), "\303\251t\303\251");
}

TEST(test_wrap)
{
	char text[1024], *out, *line, *rest;
	size_t length, words = 0, seen = 0;
	FILE *file = open_memstream(&out, &length);

	text[0] = '\0';
	while (strlen(text) < 900) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof(text) - n, "%*s ",
		    (int)(random() % 12 + 1), "word");
		words++;
	}
	plain_wrap(file, text, 17);
	fclose(file);
	rest = out;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		unsigned first = line == out ? 17 : 0;

		assert_true(strlen(line) + first <= TERMINAL_COLUMNS);
		assert_true(line == out || strspn(line, " ") == 17);
		for (char *w = line; (w = strstr(w, "word")) != NULL; w++)
			seen++;
	}
	assert_int_equal(seen, words);
	free(out);
}

TEST(test_numbers)
{
	char text[QUANTITY_INTERVAL_MAX];

	assert_string_equal(plain_duration(-1), "-");
	assert_string_equal(plain_duration(813400), "813us");
	assert_string_equal(quantity_format_interval(37100000, 48200000, text),
	    "37.1 to 48.2ms");
	assert_string_equal(quantity_format_interval(-813000, 1200000, text),
	    "-813us to 1.20ms");
	assert_string_equal(plain_seconds(0.0412), "41.2ms");
	assert_string_equal(plain_seconds(0), "0ns");
	assert_string_equal(plain_seconds(-1), "-");
	assert_string_equal(plain_seconds(NAN), "-");
	assert_string_equal(plain_seconds(1e300), "-");
	assert_string_equal(plain_count(1234567), "1234567");
	assert_string_equal(plain_count(12345678), "12.35M");
	assert_string_equal(plain_count(0.25), "0.25");
	assert_string_equal(plain_rate(0), "0");
	assert_string_equal(plain_rate(NAN), "0");
	assert_string_equal(plain_rate(0.24), "0.2");
	assert_string_equal(plain_rate(812.4), "812");
}

TEST(test_wrap_long_word)
{
	/* Goal: what fits in no line is cut, not within a character. */
	char *out, text[400] = "short ";
	size_t length;
	FILE *file = open_memstream(&out, &length);

	for (int i = 0; i < 100; i++)
		strcat(text, "\xc3\xa9");
	plain_wrap(file, text, 4);
	fclose(file);
	assert_null(strchr(out, '?'));
	for (char *line = out, *end; *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		assert_non_null(end);
		assert_true(end - line <= TERMINAL_COLUMNS);
	}
	free(out);
}

int
main(void)
{
	srandom(20061);
	return unit_run(NULL, NULL);
}
