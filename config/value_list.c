/* value_list.c: lists; see value.h.
 *
 * A list is first parsed into a scratch copy and moved into place when all of
 * it is valid, so a bad element leaves the old list unchanged.  A single value
 * is taken as a list of one. */
#include "config/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path_pattern.h"
#include "config/address.h"

static int
refuse(struct refusal *refusal, const cJSON *at, const char *why)
{
	refusal->at = at;
	refusal->why = why;
	return -EINVAL;
}

/* The first element of a list, or a single value itself; after() has the
 * next. */
static const cJSON *
first(const cJSON *value)
{
	return cJSON_IsArray(value) || cJSON_IsObject(value) ? value->child
							     : value;
}

static const cJSON *
after(const cJSON *value, const cJSON *element)
{
	return element == value ? NULL : element->next;
}

/* --- flags ------------------------------------------------------------ */

int
value_set_flags(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	unsigned set = 0;

	for (const cJSON *e = first(value); e != NULL; e = after(value, e)) {
		const struct key_choice *choice = key->choices;

		if (!cJSON_IsString(e))
			return refuse(refusal, e, NULL);
		while (choice->name != NULL &&
		       strcmp(choice->name, e->valuestring) != 0)
			choice++;
		if (choice->name == NULL)
			return refuse(refusal, e, NULL);
		set |= choice->value;
	}
	*(unsigned *)value_at(key, base) = set;
	return 0;
}

/* --- addresses and networks ------------------------------------------- */

/* "ADDRESS", or as in nginx "ADDRESS proxy_protocol". */
static int
parse_listener(const char *text, struct config_address *out, const char **why)
{
	size_t n = strlen(text), tail = strlen(CONFIG_PROXY_PROTOCOL);
	bool proxied =
	    n > tail && strcmp(text + n - tail, CONFIG_PROXY_PROTOCOL) == 0;
	char address[128];
	int err;

	snprintf(address, sizeof(address), "%.*s",
	    proxied ? (int)(n - tail) : 0, text);
	err = config_address_parse(proxied ? address : text, out, why);
	if (err == 0)
		out->proxied = proxied;
	return err;
}

int
value_set_listen(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	struct config_address parsed[CONFIG_LISTENERS] = {0};
	unsigned n = 0;
	int err = 0;

	for (const cJSON *e = first(value); e != NULL && err == 0;
	     e = after(value, e)) {
		if (n == CONFIG_LISTENERS)
			err = refuse(refusal, e, "at most 8 are allowed");
		else if (!cJSON_IsString(e))
			err = refuse(refusal, e, NULL);
		else
			err = parse_listener(
			    e->valuestring, &parsed[n], &refusal->why);
		if (err != 0)
			refusal->at = e;
		else
			n++;
	}
	if (err != 0) {
		while (n > 0)
			free(parsed[--n].text);
		return err;
	}
	value_types[key->type].release(key, base);
	memcpy(value_at(key, base), parsed, sizeof(parsed));
	*(unsigned *)value_beside(key, base) = n;
	return 0;
}

int
value_set_networks(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	struct config_network parsed[CONFIG_NETWORKS] = {0};
	unsigned n = 0;

	for (const cJSON *e = first(value); e != NULL; e = after(value, e)) {
		if (n == CONFIG_NETWORKS)
			return refuse(refusal, e, "at most 16 are allowed");
		if (!cJSON_IsString(e))
			return refuse(refusal, e, NULL);
		if (network_parse(e->valuestring, &parsed[n], &refusal->why)) {
			refusal->at = e;
			return -EINVAL;
		}
		n++;
	}
	memcpy(value_at(key, base), parsed, sizeof(parsed));
	*(unsigned *)value_beside(key, base) = n;
	return 0;
}

/* --- texts ------------------------------------------------------------ */

/* "NAME=value" with a name that a shell could use. */
const char *
value_judge_variable(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			     "abcdefghijklmnopqrstuvwxyz0123456789_");

	if (n == 0 || s[n] != '=' || (s[0] >= '0' && s[0] <= '9'))
		return "a name has letters, digits and underscores";
	return NULL;
}

