/*
 * value.c: check and store single values; see value.h.
 */
#include "config/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/topology.h"
#include "config/address.h"

void *
value_at(const struct config_key *key, void *base)
{
	return (char *)base + key->offset;
}

unsigned *
value_count(const struct config_key *key, void *base)
{
	return (unsigned *)(void *)((char *)base + key->count_offset);
}

static int
refuse(struct refusal *refusal, const char *why)
{
	refusal->why = why;
	return -EINVAL;
}

/* --- choices ---------------------------------------------------------- */

static int
set_bool(bool *out, const cJSON *value)
{
	if (!cJSON_IsBool(value))
		return -EINVAL;
	*out = cJSON_IsTrue(value) != 0;
	return 0;
}

static int
set_choice(const struct config_key *key, void *out, const cJSON *value)
{
	const struct key_choice *choice = key->choices;

	if (!cJSON_IsString(value))
		return -EINVAL;
	while (choice->name != NULL &&
	       strcmp(choice->name, value->valuestring) != 0)
		choice++;
	if (choice->name == NULL)
		return -EINVAL;
	if (key->size == sizeof(bool))
		*(bool *)out = choice->value != 0;
	else
		*(unsigned *)out = choice->value;
	return 0;
}

/* --- quantities ------------------------------------------------------- */

/* A JSON number of plain units as whole base units. */
static int
scale_number(double number, uint64_t scale, uint64_t *out)
{
	double scaled = number * (double)scale;
	double whole = nearbyint(scaled);

	/* Values of 2^63 and more fit no key; 0.1 s is not exactly 10^8 ns. */
	if (!(scaled >= 0 && scaled < 9.2e18) ||
	    fabs(scaled - whole) > 1e-6 * fmax(1, scaled * 1e-9))
		return -EINVAL;
	*out = (uint64_t)whole;
	return 0;
}

static int
parse_quantity(const struct config_key *key, const char *text, uint64_t *out)
{
	uint64_t v;

	if (quantity_parse(key_quantity(key), text, key_scale(key), &v) != 0 ||
	    (double)v < key->min || (double)v > key->max ||
	    (key->power_of_two && (v & (v - 1)) != 0))
		return -EINVAL;
	*out = v;
	return 0;
}

static int
set_quantity(const struct config_key *key, void *out, const cJSON *value)
{
	char text[24];
	uint64_t v;

	if (key->or_auto && cJSON_IsString(value) &&
	    strcmp(value->valuestring, "auto") == 0) {
		*(int64_t *)out = CONFIG_DURATION_AUTO;
		return 0;
	}
	if (cJSON_IsNumber(value)) {
		if (scale_number(value->valuedouble, key_scale(key), &v) != 0)
			return -EINVAL;
		snprintf(text, sizeof(text), "%llu%s", (unsigned long long)v,
		    key->type == KEY_DURATION ? "ns" : "");
		if (parse_quantity(key, text, &v) != 0)
			return -EINVAL;
	} else if (!cJSON_IsString(value) ||
		   parse_quantity(key, value->valuestring, &v) != 0) {
		return -EINVAL;
	}
	if (key->type == KEY_COUNT)
		*(unsigned *)out = (unsigned)v;
	else if (key->type == KEY_BYTES)
		*(uint64_t *)out = v;
	else
		*(int64_t *)out = (int64_t)v;
	return 0;
}

static int
set_ratio(const struct config_key *key, double *out, const cJSON *value)
{
	double v;
	char *end;

	if (cJSON_IsNumber(value)) {
		v = value->valuedouble;
	} else if (cJSON_IsString(value) &&
		   value->valuestring[strspn(
		       value->valuestring, "0123456789.")] == '\0') {
		v = strtod(value->valuestring, &end);
		if (end == value->valuestring || *end != '\0')
			return -EINVAL;
	} else {
		return -EINVAL;
	}
	if (!(v >= key->min && v <= key->max))
		return -EINVAL;
	*out = v;
	return 0;
}

/* How long the observer sleeps by default. */
#define POLL_SLEEP_NS 200000

static int
set_poll(const struct config_key *key, struct config *c, const cJSON *value)
{
	static const struct {
		const char *name;
		enum config_poll poll;
	} names[] = {
	    {"auto", CONFIG_POLL_AUTO},
	    {"spin", CONFIG_POLL_SPIN},
	    {"relax", CONFIG_POLL_RELAX},
	    {"sleep", CONFIG_POLL_SLEEP},
	};
	uint64_t sleep_ns = POLL_SLEEP_NS;

	if (!cJSON_IsString(value))
		return -EINVAL;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i].name);
		const char *rest = value->valuestring + n;

		if (strncmp(value->valuestring, names[i].name, n) != 0)
			continue;
		if (*rest != '\0' &&
		    (names[i].poll != CONFIG_POLL_SLEEP || *rest != ':' ||
			parse_quantity(key, rest + 1, &sleep_ns) != 0))
			return -EINVAL;
		c->profiler.poll = names[i].poll;
		c->profiler.sleep_ns = (int64_t)sleep_ns;
		return 0;
	}
	return -EINVAL;
}

