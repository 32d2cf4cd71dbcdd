/* types.c: the table of types, and the functions that use it; see value.h. */
#include "config/value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path_pattern.h"
#include "base/text.h"
#include "config/rule.h"

/* clang-format off */
#define SINGLE(name)							\
	.set = value_set_##name, .write = value_write_##name
#define QUANTITY(name)							\
	.set = value_set_quantity, .write = value_write_##name
#define OWNED(name) SINGLE(name), .release = value_release_##name
#define LIST(name) OWNED(name), .separator = ","

const struct value_type value_types[] = {
[KEY_BOOL] = {SINGLE(bool), .description = "true or false"},
[KEY_CHOICE] = {OWNED(choice)},
[KEY_FLAGS] = {SINGLE(flags), .separator = ","},
[KEY_COUNT] = {QUANTITY(count)},
[KEY_BYTES] = {QUANTITY(bytes)},
[KEY_DURATION] = {QUANTITY(duration)},
[KEY_RATIO] = {SINGLE(ratio)},
[KEY_DELAY] = {SINGLE(delay)},
[KEY_NAME] = {OWNED(text), .fits = value_is_name,
	.description = "a name of 1 to 32 letters, digits, '.', '_' or '-'",
	.pattern = "^[A-Za-z0-9._-]{1,32}$"},
[KEY_NAME_OR_NONE] = {OWNED(text), .fits = value_is_name_or_none,
	.description = "\"\" or a name of 1 to 32 letters, digits, '.', "
		"'_' or '-'",
	.pattern = "^[A-Za-z0-9._-]{0,32}$"},
[KEY_TARGET] = {OWNED(text), .fits = value_is_target,
	.description = "\"\" or a target like \"/status?brief\"",
	.pattern = "^(/.*)?$"},
[KEY_HOST] = {OWNED(text), .fits = value_is_host,
	.description = "\"\" or a host like \"www.example.com\" or "
		"\"127.0.0.1:9001\"",
	.pattern = "^[A-Za-z0-9._:\\[\\]-]{0,255}$"},
[KEY_PATH] = {OWNED(text), .fits = value_is_path,
	.description = "\"\" or an absolute path", .pattern = "^(/.*)?$"},
[KEY_TEXT] = {OWNED(text), .fits = value_is_plain, .description = "text"},
[KEY_CPU] = {OWNED(text), .fits = value_is_cpu,
	.description = "\"auto\", \"none\" or the number of a CPU"},
[KEY_CPUS] = {OWNED(text), .fits = value_is_cpus,
	.description = "\"\", \"auto\" or a list of CPUs like \"0-3,8\""},
[KEY_SERVE] = {OWNED(address),
	.description = "\"\" or an address like \"127.0.0.1:8080\", "
		"\":8080\", \"[::1]:8080\" or \"unix:/path\""},
[KEY_CONNECT] = {OWNED(address),
	.description = "an address like \"127.0.0.1:9001\", \"[::1]:9001\" or "
		"\"unix:/path\""},
[KEY_LISTEN] = {LIST(listen),
	.description = "a list of addresses like \"127.0.0.1:8080\", "
		"\":8080\", \"[::1]:8080\" or \"unix:/path\""},
[KEY_NETWORKS] = {SINGLE(networks), .separator = ",",
	.description = "a list of networks like \"10.0.0.0/8\", "
		"\"::1/128\" or \"unix\""},
[KEY_RULES] = {LIST(texts), .judge = rule_judge,
	.description = "a list of rules like \"POST /*/_search\""},
[KEY_PATTERNS] = {LIST(texts), .judge = path_pattern_judge,
	.description = "a list of path patterns like \"/account/**\""},
[KEY_CLASSES] = {LIST(texts), .judge = class_judge,
	.description = "a list of classes like \"GET /search/**\""},
[KEY_FIELDS] = {LIST(texts), .judge = field_judge,
	.description = "a list of field names like \"X-Tenant\""},
[KEY_STATUSES] = {LIST(texts), .judge = status_judge,
	.description = "a list of statuses like \"200-399\" or \"404\""},
[KEY_ARGUMENTS] = {OWNED(texts), .separator = " ",
	.description = "a list of texts, the first not empty"},
[KEY_ENVIRONMENT] = {OWNED(texts), .separator = " ",
	.judge = value_judge_variable,
	.description = "an object of texts like {\"NAME\": \"value\"}"},
};
/* clang-format on */

int
value_set(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	const struct value_type *type = &value_types[key->type];
	bool object = key->type == KEY_ENVIRONMENT && cJSON_IsObject(value);

	*refusal = (struct refusal){0};
	if (type->separator != NULL && !object && !cJSON_IsArray(value) &&
	    !cJSON_IsString(value))
		return -EINVAL;
	if (type->fits != NULL && cJSON_IsString(value) &&
	    (!value_is_plain(value->valuestring) ||
		!type->fits(value->valuestring)))
		return -EINVAL;
	return type->set(key, base, value, refusal);
}

void
value_write(const struct config_key *key, const void *base, struct json *out)
{
	value_types[key->type].write(key, base, out);
}

void
value_release(const struct config_key *key, void *base)
{
	if (value_types[key->type].release != NULL)
		value_types[key->type].release(key, base);
}

/* --- descriptions ----------------------------------------------------- */

static void
describe_quantity(const struct config_key *key, char *out, size_t size)
{
	enum quantity q = key_quantity(key);
	static const char *const nouns[] = {
	    [QUANTITY_COUNT] = "whole number",
	    [QUANTITY_BYTES] = "size",
	    [QUANTITY_DURATION] = "duration",
	};
	char min[QUANTITY_TEXT_MAX], max[QUANTITY_TEXT_MAX];

	text_append(out, size, "%sa %s in %s..%s",
	    key->or_auto ? "\"auto\" or " : "",
	    key->power_of_two ? "power of two" : nouns[q],
	    quantity_format(q, (uint64_t)key->min, min),
	    quantity_format(q, (uint64_t)key->max, max));
	if (q != QUANTITY_COUNT)
		text_append(out, size, " (a plain number is in %s)",
		    key->unit != NULL ? key->unit : "bytes");
}

static void
describe_choices(
    const struct config_key *key, bool element, char *out, size_t size)
{
	const struct key_choice *choice = key->choices;

	text_append(out, size,
	    key->type == KEY_FLAGS && !element ? "a list of " : "one of ");
	for (; choice->name != NULL; choice++)
		text_append(out, size, "%s\"%s\"",
		    choice == key->choices ? "" : ", ", choice->name);
	if (key->argument == NULL)
		return;
	text_append(out, size, " or \"%s:\" and ", choice[-1].name);
	if (key->unit != NULL)
		describe_quantity(key, out, size);
	else
		text_append(out, size, "an absolute path");
}

void
key_describe(const struct config_key *key, bool element, char *out, size_t size)
{
	const char *description = value_types[key->type].description;

	out[0] = '\0';
	if (description != NULL)
		text_append(out, size, "%s", element ? "text" : description);
	else if (key->choices != NULL)
		describe_choices(key, element, out, size);
	else if (key->type == KEY_RATIO)
		text_append(
		    out, size, "a number in %g..%g", key->min, key->max);
	else
		describe_quantity(key, out, size);
	if (key->type == KEY_DELAY)
		text_append(out, size, " or a percentile in \"p%d\"..\"p100\"",
		    DELAY_PERCENTILE_MIN);
}
