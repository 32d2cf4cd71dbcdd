/* instance.c: the name of a tailor among those of one user; see config_name in
 * config.h.
 *
 * Two tailors of one user listen in different places, so the first listener
 * names them: it needs no key, and stays the same over restarts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/address.h"
#include "config/config.h"
#include "config/judge.h"
#include "config/keys.h"
#include "config/value.h"

#define INSTANCE "{instance}"
#define NAME_BYTES 33 /* bytes of a KEY_NAME, with NUL */
#define PATH_BYTES 4096

/* The name of a socket: "front" for "/run/app/front.sock". */
static void
name_of_socket(const char *path, char out[NAME_BYTES])
{
	const char *last = strrchr(path, '/') + 1;
	size_t n = strlen(last);

	if (n > 5 && strcmp(last + n - 5, ".sock") == 0)
		n -= 5;
	if (n >= NAME_BYTES)
		n = NAME_BYTES - 1;
	snprintf(out, NAME_BYTES, "%.*s", (int)n, last);
	for (char *p = out; *p != '\0'; p++)
		if (strchr("._-", *p) == NULL && (*p < '0' || *p > '9') &&
		    (*p < 'A' || *p > 'Z') && (*p < 'a' || *p > 'z'))
			*p = '_';
}

/* The name of a tailor whose port is not known yet. */
static void
name_of_process(char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "pid-%ld", (long)getpid());
}

static void
name_of_listener(const struct config_address *a, char out[NAME_BYTES])
{
	int port = config_address_port(a);

	if (port < 0)
		name_of_socket(
		    ((const struct sockaddr_un *)(const void *)&a->address)
			->sun_path,
		    out);
	else if (port > 0)
		snprintf(out, NAME_BYTES, "%d", port);
	else
		name_of_process(out);
}

/* True if the name stays the same after a restart. */
static bool
lasts(const char *name)
{
	char passing[NAME_BYTES];

	name_of_process(passing);
	return strcmp(name, passing) != 0;
}

static const char *
text_of(const struct config_key *key, struct config *c)
{
	void *at = value_at(key, c);

	return key->type == KEY_PATH ? *(char **)at
				     : ((struct config_address *)at)->text;
}

/* Replace one {place} in a value.  0; 1: the value has none; or a negative
 * errno. */
static int
fill_in(struct config *c, const struct config_key *key,
    struct config_errors *errors)
{
	const char *text = text_of(key, c);
	const char *open = text != NULL ? strchr(text, '{') : NULL;
	char filled[PATH_BYTES], place[PATH_BYTES / 2];
	int n;

	while (open != NULL && !place_find(c, open, place, sizeof(place)))
		open = strchr(open + 1, '{');
	if (open == NULL)
		return 1;
	n = snprintf(filled, sizeof(filled), "%.*s%s%s", (int)(open - text),
	    text, place, strchr(open, '}') + 1);
	if (n < 0 || (size_t)n >= sizeof(filled)) {
		config_errors_add(errors, "%s: longer than %d bytes", key->path,
		    PATH_BYTES - 1);
		return -EINVAL;
	}
	return judge_text(c, key, 0, filled, errors);
}

static int
empty(char **text)
{
	char *none = strdup("");

	if (none == NULL)
		return -ENOMEM;
	free(*text);
	*text = none;
	return 0;
}

int
config_name(struct config *c, const char *running, struct config_errors *errors)
{
	char name[NAME_BYTES];
	int err = 0, one;

	if (*c->instance == '\0' && running != NULL)
		err = config_set(c, "instance", running, errors);
	if (*c->instance == '\0' && c->listeners > 0) {
		name_of_listener(&c->listen[0], name);
		err = config_set(c, "instance", name, errors);
	}
	if (!lasts(c->instance) && strstr(c->slow.store, INSTANCE) != NULL)
		err = empty(&c->slow.store);
	for (unsigned k = 0; err != -ENOMEM && k < config_keys_count; k++) {
		const struct config_key *key = &config_keys[k];

		if (key_of_server(key) ||
		    (key->type != KEY_PATH && key->type != KEY_SERVE))
			continue;
		do
			one = fill_in(c, key, errors);
		while (one == 0);
		if (one < 0)
			err = one;
	}
	return err;
}