static const char *
judge_text(const struct config_key *key, unsigned index, const char *text)
{
	if (!value_is_plain(text))
		return "it has a control byte";
	if (value_types[key->type].judge != NULL)
		return value_types[key->type].judge(text);
	return index == 0 && *text == '\0' ? "the program's name is empty"
					   : NULL;
}

/* Make the text of an element.  0, -ENOMEM, or -EINVAL with *why. */
static int
make_text(const struct config_key *key, const cJSON *element, unsigned index,
    char **out, const char **why)
{
	int n;

	if (!cJSON_IsString(element))
		return -EINVAL;
	if (key->type == KEY_ENVIRONMENT && element->string != NULL)
		n = asprintf(
		    out, "%s=%s", element->string, element->valuestring);
	else
		n = asprintf(out, "%s", element->valuestring);
	if (n < 0)
		return -ENOMEM;
	*why = judge_text(key, index, *out);
	if (*why == NULL)
		return 0;
	free(*out);
	return -EINVAL;
}

static bool
is_defined(char *const *list, unsigned n, const char *variable)
{
	size_t name = strcspn(variable, "=") + 1;

	for (unsigned i = 0; i < n; i++)
		if (strncmp(list[i], variable, name) == 0)
			return true;
	return false;
}

static void
free_texts(char **list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(list[i]);
}

/* Make the texts of all elements; *n is their number, also on failure. */
static int
make_texts(const struct config_key *key, const cJSON *value, char **list,
    unsigned *n, struct refusal *refusal)
{
	for (const cJSON *e = first(value); e != NULL; e = after(value, e)) {
		int err;

		if (*n >= (unsigned)key->max)
			return refuse(refusal, e,
			    key->max < CONFIG_ARGS ? "at most 16 are allowed"
						   : "at most 64 are allowed");
		err = make_text(key, e, *n, &list[*n], &refusal->why);
		if (err != 0) {
			refusal->at = e;
			return err;
		}
		(*n)++;
		if (key->type == KEY_ENVIRONMENT &&
		    is_defined(list, *n - 1, list[*n - 1]))
			return refuse(refusal, e, "it is given twice");
	}
	return 0;
}

int
value_set_texts(const struct config_key *key, void *base, const cJSON *value,
    struct refusal *refusal)
{
	char *list[CONFIG_ARGS + 1] = {NULL};
	char **out = value_at(key, base);
	unsigned n = 0;
	int err;

	if (key->type == KEY_ARGUMENTS && cJSON_IsString(value) &&
	    strchr(value->valuestring, ' ') != NULL)
		return refuse(refusal, value,
		    "no shell splits it: write a list, with a text for each "
		    "argument");
	err = make_texts(key, value, list, &n, refusal);
	if (err != 0) {
		free_texts(list, n);
		return err;
	}
	value_types[key->type].release(key, base);
	memcpy(out, list, key->size);
	*(unsigned *)value_beside(key, base) = n;
	return 0;
}

/* --- from the command line -------------------------------------------- */

/* Split text at any byte of separators; empty parts are dropped. */
static cJSON *
split(const char *text, const char *separators)
{
	cJSON *list = cJSON_CreateArray();
	char *copy = strdup(text), *rest = copy, *part;
	bool complete = list != NULL && copy != NULL;

	while (complete && (part = strsep(&rest, separators)) != NULL)
		if (*part != '\0')
			complete = cJSON_AddItemToArray(
			    list, cJSON_CreateString(part));
	free(copy);
	if (!complete) {
		cJSON_Delete(list);
		return NULL;
	}
	return list;
}

cJSON *
value_from_text(const struct config_key *key, const char *text)
{
	const char *separator = value_types[key->type].separator;
	cJSON *parsed = NULL;

	if (key->type == KEY_BOOL &&
	    (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))
		return cJSON_CreateBool(text[0] == 't');
	if (separator == NULL)
		return cJSON_CreateString(text);
	/* "[::1]:80" begins like JSON, but is an address. */
	if (text[0] == '[' || text[0] == '{')
		parsed = cJSON_ParseWithOpts(text, NULL, 1);
	return parsed != NULL ? parsed : split(text, separator);
}
