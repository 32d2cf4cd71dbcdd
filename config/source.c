/* One pass over the tokens of the copy blanks comments and trailing commas,
 * refuses the errors that cJSON accepts, and records where values begin.  Other
 * errors (a missing comma, say) are left to cJSON. */
#include "config/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

static int __attribute__((format(printf, 3, 4)))
fail(struct source_error *error, size_t offset, const char *format, ...)
{
	va_list arguments;

	error->offset = offset;
	va_start(arguments, format);
	vsnprintf(error->what, sizeof(error->what), format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* --- tokens ----------------------------------------------------------- */

struct scan {
	struct source *s;
	size_t i;
	size_t capacity;  /* entries that s->places can hold */
	char last;	  /* last token's first byte, 0 at the start */
	size_t comma;	  /* offset of the last comma */
	bool after_value; /* the last comma follows a value */
	bool named;	  /* a name was read, its value not yet */
	size_t name;
	unsigned depth;
	size_t open[SOURCE_DEPTH_MAX]; /* offsets of the open brackets */
};

static int
add_place(struct scan *t)
{
	struct source *s = t->s;
	struct source_place *places = array_reserve(
	    s->places, &t->capacity, s->count + 1, sizeof(*places));

	if (places == NULL)
		return -ENOMEM;
	s->places = places;
	s->places[s->count++] = (struct source_place){
	    .name = (uint32_t)(t->named ? t->name : t->i),
	    .value = (uint32_t)t->i,
	};
	t->named = false;
	return 0;
}

/* Scan the string at t->i: a value, or a name if a colon follows. */
static int
scan_string(struct scan *t, struct source_error *error)
{
	const struct source *s = t->s;
	const unsigned char *text = (const unsigned char *)s->text;
	size_t i = t->i + 1;
	int err;

	while (i < s->length && text[i] != '"') {
		size_t n = utf8_sequence(text + i, s->length - i);

		if (n == 0)
			return fail(
			    error, i, "byte 0x%02x is not UTF-8", text[i]);
		if (text[i] == '\n' || text[i] == '\r' ||
		    (text[i] == '\\' && text[i + 1] == '\n'))
			break;
		if (text[i] < ' ')
			return fail(error, i,
			    "control byte 0x%02x inside a text", text[i]);
		if (strncmp(s->text + i, "\\u0000", 6) == 0)
			return fail(error, i, "\\u0000 inside a text");
		/* An escaped quote does not close the string. */
		i += text[i] == '\\' && i + 1 < s->length ? 2 : n;
	}
	if (i >= s->length || text[i] != '"')
		return fail(error, t->i,
		    t->last == 0 || strchr("{[,:", t->last) != NULL
			? "this quote is not closed"
			: "this quote is unmatched: is a quote before it "
			  "missing?");
	err = add_place(t);
	t->i = i + 1;
	return err;
}

/* Blank the comment at t->i. */
static int
scan_comment(struct scan *t, struct source_error *error)
{
	char *text = t->s->text;
	bool line = text[t->i + 1] == '/';
	const char *end = strstr(text + t->i + 2, line ? "\n" : "*/");

	if (end == NULL && !line)
		return fail(error, t->i, "this comment is not closed");
	if (end == NULL)
		end = text + t->s->length;
	else if (!line)
		end += 2;
	for (; text + t->i < end; t->i++)
		if (text[t->i] != '\n')
			text[t->i] = ' ';
	return 0;
}

static size_t
count_digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* True if the n bytes at p are a number of RFC 8259. */
static bool
is_number(const char *p, size_t n)
{
	const char *end = p + n;
	size_t digits;

	p += *p == '-';
	digits = count_digits(p);
	if (digits == 0 || (digits > 1 && *p == '0'))
		return false;
	p += digits;
	if (p < end && *p == '.') {
		digits = count_digits(p + 1);
		if (digits == 0)
			return false;
		p += 1 + digits;
	}
	if (p < end && (*p == 'e' || *p == 'E')) {
		p++;
		p += *p == '+' || *p == '-';
		digits = count_digits(p);
		if (digits == 0)
			return false;
		p += digits;
	}
	return p == end;
}

static bool
is_word(const char *p, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(p, word, n) == 0;
}

/* Scan a number, true, false, null, or text without quotes. */
static int
scan_bare(struct scan *t, struct source_error *error)
{
	const char *p = t->s->text + t->i;
	size_t n = 1;
	int err;

	if ((unsigned char)*p < ' ')
		return fail(error, t->i, "control byte 0x%02x", *p);
	while ((unsigned char)p[n] > ' ' && strchr("{}[],:\"/", p[n]) == NULL)
		n++;
	if (strchr("+-.0123456789", *p) != NULL && !is_number(p, n))
		return fail(error, t->i, "%.*s is not a JSON number",
		    n > 40 ? 40 : (int)n, p);
	if (t->last == 0 && !is_number(p, n))
		return fail(error, t->i,
		    "not JSON: a configuration begins with {, not with %.*s",
		    n > 20 ? 20 : (int)n, p);
	if (!is_word(p, n, "true") && !is_word(p, n, "false") &&
	    !is_word(p, n, "null") && !is_number(p, n))
		return fail(error, t->i,
		    "unexpected %.*s; names and text need double quotes",
		    n > 40 ? 40 : (int)n, p);
	err = add_place(t);
	t->i += n;
	return err;
}

/* Report that the innermost bracket is not closed. */
static int
fail_open(const struct scan *t, struct source_error *error)
{
	size_t at = t->open[t->depth - 1];

	return fail(error, at, "this %c is not closed", t->s->text[at]);
}

/* Scan a bracket, comma or colon. */
static int
scan_mark(struct scan *t, char c, struct source_error *error)
{
	struct source *s = t->s;
	int err = 0;

	if (c == '{' || c == '[') {
		if (t->depth == SOURCE_DEPTH_MAX)
			return fail(error, t->i, "nested deeper than %d",
			    SOURCE_DEPTH_MAX);
		t->open[t->depth++] = t->i;
		err = add_place(t);
	} else if (c == ',') {
		t->comma = t->i;
		t->after_value =
		    t->last != 0 && strchr("{[,:", t->last) == NULL;
	} else if (c == ':' && t->last == '"') {
		t->named = true;
		t->name = s->places[--s->count].value;
	} else if (c == '}' || c == ']') {
		if (t->last == ',' && t->after_value)
			s->text[t->comma] = ' ';
		if (t->depth > 0 &&
		    (s->text[t->open[t->depth - 1]] == '{') != (c == '}'))
			return fail_open(t, error);
		t->depth -= t->depth > 0;
	}
	t->i++;
	return err;
}

static int
scan(struct source *s, struct source_error *error)
{
	struct scan t = {.s = s};

	if (memchr(s->text, '\0', s->length) != NULL)
		return fail(error, strlen(s->text), "byte 0x00");
	if (strncmp(s->text, "\xef\xbb\xbf", 3) == 0)
		memset(s->text, ' ', 3); /* a byte order mark */
	while (t.i < s->length) {
		char c = s->text[t.i], next = s->text[t.i + 1];
		bool comment = c == '/' && (next == '/' || next == '*');
		int err = 0;

		if (is_space(c))
			t.i++;
		else if (comment)
			err = scan_comment(&t, error);
		else if (c == '"')
			err = scan_string(&t, error);
		else if (strchr("{}[],:", c) != NULL)
			err = scan_mark(&t, c, error);
		else
			err = scan_bare(&t, error);
		if (err != 0)
			return err;
		if (!is_space(c) && !comment)
			t.last = c;
	}
	if (t.last == 0)
		return fail(error, 0, "the file is empty");
	return t.depth > 0 ? fail_open(&t, error) : 0;
}

/* --- cJSON ------------------------------------------------------------ */

/* Report the error at the byte where cJSON stopped. */
static int
fail_at(const struct source *s, size_t offset, struct source_error *error)
{
	while (offset < s->length && is_space(s->text[offset]))
		offset++;
	if (offset >= s->length)
		return fail(error, s->length, "unexpected end");
	if (s->text[offset] == '"')
		return fail(error, offset,
		    "a comma or colon is missing before this text");
	if (s->text[offset] == '\\')
		return fail(error, offset, "unknown escape");
	return fail(error, offset, "unexpected '%c'", s->text[offset]);
}

static int
parse(struct source *s, struct source_error *error)
{
	const char *end = NULL;
	size_t offset;

	/* Parse the NUL as well, so that nothing may follow the value. */
	s->root = cJSON_ParseWithLengthOpts(s->text, s->length + 1, &end, 1);
	if (s->root != NULL)
		return 0;
	offset = end != NULL ? (size_t)(end - s->text) : 0;
	return fail_at(s, offset < s->length ? offset : s->length, error);
}

int
source_open(struct source *s, const char *name, const char *text, size_t length,
    struct source_error *error)
{
	int err;

	*s = (struct source){.name = name, .length = length};
	if (length > SOURCE_BYTES_MAX)
		return fail(error, 0, "larger than 1 MiB");
	s->text = malloc(length + 1);
	if (s->text == NULL)
		return -ENOMEM;
	memcpy(s->text, text, length);
	s->text[length] = '\0';
	err = scan(s, error);
	if (err == 0)
		err = parse(s, error);
	if (err != 0)
		source_close(s);
	return err;
}

void
source_close(struct source *s)
{
	cJSON_Delete(s->root);
	free(s->places);
	free(s->text);
	*s = (struct source){0};
}

/* --- positions -------------------------------------------------------- */

struct source_position
source_position(const char *text, size_t length, size_t offset)
{
	struct source_position at = {1, 1};

	for (size_t i = 0; i < offset && i < length; i++) {
		if (text[i] == '\n')
			at = (struct source_position){at.line + 1, 1};
		else if (((unsigned char)text[i] & 0xc0) != 0x80)
			at.column++;
	}
	return at;
}

/* Count nodes in order of appearance until node; false: it is not there. */
static bool
find(const cJSON *from, const cJSON *node, size_t *index)
{
	for (; from != NULL; from = from->next) {
		if (from == node)
			return true;
		(*index)++;
		if (find(from->child, node, index))
			return true;
	}
	return false;
}

struct source_place
source_place(const struct source *s, const cJSON *node)
{
	size_t index = 0;

	if (!find(s->root, node, &index) || index >= s->count)
		return (struct source_place){0};
	return s->places[index];
}
