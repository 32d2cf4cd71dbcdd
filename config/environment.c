/* environment.c: keys from environment variables; see config.h.
 *
 * Each key has one: TAILOR_ and its path in upper case, with "_" between names:
 * TAILOR_HEDGING_MODE and TAILOR_SERVERS_0_ADDRESS.  Other programs may use the
 * prefix too, so a variable that no key has is reported only if its name is
 * near to a key's, and never refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "config/config.h"
#include "config/judge.h"
#include "config/keys.h"

#define NAME_MAX_BYTES 128
#define PREFIX "TAILOR_"

extern char **environ;

/* "servers[0].address" as TAILOR_SERVERS_0_ADDRESS. */
static void
variable_of(const char *path, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, PREFIX);

	for (; *path != '\0' && n + 1 < size; path++) {
		if (*path >= 'a' && *path <= 'z')
			out[n++] = (char)(*path - 'a' + 'A');
		else if (*path != ']')
			out[n++] = strchr("[.", *path) != NULL ? '_' : *path;
	}
	out[n] = '\0';
}

int
config_set_environment(struct config *c, struct config_errors *errors)
{
	char path[KEY_PATH_MAX], variable[NAME_MAX_BYTES];
	const char *text;
	int err = 0, one;

	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];
		unsigned owners = key_of_server(key) ? CONFIG_SERVERS : 1;

		for (unsigned i = 0; i < owners; i++) {
			key_path(key->path, i, path);
			variable_of(path, variable, sizeof(variable));
			text = getenv(variable);
			if (text == NULL)
				continue;
			one = config_set(c, path, text, errors);
			if (one == 0)
				continue;
			config_errors_add(errors,
			    "%s: set by %s in the environment", path, variable);
			err = one;
		}
	}
	return err;
}

/* True for "TAILOR_HEDGING_MODE" and "MODE". */
static bool
ends_in(const char *variable, const char *name)
{
	size_t n = strlen(variable), m = strlen(name);

	return m < n && variable[n - m - 1] == '_' &&
	       strcmp(variable + n - m, name) == 0;
}

/* Find the variable of a key that is nearest to a name; *distance is 0 if they
 * are equal. */
static void
variable_nearest(
    const char *name, char best[NAME_MAX_BYTES], unsigned *distance)
{
	char path[KEY_PATH_MAX], variable[NAME_MAX_BYTES];
	unsigned d;

	*distance = NEAREST_FAR;
	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];
		unsigned owners = key_of_server(key) ? CONFIG_SERVERS : 1;

		for (unsigned i = 0; i < owners; i++) {
			key_path(key->path, i, path);
			variable_of(path, variable, sizeof(variable));
			d = nearest_distance(
			    name, variable + sizeof(PREFIX) - 1);
			if (d > 0 && ends_in(variable, name))
				d = 1;
			if (d >= *distance)
				continue;
			*distance = d;
			memcpy(best, variable, sizeof(variable));
		}
	}
}

void
config_doubt_environment(struct config_errors *doubts)
{
	char best[NAME_MAX_BYTES], name[NAME_MAX_BYTES], shown[QUOTE_MAX];
	unsigned distance;

	for (char **e = environ; *e != NULL; e++) {
		if (strncmp(*e, PREFIX, sizeof(PREFIX) - 1) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*e, "="), *e);
		variable_nearest(name + sizeof(PREFIX) - 1, best, &distance);
		if (distance > 0 &&
		    nearest_is_slip(distance, name + sizeof(PREFIX) - 1))
			config_errors_add(doubts,
			    "%s in the environment is not a key and is "
			    "ignored; "
			    "did you mean %s?",
			    errors_quote(name, shown), best);
	}
}
