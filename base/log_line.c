#include "base/log_line.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_NOTICE] = "notice",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

/* --- formatting ------------------------------------------------------- */

struct writer {
	struct log_line *line;
	bool cut;
	bool quoted; /* between two quotes of the format */
	va_list arguments;
};

/* The parts of one conversion, such as "%08.3lx". */
struct conversion {
	char spec[40]; /* as given, with numbers in place of asterisks */
	size_t length;
	int precision; /* -1: none */
	char size;     /* 0, 'H' for hh, 'h', 'l', 'q' for ll, 'z' 'j' 't' */
	char type;
};

/* Append all or nothing, so that no escape is cut. */
static void
put(struct writer *w, const char *s, size_t n)
{
	struct log_line *line = w->line;

	if (w->cut || line->length + n > LOG_LINE_TEXT_MAX - 3) {
		w->cut = true;
		return;
	}
	memcpy(line->text + line->length, s, n);
	line->length += (unsigned)n;
}

static void
put_escaped(struct writer *w, char c)
{
	unsigned char byte = (unsigned char)c;
	char escape[8];

	if (c == '"' || c == '\\') {
		put(w, (const char[]){'\\', c}, 2);
	} else if (byte < ' ' || byte > '~' || (c == ' ' && !w->quoted)) {
		snprintf(escape, sizeof(escape), "\\x%02x", byte);
		put(w, escape, 4);
	} else {
		put(w, &c, 1);
	}
}

static void
put_value(struct writer *w, const char *s, int precision)
{
	if (s == NULL)
		s = "(null)";
	for (int i = 0; i != precision && s[i] != '\0' && !w->cut; i++)
		put_escaped(w, s[i]);
}

static void
put_literal(struct writer *w, char c)
{
	if (c == '"')
		w->quoted = !w->quoted;
	if (c == '"' || c == ' ')
		put(w, &c, 1);
	else
		put_escaped(w, c);
}

static void
spec_add(struct conversion *v, const char *s, size_t n)
{
	assert(v->length + n < sizeof(v->spec));
	memcpy(v->spec + v->length, s, n);
	v->length += n;
	v->spec[v->length] = '\0';
}

/* A width or precision: digits, or an asterisk for the next argument. */
static const char *
parse_number(struct writer *w, struct conversion *v, const char *p, int *out)
{
	char digits[16];
	char *end;
	int n;

	if (*p == '*') {
		*out = va_arg(w->arguments, int);
		p++;
	} else {
		*out = (int)strtol(p, &end, 10);
		if (end == p)
			return p;
		p = end;
	}
	n = snprintf(digits, sizeof(digits), "%d", *out);
	spec_add(v, digits, (size_t)n);
	return p;
}

static const char *
parse_conversion(struct writer *w, struct conversion *v, const char *p)
{
	size_t flags = strspn(p, "-+ #0");
	int width;

	*v = (struct conversion){.precision = -1};
	spec_add(v, "%", 1);
	spec_add(v, p, flags);
	p = parse_number(w, v, p + flags, &width);
	if (*p == '.') {
		spec_add(v, ".", 1);
		p = parse_number(w, v, p + 1, &v->precision);
	}
	for (; *p != '\0' && strchr("hlzjt", *p) != NULL; p++) {
		if (v->size == *p)
			v->size = *p == 'h' ? 'H' : 'q';
		else
			v->size = *p;
		spec_add(v, p, 1);
	}
	v->type = *p;
	assert(v->type != '\0');
	spec_add(v, p, 1);
	return p + 1;
}

/* An integer argument, printed as the conversion says. */
static int
format_integer(
    struct writer *w, const struct conversion *v, char *out, size_t size)
{
	switch (v->size) {
	case 'l':
		return snprintf(out, size, v->spec, va_arg(w->arguments, long));
	case 'q':
		return snprintf(
		    out, size, v->spec, va_arg(w->arguments, long long));
	case 'z':
		return snprintf(
		    out, size, v->spec, va_arg(w->arguments, size_t));
	case 'j':
		return snprintf(
		    out, size, v->spec, va_arg(w->arguments, intmax_t));
	case 't':
		return snprintf(
		    out, size, v->spec, va_arg(w->arguments, ptrdiff_t));
	default: /* none, h, hh */
		return snprintf(out, size, v->spec, va_arg(w->arguments, int));
	}
}

/* A number; outside quotes without padding spaces. */
static void
put_padded(struct writer *w, const char *s, size_t n)
{
	while (!w->quoted && n > 0 && *s == ' ') {
		s++;
		n--;
	}
	while (!w->quoted && n > 0 && s[n - 1] == ' ')
		n--;
	put(w, s, n);
}

static void
put_conversion(struct writer *w, const struct conversion *v, int error)
{
	char out[400]; /* %f of the largest double takes 317 */
	int n;

	switch (v->type) {
	case '%':
		put_literal(w, '%');
		return;
	case 's':
		put_value(w, va_arg(w->arguments, const char *), v->precision);
		return;
	case 'c':
		put_escaped(w, (char)va_arg(w->arguments, int));
		return;
	case 'm':
		put_value(w, strerror_r(error, out, sizeof(out)), -1);
		return;
	case 'p':
		n = snprintf(
		    out, sizeof(out), "%p", va_arg(w->arguments, void *));
		break;
	case 'e':
	case 'f':
	case 'g':
		n = snprintf(
		    out, sizeof(out), v->spec, va_arg(w->arguments, double));
		break;
	default:
		assert(strchr("diuxXo", v->type) != NULL);
		n = format_integer(w, v, out, sizeof(out));
		break;
	}
	if (n > (int)sizeof(out) - 1)
		n = (int)sizeof(out) - 1;
	put_padded(w, out, n > 0 ? (size_t)n : 0);
}

