/*
 * schema.c: the table of keys as a JSON schema; see config.h.
 *
 * For editors, to complete and check a file while it is written.  It has the
 * types and ranges of each key.  What a schema cannot express (an address, a
 * list of CPUs, limits that contradict) is found by `tailor -t`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/keys.h"

static void
type_is(const char *type, struct json *out)
{
	json_key_string(out, "type", type);
}

static void
text_like(const char *pattern, struct json *out)
{
	type_is("string", out);
	json_key_string(out, "pattern", pattern);
}

static void
write_choices(const struct config_key *key, struct json *out)
{
	json_key(out, "enum");
	json_array_begin(out);
	for (const struct key_choice *c = key->choices; c->name != NULL; c++)
		json_string(out, c->name);
	json_array_end(out);
}

/* A number of plain units, or text with a unit. */
static void
write_quantity(const struct config_key *key, struct json *out)
{
	double scale = (double)key_scale(key);
	bool duration = key->type == KEY_DURATION;

	json_key(out, "anyOf");
	json_array_begin(out);
	json_object_begin(out);
	type_is(duration || key->type == KEY_RATIO ? "number" : "integer", out);
	json_key_double(out, "minimum", key->min / scale);
	json_key_double(out, "maximum", key->max / scale);
	json_object_end(out);
	json_object_begin(out);
	if (key->or_auto)
		text_like("^(auto|[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)?)$", out);
	else if (duration)
		text_like("^[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)?$", out);
	else if (key->type == KEY_BYTES)
		text_like("^[0-9]+(\\.[0-9]+)?[kMG]?$", out);
	else
		text_like("^[0-9]+(\\.[0-9]+)?$", out);
	json_object_end(out);
	json_array_end(out);
}

/* A single value, or an element of a list. */
static void
write_element(const struct config_key *key, struct json *out)
{
	if (key->choices != NULL)
		write_choices(key, out);
	else
		type_is("string", out);
}

static void
write_list(const struct config_key *key, struct json *out)
{
	json_key(out, "anyOf");
	json_array_begin(out);
	json_object_begin(out);
	write_element(key, out);
	json_object_end(out);
	json_object_begin(out);
	type_is("array", out);
	if (key->max > 0) {
		json_key_uint(out, "maxItems", (uint64_t)key->max);
	}
	json_key(out, "items");
	json_object_begin(out);
	write_element(key, out);
	json_object_end(out);
	json_object_end(out);
	if (key->type == KEY_ENVIRONMENT) {
		json_object_begin(out);
		type_is("object", out);
		json_key(out, "additionalProperties");
		json_object_begin(out);
		type_is("string", out);
		json_object_end(out);
		json_object_end(out);
	}
	json_array_end(out);
}

static void
write_cpu(struct json *out)
{
	json_key(out, "type");
	json_array_begin(out);
	json_string(out, "string");
	json_string(out, "integer");
	json_array_end(out);
}

static void
write_type(const struct config_key *key, struct json *out)
{
	switch (key->type) {
	case KEY_BOOL:
		type_is("boolean", out);
		return;
	case KEY_CHOICE:
		write_choices(key, out);
		return;
	case KEY_COUNT:
	case KEY_BYTES:
	case KEY_DURATION:
	case KEY_RATIO:
		write_quantity(key, out);
		return;
	case KEY_POLL:
		text_like("^(auto|spin|relax|sleep(:.+)?)$", out);
		return;
	case KEY_NAME:
		text_like("^[A-Za-z0-9._-]{1,32}$", out);
		return;
	case KEY_NAME_OR_NONE:
		text_like("^[A-Za-z0-9._-]{0,32}$", out);
		return;
	case KEY_TARGET:
	case KEY_PATH:
		text_like("^(/.*)?$", out);
		return;
	case KEY_CPU:
		write_cpu(out);
		return;
	case KEY_TEXT:
	case KEY_CPUS:
	case KEY_SERVE:
	case KEY_CONNECT:
		type_is("string", out);
		return;
	case KEY_FLAGS:
	case KEY_LISTEN:
	case KEY_NETWORKS:
	case KEY_RULES:
	case KEY_PATTERNS:
	case KEY_FIELDS:
	case KEY_ARGUMENTS:
	case KEY_ENVIRONMENT:
		write_list(key, out);
		return;
	}
}

static void
write_key(const struct config_key *key, struct json *out)
{
	json_object_begin(out);
	json_key_string(out, "description", key->meaning);
	write_type(key, out);
	if (key->type == KEY_BOOL) {
		json_key_bool(
		    out, "default", strcmp(key->fallback, "true") == 0);
	} else if (*key->fallback != '\0') {
		json_key_string(out, "default", key->fallback);
	}
	json_object_end(out);
}

/* "proxy." is the section "proxy". */
static const char *
section_meaning(const char *prefix)
{
	for (unsigned s = 0; s < key_sections_count; s++) {
		size_t n = strlen(key_sections[s].path);

		if (strncmp(prefix, key_sections[s].path, n) == 0 &&
		    strcmp(prefix + n, n > 0 ? "." : "") == 0)
			return key_sections[s].meaning;
	}
	return "";
}

/*
 * The section whose paths begin with prefix, from key number k on; returns
 * the number of the first key after it.
 */
static unsigned
write_section(unsigned k, const char *prefix, struct json *out)
{
	size_t given = strlen(prefix);
	char name[64], inner[128];

	type_is("object", out);
	json_key_bool(out, "additionalProperties", false);
	json_key(out, "properties");
	json_object_begin(out);
	while (k < config_keys_count &&
	       strncmp(config_keys[k].path, prefix, given) == 0) {
		const char *rest = config_keys[k].path + given;
		size_t n = strcspn(rest, ".");
		size_t bare = strcspn(rest, ".[");

		snprintf(name, sizeof(name), "%.*s", (int)bare, rest);
		json_key(out, name);
		if (rest[n] == '\0') {
			write_key(&config_keys[k++], out);
			continue;
		}
		snprintf(inner, sizeof(inner), "%s%.*s.", prefix, (int)n, rest);
		json_object_begin(out);
		json_key_string(out, "description", section_meaning(inner));
		if (bare < n) { /* servers[] */
			type_is("array", out);
			json_key_uint(out, "maxItems", CONFIG_SERVERS);
			json_key(out, "items");
			json_object_begin(out);
		}
		k = write_section(k, inner, out);
		if (bare < n)
			json_object_end(out);
		json_object_end(out);
	}
	json_object_end(out);
	return k;
}

void
config_write_schema(struct json *out)
{
	json_object_begin(out);
	json_key_string(
	    out, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_key_string(out, "title", "tailor.json, see tailor.conf(5)");
	write_section(0, "", out);
	json_object_end(out);
}