/* --- texts ------------------------------------------------------------ */

static bool
is_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return n >= 1 && n <= 32 && s[n] == '\0';
}

/* Origin form, the target of a request line. */
static bool
is_target(const char *s)
{
	if (*s == '\0')
		return true;
	if (*s != '/' || strlen(s) > 1024)
		return false;
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || *s == '#')
			return false;
	return true;
}

static bool
is_cpu(const char *s)
{
	cpu_set_t set;

	if (strcmp(s, "auto") == 0 || strcmp(s, "none") == 0)
		return true;
	return topology_parse_cpus(s, &set) == 0 && CPU_COUNT(&set) == 1;
}

static bool
is_cpus(const char *s)
{
	cpu_set_t set;

	return strcmp(s, "auto") == 0 || *s == '\0' ||
	       topology_parse_cpus(s, &set) == 0;
}

static bool
text_fits(enum key_type type, const char *s)
{
	for (const char *p = s; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	switch ((int)type) {
	case KEY_NAME:
		return is_name(s);
	case KEY_NAME_OR_NONE:
		return *s == '\0' || is_name(s);
	case KEY_TARGET:
		return is_target(s);
	case KEY_PATH:
		return *s == '\0' || *s == '/';
	case KEY_CPU:
		return is_cpu(s);
	case KEY_CPUS:
		return is_cpus(s);
	default:
		return true;
	}
}

static int
set_text(const struct config_key *key, char **out, const cJSON *value)
{
	char number[16];
	const char *s = value->valuestring;
	char *copy;

	if (key->type == KEY_CPU && cJSON_IsNumber(value) &&
	    value->valuedouble >= 0 && value->valuedouble < CPU_SETSIZE) {
		snprintf(number, sizeof(number), "%g", value->valuedouble);
		s = number;
	} else if (!cJSON_IsString(value)) {
		return -EINVAL;
	}
	if (!text_fits(key->type, s))
		return -EINVAL;
	copy = strdup(s);
	if (copy == NULL)
		return -ENOMEM;
	free(*out);
	*out = copy;
	return 0;
}

/* --- addresses -------------------------------------------------------- */

static int
set_address(const struct config_key *key, struct config_address *out,
    const cJSON *value, struct refusal *refusal)
{
	struct config_address parsed = {0};
	int err;

	if (!cJSON_IsString(value))
		return -EINVAL;
	/* "" is allowed only as a default. */
	if (*value->valuestring != '\0') {
		err = config_address_parse(
		    value->valuestring, &parsed, &refusal->why);
		if (err != 0)
			return err;
	}
	if (key->type == KEY_CONNECT && address_port(&parsed) == 0) {
		free(parsed.text);
		return refuse(refusal, "the port is not in 1..65535");
	}
	free(out->text);
	*out = parsed;
	return 0;
}

/* --- all -------------------------------------------------------------- */

int
value_set(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	void *out = value_at(key, base);

	*refusal = (struct refusal){0};
	switch (key->type) {
	case KEY_BOOL:
		return set_bool(out, value);
	case KEY_CHOICE:
		return set_choice(key, out, value);
	case KEY_COUNT:
	case KEY_BYTES:
	case KEY_DURATION:
		return set_quantity(key, out, value);
	case KEY_RATIO:
		return set_ratio(key, out, value);
	case KEY_POLL:
		return set_poll(key, base, value);
	case KEY_NAME:
	case KEY_NAME_OR_NONE:
	case KEY_TARGET:
	case KEY_PATH:
	case KEY_TEXT:
	case KEY_CPU:
	case KEY_CPUS:
		return set_text(key, out, value);
	case KEY_SERVE:
	case KEY_CONNECT:
		return set_address(key, out, value, refusal);
	case KEY_FLAGS:
	case KEY_LISTEN:
	case KEY_NETWORKS:
	case KEY_RULES:
	case KEY_PATTERNS:
	case KEY_FIELDS:
	case KEY_ARGUMENTS:
	case KEY_ENVIRONMENT:
		return value_set_list(key, base, value, refusal);
	}
	return -EINVAL;
}
