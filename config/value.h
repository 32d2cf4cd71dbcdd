/* value.h: store, write and release one value; private to config/. */
#pragma once

#include <cjson/cJSON.h>

#include "config/config.h"
#include "config/keys.h"

/* Why a value, or one of a list, was refused. */
struct refusal {
	const cJSON *at; /* borrowed; NULL: the whole value */
	const char *why; /* static; NULL: key_describe() says it */
};

/* Store a value; base is the struct config or struct config_server that the key
 * is a member of.  The old value is released.  Returns 0, -ENOMEM, or -EINVAL
 * with *refusal filled; on failure nothing is changed. */
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

/* Pointers to the key's member, and to the one at count_offset. */
void *value_at(const struct config_key *key, void *base);
void *value_beside(const struct config_key *key, void *base);

/* The struct that has the key as a member: c, or its server of this index. */
void *
value_base(struct config *c, const struct config_key *key, unsigned index);

/* -EINVAL with *refusal filled or empty, -ENOMEM, or 0. */
typedef int value_set_function(const struct config_key *key, void *base,
    const cJSON *value, struct refusal *refusal);
typedef void value_write_function(
    const struct config_key *key, const void *base, struct json *out);
typedef void value_release_function(const struct config_key *key, void *base);

struct value_type {
	value_set_function *set;
	value_write_function *write;
	value_release_function *release; /* NULL: it owns nothing */
	/* Texts: true if text is a valid value. */
	bool (*fits)(const char *text);
	/* Lists of texts: why an element is refused, or NULL. */
	const char *(*judge)(const char *text);
	/* Lists: what separates elements on the command line. */
	const char *separator;
	/* Words for its values, after "is not"; NULL: the key has a range or
	 * choices. */
	const char *description;
	/* Texts: a regular expression for the schema; NULL: any. */
	const char *pattern;
};

extern const struct value_type value_types[];

value_set_function value_set_bool, value_set_choice, value_set_quantity,
    value_set_ratio, value_set_delay, value_set_text, value_set_address;
value_set_function value_set_flags, value_set_listen, value_set_networks,
    value_set_texts;

value_write_function value_write_bool, value_write_choice, value_write_count,
    value_write_bytes, value_write_duration, value_write_ratio,
    value_write_delay, value_write_text, value_write_address;
value_write_function value_write_flags, value_write_listen,
    value_write_networks, value_write_texts;

value_release_function value_release_choice, value_release_text,
    value_release_address, value_release_listen, value_release_texts;

/* True if s is valid:
 *   path    absolute, or begins with {run} or {state}, or ""
 *   name    1 to 32 letters, digits, ".", "_" and "-"; or_none: also ""
 *   target  the target of a request, or ""
 *   host    a value for Host, or ""
 *   cpu     "auto", "none" or one CPU; cpus: "auto", a list of CPUs, or "" */
bool value_is_path(const char *s);
bool value_is_name(const char *s);
bool value_is_name_or_none(const char *s);
bool value_is_target(const char *s);
bool value_is_host(const char *s);
bool value_is_cpu(const char *s);
bool value_is_cpus(const char *s);

/* True if a text has no control bytes; no text may. */
bool value_is_plain(const char *s);

/* Why it is no "NAME=value", or NULL. */
const char *value_judge_variable(const char *s);
