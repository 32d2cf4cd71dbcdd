/* There is a byte of state per open container, with bits for: an object; has
 * members (the next one needs a comma); a key waits for its value.  state[0] is
 * the document itself and takes exactly one value. */
#include "base/json.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
	IN_OBJECT = 1,
	HAS_MEMBERS = 2,
	KEY_WAITS = 4,
};

void
json_init(struct json *j, bool pretty)
{
	*j = (struct json){.pretty = pretty};
}

void
json_fini(struct json *j)
{
	free(j->text.at);
	json_init(j, j->pretty);
}

static void
put(struct json *j, const char *s, size_t n)
{
	text_put(&j->text, s, n);
}

static void
put_text(struct json *j, const char *s)
{
	text_puts(&j->text, s);
}

static void
put_line(struct json *j)
{
	put(j, "\n", 1);
	for (unsigned i = 0; i < j->depth; i++)
		put(j, "  ", 2);
}

/* Write the comma and line break before a member. */
static void
member_begin(struct json *j)
{
	uint8_t *state = &j->state[j->depth];

	if (*state & HAS_MEMBERS)
		put(j, ",", 1);
	*state |= HAS_MEMBERS;
	if (j->pretty && j->depth > 0)
		put_line(j);
}

/* Check that a value is allowed here, and write what precedes it. */
static void
value_begin(struct json *j)
{
	uint8_t *state = &j->state[j->depth];

	if (*state & IN_OBJECT) {
		assert(*state & KEY_WAITS);
		*state &= (uint8_t)~KEY_WAITS;
		return;
	}
	assert(j->depth > 0 || !(*state & HAS_MEMBERS));
	member_begin(j);
}

static void
container_begin(struct json *j, uint8_t state, const char *bracket)
{
	value_begin(j);
	assert(j->depth < JSON_DEPTH_MAX);
	j->state[++j->depth] = state;
	put(j, bracket, 1);
}

static void
container_end(struct json *j, uint8_t kind, const char *bracket)
{
	uint8_t state = j->state[j->depth];

	assert(j->depth > 0);
	assert((state & IN_OBJECT) == kind && !(state & KEY_WAITS));
	j->depth--;
	if (j->pretty && (state & HAS_MEMBERS))
		put_line(j);
	put(j, bracket, 1);
}

void
json_object_begin(struct json *j)
{
	container_begin(j, IN_OBJECT, "{");
}

void
json_object_end(struct json *j)
{
	container_end(j, IN_OBJECT, "}");
}

void
json_array_begin(struct json *j)
{
	container_begin(j, 0, "[");
}

void
json_array_end(struct json *j)
{
	container_end(j, 0, "]");
}

void
json_key(struct json *j, const char *key)
{
	uint8_t *state = &j->state[j->depth];

	assert((*state & IN_OBJECT) && !(*state & KEY_WAITS));
	member_begin(j);
	*state |= KEY_WAITS;
	put(j, "\"", 1);
	put_text(j, key);
	put_text(j, j->pretty ? "\": " : "\":");
}

/* The escape a byte needs, or NULL; room holds the \u form. */
static const char *
escape_of(unsigned char c, char room[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	}
	if (c >= 0x20 && c != 0x7f && c != '<' && c != '>' && c != '&')
		return NULL;
	snprintf(room, 8, "\\u%04x", c);
	return room;
}

/* One character at s, n > 0 bytes left; returns how many bytes it took. */
static size_t
put_character(struct json *j, const unsigned char *s, size_t n)
{
	size_t length = utf8_sequence(s, n);
	char room[8];
	const char *escape;

	if (length == 0) {
		put_text(j, "\xef\xbf\xbd"); /* U+FFFD */
		return 1;
	}
	if (utf8_control(s, length) != 0) {
		snprintf(
		    room, sizeof(room), "\\u%04x", utf8_control(s, length));
		put_text(j, room);
		return length;
	}
	escape = length == 1 ? escape_of(s[0], room) : NULL;
	if (escape != NULL)
		put_text(j, escape);
	else
		put(j, (const char *)s, length);
	return length;
}

void
json_string_n(struct json *j, const char *s, size_t n)
{
	const unsigned char *bytes = (const unsigned char *)s;

	value_begin(j);
	put(j, "\"", 1);
	for (size_t i = 0; i < n && !j->text.failed;)
		i += put_character(j, bytes + i, n - i);
	put(j, "\"", 1);
}

void
json_string(struct json *j, const char *s)
{
	json_string_n(j, s, strlen(s));
}

void
json_uint(struct json *j, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	value_begin(j);
	put_text(j, text);
}

void
json_int(struct json *j, int64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, v);
	value_begin(j);
	put_text(j, text);
}

void
json_thousandths(struct json *j, int64_t v)
{
	uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
	char text[32];

	snprintf(text, sizeof(text), "%s%" PRIu64 ".%03" PRIu64,
	    v < 0 ? "-" : "", size / 1000, size % 1000);
	value_begin(j);
	put_text(j, text);
}

void
json_bool(struct json *j, bool v)
{
	value_begin(j);
	put_text(j, v ? "true" : "false");
}

void
json_double(struct json *j, double v)
{
	char text[32] = "null";
	char *comma;

	if (isfinite(v)) {
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, v);
			if (strtod(text, NULL) == v)
				break;
		}
	}
	comma = strchr(text, ','); /* the decimal point of some locales */
	if (comma != NULL)
		*comma = '.';
	value_begin(j);
	put_text(j, text);
}

void
json_key_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object_begin(j);
}

void
json_key_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array_begin(j);
}

void
json_key_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void
json_key_uint(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_uint(j, v);
}

void
json_key_int(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_int(j, v);
}

void
json_key_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void
json_key_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

int
json_take(struct json *j, char **text, size_t *length)
{
	int err;

	assert(j->depth == 0 && (j->state[0] & HAS_MEMBERS));
	err = text_take(&j->text, text, length);
	json_init(j, j->pretty);
	return err;
}

int
json_print(struct json *j, FILE *out)
{
	char *text;
	size_t length;
	int err = json_take(j, &text, &length);

	if (err < 0)
		return err;
	fwrite(text, 1, length, out);
	fputc('\n', out);
	free(text);
	return ferror(out) ? -EIO : 0;
}
