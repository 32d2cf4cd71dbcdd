/* json.h: a streaming JSON writer.
 *
 * Writes into a growing buffer: no tree, integers exact to 64 bits, strings
 * escaped so that the text is also safe inside an HTML <script> element (<, >,
 * &, U+2028, U+2029 as \u00xx; bytes that are not UTF-8 become U+FFFD).  Commas
 * are automatic; misuse (a key outside an object, a missing end) fails an
 * assertion.  When memory runs out, later calls do nothing and json_take()
 * returns the error. */
#pragma once

#include <stdio.h>

#include "base/text.h"

#define JSON_DEPTH_MAX 16

struct json {
	struct text text;
	bool pretty;
	unsigned depth;
	uint8_t state[JSON_DEPTH_MAX + 1];
};

/* An empty document; pretty puts each member on a line of its own. */
void json_init(struct json *j, bool pretty);
void json_fini(struct json *j);

/* Open an object; members are a key and a value each. */
void json_object_begin(struct json *j);
/* Close it; every key must have had its value. */
void json_object_end(struct json *j);
/* Open an array, whose elements are values. */
void json_array_begin(struct json *j);
/* Close it. */
void json_array_end(struct json *j);

/* The name of the next value; key is ASCII without quotes or backslashes. */
void json_key(struct json *j, const char *key);

/* A text, escaped; s is NUL-terminated and not NULL. */
void json_string(struct json *j, const char *s);
/* The same for n bytes, which may include NULs. */
void json_string_n(struct json *j, const char *s, size_t n);
/* An unsigned integer. */
void json_uint(struct json *j, uint64_t v);
/* A signed integer. */
void json_int(struct json *j, int64_t v);
/* v / 1000 with three decimals, exactly: "2310.000". */
void json_thousandths(struct json *j, int64_t v);
/* true or false. */
void json_bool(struct json *j, bool v);
/* Shortest text that reads back as v; NaN and infinities become null. */
void json_double(struct json *j, double v);

/* A key and its value, or a key and the beginning of an object or array. */
void json_key_object(struct json *j, const char *key);
void json_key_array(struct json *j, const char *key);
void json_key_string(struct json *j, const char *key, const char *s);
void json_key_uint(struct json *j, const char *key, uint64_t v);
void json_key_int(struct json *j, const char *key, int64_t v);
void json_key_bool(struct json *j, const char *key, bool v);
void json_key_double(struct json *j, const char *key, double v);

/* Take the finished, NUL-terminated text; the caller frees it.  Returns 0 or
 * -ENOMEM.  j is empty afterwards and may be reused. */
int json_take(struct json *j, char **text, size_t *length);

/* Print the finished text and a newline; j is empty afterwards.  0, -ENOMEM or
 * -EIO. */
int json_print(struct json *j, FILE *out);
