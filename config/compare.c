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

/* Whether Tailor launches a server cannot change while it runs. */
static bool
launch_moves(const struct config_key *key, const struct config_server *now,
    const struct config_server *next)
{
	return strcmp(key->path, "servers[].launch.command") == 0 &&
	       (now->argc == 0) != (next->argc == 0);
}

int
config_compare(const struct config *now, const struct config *next,
    void (*each)(void *user, const char *path, bool restart), void *user)
{
	unsigned servers =
	    now->servers < next->servers ? now->servers : next->servers;
	char path[KEY_PATH_MAX];

	if (now->servers != next->servers)
		each(user, "servers", true);
	for (unsigned k = 0; k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];
		bool ours = key_of_server(key);

		for (unsigned i = 0; i < (ours ? servers : 1); i++) {
			const void *a =
			    ours ? (const void *)&now->server[i] : now;
			const void *b =
			    ours ? (const void *)&next->server[i] : next;
			int differ = values_differ(key, a, b);

			if (differ < 0)
				return differ;
			if (differ == 0)
				continue;
			key_path(key->path, i, path);
			each(user, path,
			    key->restart || (ours && launch_moves(key, a, b)));
		}
	}
	return 0;
}
