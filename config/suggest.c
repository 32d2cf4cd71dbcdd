#include "config/suggest.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

struct candidate {
	const char *path;
	unsigned distance;
};

static const char *
last_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL ? dot + 1 : path;
}

/* Whether both paths name members of the same section. */
static bool
same_section(const char *a, const char *b)
{
	size_t m = (size_t)(last_name(a) - a), n = (size_t)(last_name(b) - b);

	return m == n && strncmp(a, b, n) == 0;
}

static void
consider(struct candidate *best, const char *path, const char *known)
{
	const char *word = last_name(path);
	unsigned distance = nearest_distance(word, last_name(known));

	if (!nearest_is_slip(distance, word))
		return;
	/* A typing error is likelier than a wrong section, unless the name
	 * matches exactly. */
	distance *= 2;
	if (!same_section(path, known))
		distance += 1;
	if (best->path == NULL || distance < best->distance)
		*best = (struct candidate){known, distance};
}

bool
suggest_key(const char *path, char out[KEY_PATH_MAX])
{
	struct candidate best = {NULL, 0};
	char lookup[KEY_PATH_MAX];
	unsigned index;
	bool given = key_split(path, lookup, &index);

	for (unsigned i = 0; i < config_keys_count; i++)
		consider(&best, lookup, config_keys[i].path);
	/* Sections last; "" and "servers[]" are not written in files. */
	for (unsigned i = 0; i < key_sections_count; i++)
		if (strpbrk(key_sections[i].path, "[") == NULL &&
		    *key_sections[i].path != '\0')
			consider(&best, lookup, key_sections[i].path);
	consider(&best, lookup, "servers");
	consider(&best, lookup, "servers[].launch");
	if (best.path == NULL)
		return false;
	if (given)
		key_path(best.path, index, out);
	else
		snprintf(out, KEY_PATH_MAX, "%s", best.path);
	return true;
}

const char *
suggest_choice(const struct key_choice *choices, const char *text)
{
	struct nearest best = {NULL, 0};

	for (; choices->name != NULL; choices++)
		nearest_consider(&best, text, choices->name);
	return best.word;
}
