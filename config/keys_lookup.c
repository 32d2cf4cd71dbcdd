/*
 * keys_lookup.c: look up keys, defaults and descriptions; see keys.h.
 */
#include "config/keys.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"

#define SERVER_PREFIX "servers[]."

const struct config_key *
key_find(const char *path)
{
	for (unsigned i = 0; i < config_keys_count; i++)
		if (strcmp(config_keys[i].path, path) == 0)
			return &config_keys[i];
	return NULL;
}

/* Whether a path with an index, "servers[0].name", is one without. */
static bool
path_matches(const char *path, const char *without)
{
	const char *open = strchr(path, '[');

	if (open == NULL || !isdigit((unsigned char)open[1]))
		return strcmp(path, without) == 0;
	return strncmp(path, without, (size_t)(open + 1 - path)) == 0 &&
	       strcmp(open + 2, without + (open + 1 - path)) == 0;
}

const struct removed_key *
key_find_removed(const char *path)
{
	for (unsigned i = 0; i < removed_keys_count; i++)
		if (path_matches(path, removed_keys[i].path))
			return &removed_keys[i];
	return NULL;
}

bool
key_is_section(const char *path)
{
	for (unsigned i = 0; i < key_sections_count; i++)
		if (strcmp(key_sections[i].path, path) == 0)
			return true;
	return false;
}

bool
key_of_server(const struct config_key *key)
{
	return strncmp(key->path, SERVER_PREFIX, strlen(SERVER_PREFIX)) == 0;
}

enum quantity
key_quantity(const struct config_key *key)
{
	if (key->type == KEY_DURATION || key->type == KEY_POLL)
		return QUANTITY_DURATION;
	return key->type == KEY_BYTES ? QUANTITY_BYTES : QUANTITY_COUNT;
}

uint64_t
key_scale(const struct config_key *key)
{
	return key->unit == NULL ? 1 : unit_scale(QUANTITY_DURATION, key->unit);
}

/* --- defaults --------------------------------------------------------- */

/* A directory for sockets, short enough for their addresses. */
static void
run_directory(char *out, size_t size)
{
	const char *service = getenv("RUNTIME_DIRECTORY");
	const char *session = getenv("XDG_RUNTIME_DIR");
	size_t n;

	/* systemd separates several directories by colons. */
	n = service != NULL ? strcspn(service, ":") : 0;
	if (n > 0 && service[0] == '/' && n < 80)
		snprintf(out, size, "%.*s", (int)n, service);
	else if (geteuid() == 0)
		snprintf(out, size, "/run/tailor");
	else if (session != NULL && session[0] == '/' && strlen(session) < 72)
		snprintf(out, size, "%s/tailor", session);
	else
		snprintf(out, size, "/tmp/tailor-%u", (unsigned)geteuid());
}

/* A directory for files that survive a restart. */
static void
state_directory(char *out, size_t size)
{
	const char *service = getenv("STATE_DIRECTORY");
	const char *session = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (service != NULL && service[0] == '/')
		snprintf(
		    out, size, "%.*s", (int)strcspn(service, ":"), service);
	else if (geteuid() == 0)
		snprintf(out, size, "/var/lib/tailor");
	else if (session != NULL && session[0] == '/')
		snprintf(out, size, "%s/tailor", session);
	else if (home != NULL && home[0] == '/')
		snprintf(out, size, "%s/.local/state/tailor", home);
	else
		snprintf(out, size, "/tmp/tailor-%u", (unsigned)geteuid());
}

static void
expand(const char *name, unsigned index, char *out, size_t size)
{
	out[0] = '\0';
	if (strncmp(name, "{run}", 5) == 0)
		run_directory(out, size);
	else if (strncmp(name, "{state}", 7) == 0)
		state_directory(out, size);
	else if (strncmp(name, "{server}", 8) == 0)
		snprintf(out, size, "%c", (char)('a' + index));
	else if (geteuid() != 0)
		snprintf(out, size, "-%u", (unsigned)geteuid());
}

char *
key_default(
    const struct config_key *key, unsigned index, char out[KEY_DEFAULT_MAX])
{
	const char *open = strchr(key->fallback, '{');
	char value[128];

	if (open == NULL) {
		snprintf(out, KEY_DEFAULT_MAX, "%s", key->fallback);
		return out;
	}
	expand(open, index, value, sizeof(value));
	snprintf(out, KEY_DEFAULT_MAX, "%.*s%s%s", (int)(open - key->fallback),
	    key->fallback, value, strchr(open, '}') + 1);
	return out;
}

