/*
 * Two passes over the copy: the first blanks comments and checks the inside of
 * strings, the second walks the tokens.  Other errors (a missing comma, say)
 * are left to cJSON.
 */
#include "config/source.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

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

/* --- first pass: comments and strings --------------------------------- */

/* The string that begins at *i; leaves *i after it. */
static int
check_string(const struct source *s, size_t *i, struct source_error *error)
{
	const unsigned char *text = (const unsigned char *)s->text;
	size_t start = (*i)++;

	while (*i < s->length && text[*i] != '"') {
		size_t n = utf8_sequence(text + *i, s->length - *i);

		if (n == 0)
			return fail(
			    error, *i, "byte 0x%02x is not UTF-8", text[*i]);
		if (text[*i] == '\n')
			break;
		if (text[*i] < ' ')
			return fail(error, *i,
			    "control byte 0x%02x inside a text", text[*i]);
		if (strncmp(s->text + *i, "\\u0000", 6) == 0)
			return fail(error, *i, "\\u0000 inside a text");
		/* An escaped quote does not close the string. */
		*i += text[*i] == '\\' && *i + 1 < s->length ? 2 : n;
	}
	if (*i >= s->length || text[*i] != '"')
		return fail(error, start, "this quote is not closed");
	(*i)++;
	return 0;
}

/* The comment that begins at *i; blanks it and leaves *i after it. */
static int
blank_comment(struct source *s, size_t *i, struct source_error *error)
{
	bool line = s->text[*i + 1] == '/';
	const char *start = s->text + *i;
	const char *end = strstr(start + 2, line ? "\n" : "*/");

	if (end == NULL && !line)
		return fail(error, *i, "this comment is not closed");
	if (end == NULL)
		end = s->text + s->length;
	else if (!line)
		end += 2;
	for (; s->text + *i < end; (*i)++)
		if (s->text[*i] != '\n')
			s->text[*i] = ' ';
	return 0;
}

static int
clean(struct source *s, struct source_error *error)
{
	size_t i = 0;
	int err = 0;

	if (memchr(s->text, '\0', s->length) != NULL)
		return fail(error, strlen(s->text), "byte 0x00");
	if (strncmp(s->text, "\xef\xbb\xbf", 3) == 0)
		memset(s->text, ' ', 3); /* a byte order mark */
	while (i < s->length && err == 0) {
		char c = s->text[i];
		char next = s->text[i + 1];

		if (c == '"')
			err = check_string(s, &i, error);
		else if (c == '/' && (next == '/' || next == '*'))
			err = blank_comment(s, &i, error);
		else if ((unsigned char)c < ' ' && !is_space(c))
			err = fail(error, i, "control byte 0x%02x", c);
		else
			i++;
	}
	return err;
}

/* --- second pass: tokens ---------------------------------------------- */

struct scan {
	struct source *s;
	size_t i;
	size_t capacity;  /* of places */
	char last;	  /* last token's first byte, 0 at the start */
	size_t comma;	  /* offset of the last comma */
	bool after_value; /* that comma follows a value */
	bool named;	  /* a name waits for its value */
	size_t name;
	unsigned depth;
};

static int
add_place(struct scan *t)
{
	struct source *s = t->s;

	if (s->count == t->capacity) {
		size_t capacity = t->capacity == 0 ? 128 : t->capacity * 2;
		struct source_place *places =
		    realloc(s->places, capacity * sizeof(*places));

		if (places == NULL)
			return -ENOMEM;
		s->places = places;
		t->capacity = capacity;
	}
	s->places[s->count++] = (struct source_place){
	    .name = (uint32_t)(t->named ? t->name : t->i),
	    .value = (uint32_t)t->i,
	};
	t->named = false;
	return 0;
}

/* The end of the string at t->i; the first pass checked that it is closed. */
static size_t
string_end(const struct scan *t)
{
	size_t i = t->i + 1;

	while (t->s->text[i] != '"')
		i += t->s->text[i] == '\\' ? 2 : 1;
	return i + 1;
}

static int
scan_string(struct scan *t)
{
	const char *text = t->s->text;
	size_t end = string_end(t), next = end;
	int err;

	while (is_space(text[next]))
		next++;
	if (text[next] == ':') {
		t->named = true;
		t->name = t->i;
	} else {
		err = add_place(t);
		if (err != 0)
			return err;
	}
	t->i = end;
	return 0;
}

static size_t
count_digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* Whether n bytes at p are a number of RFC 8259. */
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

/* A number, true, false, null, or text without quotes. */
static int
scan_bare(struct scan *t, struct source_error *error)
{
	const char *p = t->s->text + t->i;
	size_t n = strcspn(p, " \t\r\n{}[],:\"");
	int err;

	if (strchr("+-.0123456789", *p) != NULL && !is_number(p, n))
		return fail(error, t->i, "%.*s is not a JSON number",
		    n > 40 ? 40 : (int)n, p);
	if (!is_word(p, n, "true") && !is_word(p, n, "false") &&
	    !is_word(p, n, "null") && !is_number(p, n))
		return fail(error, t->i,
		    "unexpected %.*s; names and text need double quotes",
		    n > 40 ? 40 : (int)n, p);
	err = add_place(t);
	t->i += n;
	return err;
}

/* Brackets, commas and colons. */
static int
scan_mark(struct scan *t, char c, struct source_error *error)
{
	int err = 0;

	if (c == '{' || c == '[') {
		if (++t->depth > SOURCE_DEPTH_MAX)
			return fail(error, t->i, "nested deeper than %d",
			    SOURCE_DEPTH_MAX);
		err = add_place(t);
	} else if (c == ',') {
		t->comma = t->i;
		t->after_value =
		    t->last != 0 && strchr("{[,:", t->last) == NULL;
	} else if (c == '}' || c == ']') {
		if (t->last == ',' && t->after_value)
			t->s->text[t->comma] = ' ';
		t->depth -= t->depth > 0;
	}
	t->i++;
	return err;
}

static int
scan(struct source *s, struct source_error *error)
{
	struct scan t = {.s = s};

	while (t.i < s->length) {
		char c = s->text[t.i];
		int err;

		if (is_space(c)) {
			t.i++;
			continue;
		}
		if (c == '"')
			err = scan_string(&t);
		else if (strchr("{}[],:", c) != NULL)
			err = scan_mark(&t, c, error);
		else
			err = scan_bare(&t, error);
		if (err != 0)
			return err;
		t.last = c;
	}
	if (t.last == 0)
		return fail(error, 0, "the file is empty");
	return 0;
}

/* --- cJSON ------------------------------------------------------------ */

/* Explain the byte where cJSON stopped. */
static int
fail_at(const struct source *s, size_t offset, struct source_error *error)
{
	while (offset < s->length && is_space(s->text[offset]))
		offset++;
	if (offset >= s->length)
		return fail(error, s->length,
		    "unexpected end; a bracket is not closed");
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

	/* The terminator is part of the length: nothing may follow. */
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
	err = clean(s, error);
	if (err == 0)
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

/* Number nodes in order of appearance until node is found. */
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
