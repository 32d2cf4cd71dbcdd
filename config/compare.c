/* compare.c: what differs between two configurations; see config.h.
 *
 * Values are compared in their written form, which covers every type of key. */
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "config/keys.h"
#include "config/value.h"

static int
value_text(const struct config_key *key, const void *base, char **out)
{
	struct json j;
	size_t length;

	json_init(&j, false);
	json_array_begin(&j); /* makes any value a document */
	value_write(key, base, &j);
	json_array_end(&j);
	return json_take(&j, out, &length);
}

/* 1 if they differ, 0 if not, -ENOMEM. */
static int
values_differ(const struct config_key *key, const void *now, const void *next)
{
	char *a = NULL, *b = NULL;
	int result = value_text(key, now, &a);

	if (result == 0)
		result = value_text(key, next, &b);
	if (result == 0)
		result = strcmp(a, b) != 0;
	free(a);
	free(b);
	return result;
}

/* The server of this name; NULL: there is none. */
static const struct config_server *
server_named(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->servers; i++)
		if (strcmp(c->server[i].name, name) == 0)
			return &c->server[i];
	return NULL;
}

bool
config_server_replaces(
    const struct config_server *now, const struct config_server *next)
{
	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];

		if (key_of_server(key) && key->restart &&
		    values_differ(key, now, next) != 0)
			return true;
	}
	return (now->argc == 0) != (next->argc == 0);
}

static int
key_compare(const struct config_key *key, const char *path, const void *now,
    const void *next, config_difference *each, void *user)
{
	int differ = values_differ(key, now, next);

	if (differ > 0)
		each(user, path, key->restart && !key_of_server(key));
	return differ < 0 ? differ : 0;
}

/* Compare servers of the same name; others were added or removed. */
static int
servers_compare(const struct config *now, const struct config *next,
    config_difference *each, void *user)
{
	bool others = now->servers != next->servers;
	char path[KEY_PATH_MAX];
	int err = 0;

	for (unsigned i = 0; i < next->servers; i++) {
		const struct config_server *b = &next->server[i];
		const struct config_server *a = server_named(now, b->name);

		others |= a == NULL;
		for (unsigned k = 0; a != NULL && k < config_keys_count; k++) {
			const struct config_key *key = &config_keys[k];

			if (err < 0 || !key_of_server(key))
				continue;
			key_path(key->path, i, path);
			err = key_compare(key, path, a, b, each, user);
		}
	}
	if (others)
		each(user, "servers", false);
	return err;
}

int
config_compare(const struct config *now, const struct config *next,
    config_difference *each, void *user)
{
	int err = servers_compare(now, next, each, user);

	for (unsigned k = 0; err == 0 && k < config_keys_count; k++)
		if (!key_of_server(&config_keys[k]))
			err = key_compare(&config_keys[k], config_keys[k].path,
			    now, next, each, user);
	return err;
}
