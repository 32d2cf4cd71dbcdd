/* schema.c: the table of keys as a JSON schema; see config.h.
 *
 * Editors use it to complete and check a file while it is written.  It has the
 * types and ranges of each key.  `tailor -t` finds the errors that a schema
 * cannot express (an address, a list of CPUs, limits that contradict). */
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "config/value.h"

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
	json_key_array(out, "enum");
	for (const struct key_choice *c = key->choices; c->name != NULL; c++)
		json_string(out, c->name);
	json_array_end(out);
}

/* Write the choices of a key whose last one may have an argument: "sleep",
 * "sleep:50us". */
static void
write_open_choices(const struct config_key *key, struct json *out)
{
	const struct key_choice *c = key->choices;
	char pattern[128];

	json_key_array(out, "anyOf");
	json_object_begin(out);
	write_choices(key, out);
	json_object_end(out);
	while (!key_takes_argument(key, c))
		c++;
	snprintf(pattern, sizeof(pattern), "^%s:.+$", c->name);
	json_object_begin(out);
	text_like(pattern, out);
	json_object_end(out);
	json_array_end(out);
}

/* The regular expression of a quantity with a unit. */
static const char *
quantity_pattern(const struct config_key *key)
{
	switch ((int)key->type) {
	case KEY_DURATION:
		if (key->or_auto)
			return "^(auto|[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)?)$";
		return "^[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)?$";
	case KEY_DELAY:
		return "^([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)?|p[0-9]+)$";
	case KEY_BYTES:
		return "^[0-9]+(\\.[0-9]+)?[kMG]?$";
	default:
		return "^[0-9]+(\\.[0-9]+)?$";
	}
}

/* Write a quantity: a number in the key's unit, or text with a unit. */
static void
write_quantity(const struct config_key *key, struct json *out)
{
	double scale = (double)key_scale(key);

	json_key_array(out, "anyOf");
	json_object_begin(out);
	type_is(
	    key->unit != NULL || key->type == KEY_RATIO ? "number" : "integer",
	    out);
	json_key_double(out, "minimum", key->min / scale);
	json_key_double(out, "maximum", key->max / scale);
	json_object_end(out);
	json_object_begin(out);
	text_like(quantity_pattern(key), out);
	json_object_end(out);
	json_array_end(out);
}

/* Write a single value, or an element of a list. */
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
	json_key_array(out, "anyOf");
	json_object_begin(out);
	write_element(key, out);
	json_object_end(out);
	json_object_begin(out);
	type_is("array", out);
	if (key->max > 0)
		json_key_uint(out, "maxItems", (uint64_t)key->max);
	json_key_object(out, "items");
	write_element(key, out);
	json_object_end(out);
	json_object_end(out);
	if (key->type == KEY_ENVIRONMENT) {
		json_object_begin(out);
		type_is("object", out);
		json_key_object(out, "additionalProperties");
		type_is("string", out);
		json_object_end(out);
		json_object_end(out);
	}
	json_array_end(out);
}

static void
write_cpu(struct json *out)
{
	json_key_array(out, "type");
	json_string(out, "string");
	json_string(out, "integer");
	json_array_end(out);
}

static void
write_type(const struct config_key *key, struct json *out)
{
	const struct value_type *type = &value_types[key->type];

	if (type->separator != NULL)
		write_list(key, out);
	else if (key->argument != NULL)
		write_open_choices(key, out);
	else if (key->choices != NULL)
		write_choices(key, out);
	else if (key->type == KEY_BOOL)
		type_is("boolean", out);
	else if (key->type == KEY_CPU)
		write_cpu(out);
	else if (type->pattern != NULL)
		text_like(type->pattern, out);
	else if (type->release != NULL)
		type_is("string", out);
	else
		write_quantity(key, out);
}

static void
write_key(const struct config_key *key, struct json *out)
{
	char text[KEY_TEXT_MAX];

	json_object_begin(out);
	json_key_string(out, "description", key_text(key->path, text));
	write_type(key, out);
	if (key->type == KEY_BOOL) {
		json_key_bool(
		    out, "default", strcmp(key->fallback, "true") == 0);
	} else if (*key->fallback != '\0') {
		json_key_string(out, "default", key->fallback);
	}
	json_object_end(out);
}

/* Write the section, from key number k on; returns the number of the first key
 * after it. */
static unsigned
write_section(unsigned k, const char *section, struct json *out)
{
	char name[KEY_PATH_MAX], inner[KEY_PATH_MAX], text[KEY_TEXT_MAX];

	type_is("object", out);
	json_key_bool(out, "additionalProperties", false);
	json_key_object(out, "properties");
	while (key_member(k, section, name, inner)) {
		bool list = strcmp(inner, KEY_SERVERS) == 0;

		json_key(out, name);
		if (*inner == '\0') {
			write_key(&config_keys[k++], out);
			continue;
		}
		json_object_begin(out);
		json_key_string(out, "description", key_text(inner, text));
		if (list) {
			type_is("array", out);
			json_key_uint(out, "maxItems", CONFIG_SERVERS);
			json_key_object(out, "items");
		}
		k = write_section(k, inner, out);
		if (list)
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
