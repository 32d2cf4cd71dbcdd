/* completion.c: completion scripts, and their words from the running tailor.
 *
 * Clients choose paths and ids, and bash would expand "$(...)" in them, so only
 * words of harmless characters are printed. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/instant.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "tailorctl/samples.h"

#define HARMLESS                     \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789._/:,~%+-"

/* The source of an argument's words: a member of each object in a list. */
static const struct word_source {
	const char *argument, *target, *list, *member;
} sources[] = {
    {"SERVER", "/servers", "servers", "name"},
    {"ID", "/slow?n=20", "slow", "id"},
    {"CODE", "/slow?n=20", "slow", "cause"},
    {"PATH", "/slow?n=20", "slow", "target"},
};

/* Print a word without query or labels, if it begins with typed. */
static void
print_word(const char *text, const char *typed)
{
	size_t n = strcspn(text, "?{");

	if (n > 0 && strspn(text, HARMLESS) >= n &&
	    strncmp(text, typed, strlen(typed)) == 0)
		printf("%.*s\n", (int)n, text);
}

/* Print each word once; the lists are short. */
static void
print_members(const cJSON *list, const char *member, const char *typed)
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
			print_word(text, typed);
	}
}

static void
print_list(const struct ctl_options *options, const struct word_source *s,
    const char *typed)
{
	cJSON *tree = admin_json(options, s->target);

	print_members(field_list(tree, s->list), s->member, typed);
	cJSON_Delete(tree);
}

/* Print the names of metrics. */
static void
print_samples(const struct ctl_options *options, const char *typed)
{
	char word[128], last[128] = "";
	struct http_response a;
	struct metric_sample s;
	const char *at;

	if (admin_request_ok(options, "GET", "/metrics", &a) < 0)
		return;
	at = a.body;
	while (samples_next(&at, a.body + a.length, &s)) {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(s.name, " {"),
		    s.name);
		if (strcmp(word, last) != 0 && !sample_is_part(&s))
			print_word(word, typed);
		memcpy(last, word, sizeof(last));
	}
	http_response_fini(&a);
}

void
completion_words(const char *what, const char *selected, const char *typed)
{
	/* A short timeout, as the user waits at the shell. */
	const struct ctl_options o = {
	    .admin = selected, .timeout_ns = NS_PER_S};

	if (strcmp(what, "WHICH") == 0)
		find_print_names(&o, typed);
	if (strcmp(what, "JOB") == 0)
		borrow_print_jobs(typed);
	if (strcmp(what, "NAME") == 0)
		print_samples(&o, typed);
	for (size_t i = 0; i < COUNT(sources); i++)
		if (strcmp(what, sources[i].argument) == 0)
			print_list(&o, &sources[i], typed);
}

int
command_completion(const struct ctl_options *options)
{
	if (options_completion(options->argument))
		return STATUS_OK;
	fprintf(stderr, "tailorctl: completion is for bash, zsh or fish\n");
	return STATUS_USAGE;
}
