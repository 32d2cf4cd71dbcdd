/*
 * suggest.c: see suggest.h.
 */
#include "config/suggest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 48
#define PATH_TEXT_MAX 160

static unsigned
smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
suggest_distance(const char *a, const char *b)
{
	/* The last three rows of the table: two back, one back, this one. */
	unsigned rows[3][WORD_MAX + 1];
	size_t m = strlen(a), n = strlen(b);

	if (m > WORD_MAX || n > WORD_MAX)
		return SUGGEST_FAR;
	for (unsigned k = 0; k <= n; k++)
		rows[0][k] = k;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *now = rows[i % 3];
		const unsigned *before = rows[(i + 2) % 3];
		const unsigned *earlier = rows[(i + 1) % 3];

		now[0] = i;
		for (unsigned k = 1; k <= n; k++) {
			now[k] = smaller(before[k], now[k - 1]) + 1;
			now[k] = smaller(
			    now[k], before[k - 1] + (a[i - 1] != b[k - 1]));
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1])
				now[k] = smaller(now[k], earlier[k - 2] + 1);
		}
	}
	return rows[m % 3][n];
}

/* A third of the letters may be wrong; more is another word. */
static bool
is_near(unsigned distance, const char *word)
{
	return distance <= (strlen(word) + 1) / 3;
}

/* Copy a path as it is looked up: "servers[0].x" as "servers[].x". */
static void
strip_index(const char *path, char *out, size_t size)
{
	const char *open = strchr(path, '[');
	const char *close = open != NULL ? strchr(open, ']') : NULL;

	if (close == NULL)
		snprintf(out, size, "%s", path);
	else
		snprintf(out, size, "%.*s[%s", (int)(open - path), path, close);
}

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
	unsigned distance = suggest_distance(word, last_name(known));

	if (!is_near(distance, word))
		return;
	/* A slip of the finger is likelier than a wrong section, unless the
	 * name fits there exactly. */
	distance *= 2;
	if (!same_section(path, known))
		distance += 1;
	if (best->path == NULL || distance < best->distance)
		*best = (struct candidate){known, distance};
}

bool
suggest_key(const char *path, char *out, size_t size)
{
	struct candidate best = {NULL, 0};
	char lookup[PATH_TEXT_MAX];
	const char *index = strchr(path, '[');

	strip_index(path, lookup, sizeof(lookup));
	for (unsigned i = 0; i < config_keys_count; i++)
		consider(&best, lookup, config_keys[i].path);
	/* Sections last: "" and "servers[]" are no names one writes. */
	for (unsigned i = 0; i < key_sections_count; i++)
		if (strpbrk(key_sections[i].path, "[") == NULL &&
		    *key_sections[i].path != '\0')
			consider(&best, lookup, key_sections[i].path);
	consider(&best, lookup, "servers");
	consider(&best, lookup, "servers[].launch");
	if (best.path == NULL)
		return false;
	if (index != NULL && index[1] >= '0' && index[1] <= '9' &&
	    strncmp(best.path, "servers[]", 9) == 0)
		snprintf(out, size, "servers[%c]%s", index[1], best.path + 9);
	else
		snprintf(out, size, "%s", best.path);
	return true;
}

const char *
suggest_choice(const struct key_choice *choices, const char *text)
{
	const char *best = NULL;
	unsigned least = SUGGEST_FAR;

	for (; choices->name != NULL; choices++) {
		unsigned distance = suggest_distance(text, choices->name);

		if (is_near(distance, text) && distance < least) {
			best = choices->name;
			least = distance;
		}
	}
	return best;
}