/* --- descriptions ----------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
append(char *out, size_t size, const char *format, ...)
{
	size_t n = strlen(out);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(out + n, size - n, format, arguments);
	va_end(arguments);
}

static void
describe_choices(
    const struct config_key *key, bool element, char *out, size_t size)
{
	const struct key_choice *choice = key->choices;

	append(out, size,
	    key->type == KEY_FLAGS && !element ? "a list of " : "one of ");
	for (; choice->name != NULL; choice++)
		append(out, size, "%s\"%s\"",
		    choice == key->choices ? "" : ", ", choice->name);
}

static void
describe_range(const struct config_key *key, char *out, size_t size)
{
	char min[QUANTITY_TEXT_MAX], max[QUANTITY_TEXT_MAX];
	enum quantity q = key_quantity(key);

	append(out, size, "%s..%s", quantity_format(q, (uint64_t)key->min, min),
	    quantity_format(q, (uint64_t)key->max, max));
}

static void
describe_quantity(const struct config_key *key, char *out, size_t size)
{
	if (key->type == KEY_DURATION) {
		append(out, size, "%sa duration in ",
		    key->or_auto ? "\"auto\" or " : "");
		describe_range(key, out, size);
		append(out, size, " (a plain number is in %s)", key->unit);
	} else if (key->type == KEY_BYTES) {
		append(out, size, "a size in ");
		describe_range(key, out, size);
		append(out, size, " (a plain number is in bytes)");
	} else {
		append(out, size, "a %s in ",
		    key->power_of_two ? "power of two" : "whole number");
		describe_range(key, out, size);
	}
}

/* Types whose values have the same description for every key. */
static const char *const descriptions[] = {
    [KEY_BOOL] = "true or false",
    [KEY_NAME] = "a name of 1 to 32 letters, digits, '.', '_' or '-'",
    [KEY_NAME_OR_NONE] = ("\"\" or a name of 1 to 32 letters, digits, '.', "
			  "'_' or '-'"),
    [KEY_TARGET] = "\"\" or a target like \"/status?brief\"",
    [KEY_PATH] = "\"\" or an absolute path",
    [KEY_TEXT] = "text",
    [KEY_CPU] = "\"auto\", \"none\" or the number of a CPU",
    [KEY_CPUS] = "\"\", \"auto\" or a list of CPUs like \"0-3,8\"",
    [KEY_SERVE] = ("\"\" or an address like \"127.0.0.1:8080\", \":8080\", "
		   "\"[::1]:8080\" or \"unix:/path\""),
    [KEY_CONNECT] = ("an address like \"127.0.0.1:9001\", \"[::1]:9001\" or "
		     "\"unix:/path\""),
    [KEY_LISTEN] = ("a list of addresses like \"127.0.0.1:8080\", "
		    "\":8080\", \"[::1]:8080\" or \"unix:/path\""),
    [KEY_NETWORKS] = ("a list of networks like \"10.0.0.0/8\", "
		      "\"::1/128\" or \"unix\""),
    [KEY_RULES] = "a list of rules like \"POST /*/_search\"",
    [KEY_PATTERNS] = "a list of path patterns like \"/account/**\"",
    [KEY_FIELDS] = "a list of field names like \"X-Tenant\"",
    [KEY_ARGUMENTS] = "a list of texts, the first not empty",
    [KEY_ENVIRONMENT] = "an object of texts like {\"NAME\": \"value\"}",
};

void
key_describe(const struct config_key *key, bool element, char *out, size_t size)
{
	out[0] = '\0';
	switch (key->type) {
	case KEY_CHOICE:
	case KEY_FLAGS:
		describe_choices(key, element, out, size);
		return;
	case KEY_COUNT:
	case KEY_BYTES:
	case KEY_DURATION:
		describe_quantity(key, out, size);
		return;
	case KEY_RATIO:
		append(out, size, "a number in %g..%g", key->min, key->max);
		return;
	case KEY_POLL:
		append(out, size,
		    "one of \"auto\", \"spin\", \"relax\", \"sleep\" or "
		    "\"sleep:\" and a duration in ");
		describe_range(key, out, size);
		append(out, size, " (a plain number is in %s)", key->unit);
		return;
	case KEY_BOOL:
	case KEY_NAME:
	case KEY_NAME_OR_NONE:
	case KEY_TARGET:
	case KEY_PATH:
	case KEY_TEXT:
	case KEY_CPU:
	case KEY_CPUS:
	case KEY_SERVE:
	case KEY_CONNECT:
	case KEY_LISTEN:
	case KEY_NETWORKS:
	case KEY_RULES:
	case KEY_PATTERNS:
	case KEY_FIELDS:
	case KEY_ARGUMENTS:
	case KEY_ENVIRONMENT:
		append(out, size, "%s",
		    element ? "text" : descriptions[key->type]);
		return;
	}
}
