#include "base/terminal.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/quantity.h"

#define WORD_MAX 20 /* longer words are cut on a narrow terminal */

unsigned
terminal_columns(FILE *out)
{
	const char *given = getenv("COLUMNS");
	long columns = given != NULL ? strtol(given, NULL, 10) : 0;
	struct winsize size;

	if (!isatty(fileno(out)))
		return TERMINAL_COLUMNS;
	if (columns <= 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		return TERMINAL_COLUMNS;
	if (columns < TERMINAL_COLUMNS_MIN)
		return TERMINAL_COLUMNS_MIN;
	return columns < TERMINAL_COLUMNS_MAX ? (unsigned)columns
					      : TERMINAL_COLUMNS_MAX;
}

bool
terminal_has_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && (no == NULL || *no == '\0') &&
	       term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

const char *
terminal_escape(bool allowed, enum terminal_colour colour)
{
	static const char *const escape[] = {
	    [TERMINAL_PLAIN] = "\033[0m",
	    [TERMINAL_BOLD] = "\033[1m",
	    [TERMINAL_DIM] = "\033[2m",
	    [TERMINAL_RED] = "\033[1;31m",
	    [TERMINAL_GREEN] = "\033[32m",
	    [TERMINAL_YELLOW] = "\033[33m",
	};

	return allowed ? escape[colour] : "";
}

/* --- text ----------------------------------------------------------------- */

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

#define TEXT_BYTES (4 * TERMINAL_COLUMNS_MAX + 4)

/* Return one of the static texts, in turn. */
static char *
place(void)
{
	static char texts[PLAIN_TEXTS][TEXT_BYTES];
	static unsigned last;

	return texts[last++ % PLAIN_TEXTS];
}

const char *
plain_format(const char *format, ...)
{
	char *out = place();
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out, TEXT_BYTES, format, arguments);
	va_end(arguments);
	return out;
}

const char *
plain_cell(const char *text, unsigned columns)
{
	char *out = place();
	const unsigned char *s;
	size_t left, used = 0, cut = 0;
	unsigned column = 0;

	s = (const unsigned char *)(text != NULL ? text : "-");
	for (left = strlen((const char *)s); left > 0; column++) {
		size_t n = utf8_shown(s, left), take = n > 0 ? n : 1;

		if (column + 3 <= columns)
			cut = used; /* fits with the dots */
		if (column == columns || used + take + 4 > TEXT_BYTES)
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
	const char *cell = plain_cell(text, columns);
	unsigned used = 0;

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

const char *
plain_duration(int64_t ns)
{
	return ns < 0 ? "-" : quantity_format_ns(ns, place());
}

const char *
plain_seconds(double seconds)
{
	bool valid = seconds >= 0 && seconds < 9e9;

	return plain_duration(valid ? (int64_t)(seconds * 1e9) : -1);
}

const char *
plain_count(double value)
{
	double size = value < 0 ? -value : value;
	bool whole = size < 1e9 && value == (double)(int64_t)value;

	if (whole && size < 1e7)
		return plain_format("%lld", (long long)value);
	if (size < 1e4)
		return plain_format("%.4g", value);
	if (size < 1e6)
		return plain_format("%.4gk", value / 1e3);
	if (size < 1e9)
		return plain_format("%.4gM", value / 1e6);
	return plain_format("%.4gG", value / 1e9);
}

const char *
plain_rate(double per_s)
{
	if (!(per_s > 0) || per_s >= 9.95)
		return plain_count(
		    per_s > 0 && per_s < 9e15 ? floor(per_s + 0.5) : 0);
	return plain_format("%.1f", per_s);
}

void
plain_json_begin(struct json *j)
{
	json_init(j, false);
	json_object_begin(j);
}

int
plain_json_end(struct json *j)
{
	int err;

	json_object_end(j);
	err = json_print(j, stdout);

	if (err == -ENOMEM)
		fprintf(stderr, "%s: out of memory\n",
		    program_invocation_short_name);
	return err;
}
