#include <errno.h>
#include <math.h>
#include <stdarg.h>

#include "tailorctl/plain.h"

#define WORD_MAX 20 /* on a narrow terminal a longer word is cut there */

unsigned
plain_spare(void)
{
	unsigned columns = terminal_columns(stdout);

	return columns > TERMINAL_COLUMNS ? columns - TERMINAL_COLUMNS : 0;
}

const char *
plain_escape(enum terminal_colour colour)
{
	return terminal_escape(terminal_has_colour(stdout), colour);
}

void
plain_write(FILE *out, const char *text, size_t length)
{
	const unsigned char *s = (const unsigned char *)text;

	while (length > 0) {
		size_t n = utf8_shown(s, length);

		if (n > 0) {
			fwrite(s, 1, n, out);
		} else {
			n = 1;
			fputc(*s == '\n' || *s == '\t' ? *s : '?', out);
		}
		s += n;
		length -= n;
	}
}

char *
plain_cell(char *out, size_t size, const char *text, unsigned columns)
{
	const unsigned char *s;
	size_t left, used = 0, cut = 0;
	unsigned column = 0;

	s = (const unsigned char *)(text != NULL ? text : "-");
	for (left = strlen((const char *)s); left > 0; column++) {
		size_t n = utf8_shown(s, left), take = n > 0 ? n : 1;

		if (column + 3 <= columns)
			cut = used; /* fits with the dots */
		if (column == columns || used + take + 4 > size)
			break;
		if (n > 0)
			memcpy(out + used, s, n);
		else
			out[used] = '?';
		used += take;
		s += take;
		left -= take;
	}
	if (left > 0) {
		used = cut;
		memcpy(out + used, "...", 3);
		used += 3;
	}
	out[used] = '\0';
	return out;
}

void
plain_print_cell(
    const char *text, unsigned columns, enum terminal_colour colour)
{
	char cell[4 * TERMINAL_COLUMNS_MAX];
	unsigned used = 0;

	plain_cell(cell, sizeof(cell), text, columns);
	for (const char *p = cell; *p != '\0'; p++)
		used += ((unsigned char)*p & 0xc0) != 0x80;
	if (colour == TERMINAL_PLAIN)
		fputs(cell, stdout);
	else
		printf("%s%s%s", plain_escape(colour), cell,
		    plain_escape(TERMINAL_PLAIN));
	printf("%*s", (int)(columns - used) + 1, "");
}

void
plain_head(const char *text)
{
	printf("%s%s%s\n", plain_escape(TERMINAL_BOLD), text,
	    plain_escape(TERMINAL_PLAIN));
}

void
plain_wrap(FILE *out, const char *text, unsigned indent)
{
	unsigned column = indent, columns = terminal_columns(out);
	size_t most = columns > indent + WORD_MAX ? columns - indent : WORD_MAX;

	for (;;) {
		size_t word;

		text += strspn(text, " ");
		word = strcspn(text, " ");
		if (word == 0)
			break;
		if (word > most) /* it fits in no line */
			word = most;
		while (((unsigned char)text[word] & 0xc0) == 0x80)
			word++;
		if (column > indent && column + 1 + word > columns) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent) {
			fputc(' ', out);
			column++;
		}
		plain_write(out, text, word);
		column += (unsigned)word;
		text += word;
	}
	fputc('\n', out);
}

void
plain_print(unsigned indent, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	printf("%*s", (int)indent, "");
	plain_wrap(stdout, text, indent);
}

/* Three significant digits and a unit. */
static char *
scaled(char out[PLAIN_DURATION_BYTES], double v, const char *unit)
{
	int digits = v < 9.995 ? 2 : v < 99.95 ? 1 : 0;

	snprintf(out, PLAIN_DURATION_BYTES, "%.*f%s", digits, v, unit);
	return out;
}

char *
plain_duration(char out[PLAIN_DURATION_BYTES], int64_t ns)
{
	double v = (double)ns;

	if (ns < 0)
		snprintf(out, PLAIN_DURATION_BYTES, "-");
	else if (ns < NS_PER_US)
		snprintf(out, PLAIN_DURATION_BYTES, "%dns", (int)ns);
	else if (v < 999.5e3)
		scaled(out, v / 1e3, "us");
	else if (v < 999.5e6)
		scaled(out, v / 1e6, "ms");
	else
		scaled(out, v / 1e9, "s");
	return out;
}

char *
plain_seconds(char out[PLAIN_DURATION_BYTES], double seconds)
{
	bool valid = seconds >= 0 && seconds < 9e9;

	return plain_duration(out, valid ? (int64_t)(seconds * 1e9) : -1);
}

char *
plain_count(char out[PLAIN_DURATION_BYTES], double value)
{
	double size = value < 0 ? -value : value;
	bool whole = size < 1e9 && value == (double)(int64_t)value;

	if (whole && size < 1e7)
		snprintf(out, PLAIN_DURATION_BYTES, "%lld", (long long)value);
	else if (size < 1e4)
		snprintf(out, PLAIN_DURATION_BYTES, "%.4g", value);
	else if (size < 1e6)
		snprintf(out, PLAIN_DURATION_BYTES, "%.4gk", value / 1e3);
	else if (size < 1e9)
		snprintf(out, PLAIN_DURATION_BYTES, "%.4gM", value / 1e6);
	else
		snprintf(out, PLAIN_DURATION_BYTES, "%.4gG", value / 1e9);
	return out;
}

char *
plain_rate(char out[PLAIN_DURATION_BYTES], double per_s)
{
	if (!(per_s > 0) || per_s >= 9.95)
		return plain_count(
		    out, per_s > 0 && per_s < 9e15 ? floor(per_s + 0.5) : 0);
	snprintf(out, PLAIN_DURATION_BYTES, "%.1f", per_s);
	return out;
}

int
plain_json(struct json *j)
{
	int err = json_print(j, stdout);

	if (err == -ENOMEM)
		fprintf(stderr, "tailorctl: out of memory\n");
	return err;
}
