/* value.c: check and store single values; see value.h. */
#include "config/value.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/topology.h"
#include "config/address.h"

#define HOST_MAX 255 /* a DNS name and a port */

void *
value_at(const struct config_key *key, void *base)
{
	return (char *)base + key->offset;
}

void *
value_beside(const struct config_key *key, void *base)
{
	return (char *)base + key->count_offset;
}

void *
value_base(struct config *c, const struct config_key *key, unsigned index)
{
	return key_of_server(key) ? (void *)&c->server[index] : c;
}

bool
value_is_plain(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

int
value_set_bool(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	(void)refusal;
	if (!cJSON_IsBool(value))
		return -EINVAL;
	*(bool *)value_at(key, base) = cJSON_IsTrue(value) != 0;
	return 0;
}

/* --- quantities ------------------------------------------------------- */

/* Convert a JSON number in the key's unit to whole base units. */
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

/* Why a text like "10sec", "5 s" or "10MB" has no valid unit; NULL: its unit is
 * not the error. */
static const char *
unit_doubt(enum quantity q, const char *text)
{
	const char *unit = text + strspn(text, "0123456789.");

	if (unit == text || *unit == '\0' || unit_scale(q, unit) != 0)
		return NULL;
	return q == QUANTITY_DURATION ? "the units are h, m, s, ms, us and ns"
	       : q == QUANTITY_BYTES  ? "the units are k, M and G"
				      : NULL;
}

int
value_set_quantity(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	void *out = value_at(key, base);
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
		    key->unit != NULL ? "ns" : "");
		if (parse_quantity(key, text, &v) != 0)
			return -EINVAL;
	} else if (!cJSON_IsString(value)) {
		return -EINVAL;
	} else if (parse_quantity(key, value->valuestring, &v) != 0) {
		refusal->why =
		    unit_doubt(key_quantity(key), value->valuestring);
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

int
value_set_ratio(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	double v;
	char *end;

	(void)refusal;
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
	*(double *)value_at(key, base) = v;
	return 0;
}

/* Store a duration, or "p99": a percentile of measured times. */
int
value_set_delay(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	unsigned *percentile = value_beside(key, base);
	const char *text = cJSON_IsString(value) ? value->valuestring : "";
	uint64_t v;
	int err;

	if (*text != 'p') {
		err = value_set_quantity(key, base, value, refusal);
		if (err == 0)
			*percentile = 0;
		return err;
	}
	if (quantity_parse(QUANTITY_COUNT, text + 1, 1, &v) != 0 ||
	    v < DELAY_PERCENTILE_MIN || v > 100)
		return -EINVAL;
	*percentile = (unsigned)v;
	*(int64_t *)value_at(key, base) = 0;
	return 0;
}

/* --- choices ---------------------------------------------------------- */

static int
replace_text(char **out, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free(*out);
	*out = copy;
	return 0;
}

/* Store the argument of a choice, the text after "sleep:" or "usdt:".  0 or a
 * negative errno. */
static int
set_argument(const struct config_key *key, void *base, const char *text)
{
	uint64_t v;

	if (key->unit == NULL)
		return value_is_path(text) && value_is_plain(text) &&
			       strlen(text) < PATH_MAX
			   ? replace_text(value_beside(key, base), text)
			   : -EINVAL;
	if (parse_quantity(key, text, &v) != 0)
		return -EINVAL;
	*(int64_t *)value_beside(key, base) = (int64_t)v;
	return 0;
}

int
value_set_choice(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	const struct key_choice *choice = key->choices;
	const char *text = cJSON_IsString(value) ? value->valuestring : "";
	size_t n = strcspn(text, ":");
	int err = 0;

	(void)refusal;
	while (choice->name != NULL && (strlen(choice->name) != n ||
					   strncmp(choice->name, text, n) != 0))
		choice++;
	if (choice->name == NULL ||
	    (text[n] == ':' && !key_takes_argument(key, choice)))
		return -EINVAL;
	if (key->argument != NULL)
		err = set_argument(
		    key, base, text[n] == ':' ? text + n + 1 : key->argument);
	if (err == 0)
		*(unsigned *)value_at(key, base) = choice->value;
	return err;
}

/* --- texts ------------------------------------------------------------ */

bool
value_is_path(const char *s)
{
	return *s == '\0' || *s == '/' || place_begins(s);
}

bool
value_is_name(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return n >= 1 && n <= 32 && s[n] == '\0';
}

bool
value_is_name_or_none(const char *s)
{
	return *s == '\0' || value_is_name(s);
}

/* The origin form of a request target. */
bool
value_is_target(const char *s)
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

/* The value of a Host field. */
bool
value_is_host(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789._-:[]");

	return n <= HOST_MAX && s[n] == '\0';
}

bool
value_is_cpu(const char *s)
{
	cpu_set_t set;

	if (strcmp(s, "auto") == 0 || strcmp(s, "none") == 0)
		return true;
	return topology_parse_cpus(s, &set) == 0 && CPU_COUNT(&set) == 1;
}

bool
value_is_cpus(const char *s)
{
	cpu_set_t set;

	return strcmp(s, "auto") == 0 || *s == '\0' ||
	       topology_parse_cpus(s, &set) == 0;
}

int
value_set_text(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	char number[16];
	const char *s = value->valuestring;

	(void)refusal;
	if (key->type == KEY_CPU && cJSON_IsNumber(value) &&
	    value->valuedouble >= 0 && value->valuedouble < CPU_SETSIZE) {
		snprintf(number, sizeof(number), "%g", value->valuedouble);
		if (!value_is_cpu(number))
			return -EINVAL;
		s = number;
	} else if (!cJSON_IsString(value)) {
		return -EINVAL;
	}
	return replace_text(value_at(key, base), s);
}

/* --- addresses -------------------------------------------------------- */

int
value_set_address(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	struct config_address parsed = {0}, *out = value_at(key, base);
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
	if (key->type == KEY_CONNECT && config_address_port(&parsed) == 0) {
		free(parsed.text);
		refusal->why = "the port is not in 1..65535";
		return -EINVAL;
	}
	free(out->text);
	*out = parsed;
	return 0;
}
