/* completion.c: completion scripts, and the words that these get from the
 * running tailor.
 *
 * Clients choose paths and ids, and bash would expand "$(...)" in them: only
 * words of harmless characters are printed. */
#include <stdio.h>
#include <string.h>

#include "base/instant.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/field.h"
#include "tailorctl/find.h"
#include "tailorctl/samples.h"

#define HARMLESS                     \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._/:,~%+-"

/* Where an argument's words are: a member of each object in a list. */
static const struct word_source {
	const char *argument, *target, *list, *member;
} sources[] = {
    {"SERVER", "/servers", "servers", "name"},
    {"ID", "/slow?n=20", "slow", "id"},
    {"CODE", "/slow?n=20", "slow", "cause"},
    {"PATH", "/slow?n=20", "slow", "target"},
};

/* A word up to its query or labels. */
static void
print_word(const char *text)
{
	size_t n = strcspn(text, "?{");

	if (n > 0 && strspn(text, HARMLESS) >= n)
		printf("%.*s\n", (int)n, text);
}

/* Each once: the lists are short. */
static void
print_members(const cJSON *list, const char *member)
{
	const cJSON *one, *before;

	cJSON_ArrayForEach(one, list)
	{
		const char *text = field_text(one, member);

		cJSON_ArrayForEach(before, list)
		{
			const char *other = field_text(before, member);

			if (before == one || (text != NULL && other != NULL &&
						 strcmp(text, other) == 0))
				break;
		}
		if (before == one && text != NULL)
			print_word(text);
	}
}

static int
print_list(const struct ctl_options *options, const struct word_source *s)
{
	cJSON *tree = admin_json(options, s->target);

	if (tree == NULL)
		return STATUS_NO;
	print_members(field_list(tree, s->list), s->member);
	cJSON_Delete(tree);
	return STATUS_OK;
}

/* The names of counters. */
static int
print_samples(const struct ctl_options *options)
{
	char word[128], last[128] = "";
	struct http_response a;
	struct metric_sample s;
	const char *at;

	if (admin_request_ok(options, "GET", "/metrics", &a) < 0)
		return STATUS_NO;
	at = a.body;
	while (samples_next(&at, a.body + a.length, &s)) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(s.name, " {"),
		    s.name);
		if (strcmp(word, last) != 0 && !sample_is_part(&s))
			print_word(word);
		memcpy(last, word, sizeof(last));
	}
	http_response_fini(&a);
	return STATUS_OK;
}

int
command_completion(const struct ctl_options *options)
{
	struct ctl_options soon = *options;

	if (options_completion(options->argument))
		return STATUS_OK;
	if (soon.timeout_ns > NS_PER_S)
		soon.timeout_ns = NS_PER_S; /* a user waits for the next key */
	if (strcmp(options->argument, "WHICH") == 0) {
		find_print_names(&soon);
		return STATUS_OK;
	}
	if (strcmp(options->argument, "NAME") == 0)
		return print_samples(&soon);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		if (strcmp(options->argument, sources[i].argument) == 0)
			return print_list(&soon, &sources[i]);
	fprintf(stderr, "tailorctl: completion is for bash, zsh or fish\n");
	return STATUS_USAGE;
}
