#include "base/log_line.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/json.h"

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_NOTICE] = "notice",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

/* --- formatting ------------------------------------------------------- */

struct line_writer {
	struct log_line *line;
	bool cut;
	bool quoted; /* between two quotes of the format */
	va_list arguments;
};

/* Append all or nothing, so that no escape is cut. */
static void
put(struct line_writer *w, const char *s, size_t n)
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
put_escaped(struct line_writer *w, char c)
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
put_value(struct line_writer *w, const char *s, int precision)
{
	if (s == NULL)
		s = "(null)";
	for (int i = 0; i != precision && s[i] != '\0' && !w->cut; i++)
		put_escaped(w, s[i]);
}

static void
put_literal(struct line_writer *w, char c)
{
	if (c == '"')
		w->quoted = !w->quoted;
	if (c == '"' || c == ' ')
		put(w, &c, 1);
	else
		put_escaped(w, c);
}

/* The next argument, an integer. */
static int
format_integer(
    struct line_writer *w, const char *spec, const char *size, char *out)
{
	if (strncmp(size, "ll", 2) == 0)
		return sprintf(out, spec, va_arg(w->arguments, long long));
	if (*size == 'l' || *size == 'z')
		return sprintf(out, spec, va_arg(w->arguments, long));
	return sprintf(out, spec, va_arg(w->arguments, int));
}

/* Write a conversion, such as "%08.3f"; p is behind the "%".  Returns the text
 * after it.  An unsupported conversion ends the line, as the type of its
 * argument is not known. */
static const char *
put_conversion(struct line_writer *w, const char *p, int error)
{
	char spec[16], out[400]; /* %f of the largest double takes 317 */
	const char *point = strchr(p, '.'),
		   *size = p + strspn(p, "#.0123456789");
	const char *type = size + strspn(size, "lz");
	int n;

	if (*type == '\0' || strchr("%smfgdiuxX", *type) == NULL ||
	    (type > size && strchr("diuxX", *type) == NULL) ||
	    type - p >= (ptrdiff_t)sizeof(spec) - 2) {
		w->cut = true;
		return type;
	}
	snprintf(spec, sizeof(spec), "%%%.*s", (int)(type - p) + 1, p);
	switch (*type) {
	case '%':
		put_literal(w, '%');
		break;
	case 's':
		put_value(w, va_arg(w->arguments, const char *),
		    point != NULL && point < size ? atoi(point + 1) : -1);
		break;
	case 'm':
		put_value(w, strerror_r(error, out, sizeof(out)), -1);
		break;
	case 'f':
	case 'g':
		n = snprintf(
		    out, sizeof(out), spec, va_arg(w->arguments, double));
		put(w, out, (size_t)n);
		break;
	default:
		n = format_integer(w, spec, size, out);
		put(w, out, (size_t)n);
		break;
	}
	return type + 1;
}

void
log_line_format(struct log_line *line, const char *event, const char *format,
    va_list arguments)
{
	struct line_writer w = {.line = line};
	int error = errno;

	line->length = 0;
	put(&w, event, strlen(event));
	if (*format != '\0')
		put(&w, " ", 1);
	va_copy(w.arguments, arguments);
	for (const char *p = format; *p != '\0' && !w.cut;) {
		if (*p == '%')
			p = put_conversion(&w, p + 1, error);
		else
			put_literal(&w, *p++);
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

/* Write the line's pairs as members; a word without "=" is its own key. */
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
