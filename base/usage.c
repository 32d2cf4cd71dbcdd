#include "base/usage.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"

#define OPTION_TEXT_MAX 64
#define CASE ('a' ^ 'A')

static const struct option *
option_of(const struct option *longs, int code)
{
	for (; longs->name != NULL; longs++)
		if (longs->val == code)
			return longs;
	return NULL;
}

/* List the options that begin with a word: "--cause or --chrome"; returns how
 * many. */
static unsigned
meant(const struct option *longs, const char *word, char *out, size_t size)
{
	unsigned count = 0;
	size_t n = 0;

	for (; longs->name != NULL; longs++) {
		if (strncmp(longs->name, word, strlen(word)) != 0 || n >= size)
			continue;
		n += (size_t)snprintf(out + n, size - n, "%s--%s",
		    count++ > 0 ? " or " : "", longs->name);
	}
	return count;
}

/* What other programs call an option: the first of these that this program
 * has. */
static const struct option *
synonym(const struct option *longs, const char *word)
{
	static const char *const others[][2] = {{"standby", "backup"},
	    {"upstream", "active"}, {"backend", "active"}, {"server", "active"},
	    {"target", "active"}, {"port", "listen"}, {"limit", "number"},
	    {"count", "number"}, {"lines", "number"}, {"last", "since"},
	    {"file", "config"}, {"order", "sort"}};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		for (const struct option *o = longs; o->name != NULL; o++)
			if (strcmp(others[i][0], word) == 0 &&
			    strcmp(others[i][1], o->name) == 0)
				return o;
	return NULL;
}

/* An unknown or ambiguous long option. */
static void
refuse_long(
    const struct option *longs, const char *given, char *out, size_t size)
{
	const struct option *same;
	struct nearest best = {NULL, 0};
	char word[OPTION_TEXT_MAX], several[2 * OPTION_TEXT_MAX];
	const char *name = given + strspn(given, "-");
	unsigned begun;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(name, "="), name);
	begun = meant(longs, word, several, sizeof(several));
	if (begun > 1) {
		snprintf(out, size, "--%s is ambiguous: %s?", word, several);
		return;
	}
	same = synonym(longs, word);
	if (same != NULL)
		best.word = same->name;
	else if (begun == 1)
		best.word = several + 2;
	else
		for (; longs->name != NULL; longs++)
			nearest_consider(&best, word, longs->name);
	if (best.word != NULL)
		snprintf(out, size, "unknown option --%s; did you mean --%s?",
		    word, best.word);
	else
		snprintf(out, size, "unknown option --%s", word);
}

/* The long option that is written with one dash, as "-listen"; NULL: none. */
static const char *
one_dash(const struct option *longs, const char *given)
{
	if (given == NULL || given[0] != '-' || given[1] == '-')
		return NULL;
	for (; longs->name != NULL; longs++)
		if (strlen(longs->name) == strcspn(given + 1, "=") &&
		    strncmp(longs->name, given + 1, strlen(longs->name)) == 0)
			return longs->name;
	return NULL;
}

const char *
usage_refusal(const struct option *longs, int code, char *const *argv,
    char *out, size_t size)
{
	const struct option *o = optopt != 0 ? option_of(longs, optopt) : NULL;
	/* Of a word of several letters the first is refused before its end. */
	const char *name =
	    one_dash(longs, argv[optind]) ?: one_dash(longs, argv[optind - 1]);

	if (optopt != 0 && code == '?' && name != NULL)
		snprintf(out, size, "unknown option -%s; did you mean --%s?",
		    name, name);
	else if (o != NULL && code == ':')
		snprintf(out, size, "option --%s needs an argument", o->name);
	else if (o != NULL && strncmp(argv[optind - 1], "--", 2) == 0)
		snprintf(out, size, "option --%s takes no argument", o->name);
	else if (o != NULL)
		snprintf(out, size, "unknown option -%c; did you mean --%s?",
		    optopt, o->name);
	else if (optopt != 0 && option_of(longs, optopt ^ CASE) != NULL)
		snprintf(out, size, "unknown option -%c; did you mean -%c?",
		    optopt, optopt ^ CASE);
	else if (optopt != 0)
		snprintf(out, size, "unknown option -%c", optopt);
	else
		refuse_long(longs, argv[optind - 1], out, size);
	return out;
}
