/*
 * value.h: store, write and release one value; private to config/.
 */
#ifndef TAILOR_CONFIG_VALUE_H
#define TAILOR_CONFIG_VALUE_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "base/json.h"
#include "config/config.h"
#include "config/keys.h"

/* Why a value, or one of a list, was refused. */
struct refusal {
	const cJSON *at; /* borrowed; NULL: the whole value */
	const char *why; /* static; NULL: key_describe() says it */
};

/*
 * Store a value; base is the struct config or struct config_server that the
 * key is a member of.  What was there is released.  Returns 0, -ENOMEM, or
 * -EINVAL with *refusal filled; on failure nothing is changed.
 */
int value_set(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal);

/* Convert text from a command line into a value of the key's type: lists are
 * split at commas, commands and environments at spaces; text that begins with [
 * or { is JSON.  NULL without memory. */
cJSON *value_from_text(const struct config_key *key, const char *text);

/* Write the value that is stored. */
void
value_write(const struct config_key *key, const void *base, struct json *out);

/* Release what the value owns. */
void value_release(const struct config_key *key, void *base);

/* The member itself, and the one at count_offset. */
void *value_at(const struct config_key *key, void *base);
void *value_beside(const struct config_key *key, void *base);

/* What the key is a member of: c, or its server of this index. */
void *
value_base(struct config *c, const struct config_key *key, unsigned index);

#endif
