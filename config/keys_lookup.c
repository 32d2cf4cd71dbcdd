/* keys_lookup.c: look up keys, defaults and descriptions; see keys.h. */
#include "config/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/embed.h"
#include "config/config.h"

#define SERVER_PREFIX KEY_SERVERS "."

const struct config_key *
key_find(const char *path)
{
	for (unsigned i = 0; i < config_keys_count; i++)
		if (strcmp(config_keys[i].path, path) == 0)
			return &config_keys[i];
	return NULL;
}

bool
key_section_exists(const char *path)
{
	for (unsigned i = 0; i < key_sections_count; i++)
		if (strcmp(key_sections[i], path) == 0)
			return true;
	return false;
}

EMBED(keys_text, "config/keys.txt");

char *
key_text(const char *path, char out[KEY_TEXT_MAX])
{
	char heading[KEY_PATH_MAX + 4];
	const char *at;
	size_t n = 0;

	snprintf(heading, sizeof(heading), "\n%s\n\t",
	    *path != '\0' ? path : "(top)");
	at = strstr(keys_text, heading);
	at = at != NULL ? at + strlen(heading) : "";
	for (; *at != '\0' && n < KEY_TEXT_MAX - 3; at++) {
		if (*at == '\n' && at[1] != '\t')
			break;
		/* A sentence ends in two spaces. */
		if (*at == '\n' && at[-1] == '.')
			out[n++] = ' ';
		if (*at != '\t')
			out[n++] = *at == '\n' ? ' ' : *at;
	}
	out[n] = '\0';
	return out;
}

bool
key_member(unsigned k, const char *section, char name[KEY_PATH_MAX],
    char inner[KEY_PATH_MAX])
{
	size_t n = strlen(section);
	const char *path, *rest, *dot;

	if (k >= config_keys_count ||
	    strncmp(config_keys[k].path, section, n) != 0)
		return false;
	path = config_keys[k].path;
	rest = path + n;
	if (n > 0 && *rest++ != '.')
		return false;
	dot = strchr(rest, '.');
	snprintf(name, KEY_PATH_MAX, "%.*s", (int)strcspn(rest, ".["), rest);
	snprintf(inner, KEY_PATH_MAX, "%.*s",
	    dot != NULL ? (int)(dot - path) : 0, path);
	return true;
}

bool
key_of_server(const struct config_key *key)
{
	return strncmp(key->path, SERVER_PREFIX, strlen(SERVER_PREFIX)) == 0;
}

char *
key_path(const char *path, unsigned index, char out[KEY_PATH_MAX])
{
	const char *rest = strchr(path, ']');

	if (rest == NULL)
		snprintf(out, KEY_PATH_MAX, "%s", path);
	else
		snprintf(out, KEY_PATH_MAX, "servers[%u%s", index, rest);
	return out;
}

bool
key_split(const char *path, char out[KEY_PATH_MAX], unsigned *index)
{
	const char *open = path + strcspn(path, "[."), *rest = open;
	bool given = *open != '\0' && open[1] >= '0' && open[1] <= '9';

	if (given)
		rest = open + 2 + (*open == '[' && open[2] == ']');
	given = given && (*open == '[') == (rest == open + 3) &&
		(*rest == '.' || *rest == '\0');
	*index = given ? (unsigned)(open[1] - '0') : 0;
	if (given)
		snprintf(out, KEY_PATH_MAX, "%.*s[]%s", (int)(open - path),
		    path, rest);
	else
		snprintf(out, KEY_PATH_MAX, "%s", path);
	return given;
}

bool
key_takes_argument(
    const struct config_key *key, const struct key_choice *choice)
{
	return key->argument != NULL && choice[1].name == NULL;
}

enum quantity
key_quantity(const struct config_key *key)
{
	if (key->unit != NULL)
		return QUANTITY_DURATION;
	return key->type == KEY_BYTES ? QUANTITY_BYTES : QUANTITY_COUNT;
}

uint64_t
key_scale(const struct config_key *key)
{
	return key->unit == NULL ? 1 : unit_scale(QUANTITY_DURATION, key->unit);
}

/* --- defaults --------------------------------------------------------- */

char *
key_default(
    const struct config_key *key, unsigned index, char out[KEY_DEFAULT_MAX])
{
	const char *open = strstr(key->fallback, "{server}");

	if (open == NULL)
		snprintf(out, KEY_DEFAULT_MAX, "%s", key->fallback);
	else
		snprintf(out, KEY_DEFAULT_MAX, "%.*s%c%s",
		    (int)(open - key->fallback), key->fallback,
		    (char)('a' + index), open + strlen("{server}"));
	return out;
}