void
log_line_format(struct log_line *line, const char *event, const char *format,
    va_list arguments)
{
	struct writer w = {.line = line};
	struct conversion v;
	int error = errno;

	line->length = 0;
	put(&w, event, strlen(event));
	if (*format != '\0')
		put(&w, " ", 1);
	va_copy(w.arguments, arguments);
	for (const char *p = format; *p != '\0' && !w.cut;) {
		if (*p != '%') {
			put_literal(&w, *p++);
			continue;
		}
		p = parse_conversion(&w, &v, p + 1);
		put_conversion(&w, &v, error);
	}
	va_end(w.arguments);
	if (w.cut) {
		memcpy(line->text + line->length, "...", 3);
		line->length += 3;
	}
}

/* --- rendering -------------------------------------------------------- */

static size_t
format_time(struct timespec when, char *out, size_t size)
{
	struct tm utc;
	size_t n;

	gmtime_r(&when.tv_sec, &utc);
	n = strftime(out, size, "%Y-%m-%dT%H:%M:%S", &utc);
	return n + (size_t)snprintf(out + n, size - n, ".%03ldZ",
		       when.tv_nsec / 1000000 % 1000);
}

/* Undo put_escaped from p up to end, the closing quote, or (unquoted) the next
 * space; returns the position after it. */
static const char *
unescape(const char *p, const char *end, bool quoted, char *out, size_t *n)
{
	*n = 0;
	while (p < end && *p != (quoted ? '"' : ' ')) {
		if (*p != '\\') {
			out[(*n)++] = *p++;
		} else if (p + 1 < end && p[1] != 'x') {
			out[(*n)++] = p[1];
			p += 2;
		} else if (p + 3 < end) {
			out[(*n)++] =
			    (char)(hex_value(p[2]) * 16 + hex_value(p[3]));
			p += 4;
		} else {
			p = end;
		}
	}
	return p;
}

/* Plain decimals become numbers; all others, and quoted values, strings. */
static void
write_value(struct json *j, char *value, size_t n, bool quoted)
{
	const char *digits = value + (*value == '-');
	size_t whole = strspn(digits, "0123456789");
	size_t rest = n - (size_t)(digits - value) - whole;

	if (quoted || whole == 0 || whole > 18 ||
	    (digits[0] == '0' && whole > 1))
		json_string_n(j, value, n);
	else if (rest == 0)
		json_int(j, strtoll(value, NULL, 10));
	else if (digits[whole] == '.' && rest > 1 && rest <= 18 &&
		 strspn(digits + whole + 1, "0123456789") == rest - 1)
		json_double(j, strtod(value, NULL));
	else
		json_string_n(j, value, n);
}

/* The line's pairs as members; a word without "=" becomes its own key. */
static void
write_pairs(struct json *j, const char *p, const char *end)
{
	char key[LOG_LINE_TEXT_MAX + 1], value[LOG_LINE_TEXT_MAX + 1];

	while (p < end) {
		size_t n = 0;
		bool quoted;

		while (p < end && *p == ' ')
			p++;
		for (; p < end && *p != '=' && *p != ' '; p++)
			if (*p != '"' && *p != '\\')
				key[n++] = *p;
		key[n] = '\0';
		if (n == 0 && p == end)
			return;
		if (p < end && *p == '=')
			p++;
		quoted = p < end && *p == '"';
		p = unescape(p + quoted, end, quoted, value, &n);
		p += p < end && quoted;
		value[n] = '\0';
		json_key(j, key);
		write_value(j, value, n, quoted);
	}
}

static size_t
render_json(const struct log_line *line, char *out)
{
	const char *end = line->text + line->length;
	const char *space = memchr(line->text, ' ', line->length);
	const char *event_end = space != NULL ? space : end;
	char when[64];
	struct json j;
	char *text;
	size_t length;

	format_time(line->when, when, sizeof(when));
	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "ts", when);
	json_key_string(&j, "level", level_names[line->level]);
	json_key(&j, "event");
	json_string_n(&j, line->text, (size_t)(event_end - line->text));
	write_pairs(&j, event_end, end);
	json_object_end(&j);
	if (json_take(&j, &text, &length) != 0)
		return 0;
	assert(length < LOG_LINE_RENDERED_MAX);
	memcpy(out, text, length);
	free(text);
	return length;
}

/* Syslog priorities: error 3, warning 4, notice 5, info 6, debug 7. */
static size_t
render_prefix(const struct log_line *line, enum log_line_style style, char *out)
{
	char when[64];

	if (style == LOG_LINE_JOURNAL)
		return (size_t)snprintf(out, 64, "<%d>", 3 + (int)line->level);
	format_time(line->when, when, sizeof(when));
	return (size_t)snprintf(
	    out, 96, "%s %s ", when, level_names[line->level]);
}

size_t
log_line_render(const struct log_line *line, enum log_line_style style,
    char out[LOG_LINE_RENDERED_MAX])
{
	size_t n;

	if (style == LOG_LINE_JSON) {
		n = render_json(line, out);
		if (n == 0)
			return 0;
	} else {
		n = render_prefix(line, style, out);
		memcpy(out + n, line->text, line->length);
		n += line->length;
	}
	out[n++] = '\n';
	return n;
}
