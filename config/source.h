/* source.h: a configuration's text, prepared for cJSON; private to config/.
 *
 * Comments and trailing commas are overwritten with spaces, so offsets stay
 * those of the file.  Errors that cJSON accepts are refused (control bytes,
 * bytes that are not UTF-8, numbers like 01, depth), and the offset of every
 * value is stored in order of appearance, which is also the order of cJSON's
 * tree: so an error found in the tree gets its line and column. */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_BYTES_MAX (1u << 20)
#define SOURCE_DEPTH_MAX 16

/* The offsets of a value and of its name. */
struct source_place {
	uint32_t name; /* the value's own offset if it has no name */
	uint32_t value;
};

struct source {
	const char *name; /* borrowed; of the file */
	char *text;	  /* owned; NUL-terminated */
	size_t length;
	struct source_place *places; /* owned */
	size_t count;
	cJSON *root; /* owned */
};

struct source_position {
	unsigned line;	 /* from 1 */
	unsigned column; /* from 1, in characters */
};

/* The first error in a text that is not JSON. */
struct source_error {
	size_t offset;
	char what[160];
};

/* Copy, clean and parse.  Returns 0, -ENOMEM, or -EINVAL with *error filled; on
 * failure nothing is kept.  Release with source_close. */
int source_open(struct source *s, const char *name, const char *text,
    size_t length, struct source_error *error);
void source_close(struct source *s);

/* Line and column of an offset of the text. */
struct source_position
source_position(const char *text, size_t length, size_t offset);

/* The place of a node of the tree. */
struct source_place source_place(const struct source *s, const cJSON *node);
