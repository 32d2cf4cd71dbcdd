/*
 * Goal: of each scenario (scenario.h) what it expects is said, and what Tailor
 * prints of its tale is explained as the tale was: it can be pasted.
 *
 *	test_scenarios [NAME]	those whose names match a pattern, as "gc*"
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/render/render.h"
#include "tests/unit/talechain/names_check.h"
#include "tests/unit/talechain/scenario.h"

static bool same(const cJSON *expected, const cJSON *got);

/* The verdict's lines of advice may be left out; a sum of a cause may not. */
static bool
same_members(const cJSON *expected, const cJSON *got)
{
	const cJSON *v;
	int members = 0;

	cJSON_ArrayForEach(v, expected)
	{
		if (!same(v, cJSON_GetObjectItemCaseSensitive(got, v->string)))
			return false;
		members++;
	}
	return members == cJSON_GetArraySize(got) ||
	       (expected->string != NULL &&
		   strcmp(expected->string, "verdict") == 0);
}

static bool
same(const cJSON *expected, const cJSON *got)
{
	if (got == NULL || expected->type != got->type)
		return false;
	if (cJSON_IsNumber(expected))
		return fabs(expected->valuedouble - got->valuedouble) <= 1e-9;
	if (cJSON_IsString(expected))
		return strcmp(expected->valuestring, got->valuestring) == 0;
	if (cJSON_IsObject(expected))
		return same_members(expected, got);
	if (cJSON_GetArraySize(expected) != cJSON_GetArraySize(got))
		return false;
	for (int i = 0; i < cJSON_GetArraySize(expected); i++)
		if (!same(cJSON_GetArrayItem(expected, i),
			cJSON_GetArrayItem(got, i)))
			return false;
	return true;
}

static bool
compare(const char *name, const cJSON *expected, const cJSON *got)
{
	const char *key = expected->string;
	char *text[2];

	got = cJSON_GetObjectItemCaseSensitive(got, key);
	if (same(expected, got))
		return true;
	text[0] = cJSON_Print(expected);
	text[1] = cJSON_Print(got);
	/* In full, as print_message() would not. */
	printf("%s: expected\n\"%s\": %s,\ngot\n\"%s\": %s,\n", name, key,
	    text[0], key, text[1] != NULL ? text[1] : "nothing");
	fflush(stdout);
	free(text[0]);
	free(text[1]);
	return false;
}

/* Whether all keys of a file that are not the tale itself are as expected. */
static bool
compare_all(const char *name, const cJSON *file, const cJSON *got)
{
	static const char tale[] =
	    " goal like like_lanes lossy origin t0 request attempts client "
	    "events ";
	bool equal = true;
	char key[64];
	const cJSON *v;

	cJSON_ArrayForEach(v, file)
	{
		snprintf(key, sizeof(key), " %s ", v->string);
		if (strstr(tale, key) == NULL)
			equal &= compare(name, v, got);
	}
	return equal;
}

/* The text of it, if there is a file of that name. */
static bool
compare_text(const char *name, const struct story *story)
{
	char path[256], *expected = NULL, *got;
	size_t size = 0, n;
	bool equal;
	FILE *f;

	snprintf(path, sizeof(path), SCENARIOS "%s.txt", name);
	f = fopen(path, "r");
	if (f == NULL)
		return true;
	assert_true(getdelim(&expected, &size, '\0', f) > 0);
	fclose(f);
	assert_int_equal(story_render_text(story, &got, &n), 0);
	equal = strcmp(expected, got) == 0;
	if (!equal)
		printf("%s: expected\n%sgot\n%s", path, expected, got);
	fflush(stdout);
	free(expected);
	free(got);
	return equal;
}

/* Slicing takes Tailor's receipt of a response twice (slice_outbound.c), and
 * what it joins or adds was not read after it happened. */
static void
events_tidy(const cJSON *tale)
{
	cJSON *events = cJSON_GetObjectItemCaseSensitive(tale, "events"), *v;
	cJSON *read, *at;

	for (v = events->child; v != NULL; v = v->next) {
		read = cJSON_GetObjectItemCaseSensitive(v, "read");
		at = cJSON_GetObjectItemCaseSensitive(v, "t");
		if (read->valuedouble < at->valuedouble)
			cJSON_SetNumberValue(read, at->valuedouble);
	}
}

/* What Tailor prints of a tale has all that explains it. */
static void
printed_again(const char *name, const struct scenario *s)
{
	struct scenario again;
	bool equal = true;
	cJSON *printed, *v;

	scenario_take(&again, scenario_render(s), 0);
	scenario_tell(&again);
	printed = scenario_render(&again);
	events_tidy(again.file);
	events_tidy(printed);
	cJSON_ArrayForEach(v, again.file) equal &= compare(name, v, printed);
	if (!equal)
		fail_msg("what Tailor prints of it is explained otherwise");
	cJSON_Delete(printed);
	scenario_close(&again);
}

static void
test_scenario(void **state)
{
	const char *name = *state;
	struct scenario s;
	cJSON *got;

	scenario_told(&s, name);
	got = scenario_render(&s);
	assert_non_null(cJSON_GetObjectItemCaseSensitive(s.file, "verdict"));
	if (!compare_all(name, s.file, got) || !compare_text(name, s.story))
		fail();
	names_check(name, s.story);
	if (cJSON_GetObjectItemCaseSensitive(s.file, "lossy") == NULL)
		printed_again(name, &s);
	cJSON_Delete(got);
	scenario_close(&s);
}

int
main(int argc, char **argv)
{
	struct CMUnitTest *test;
	struct dirent **file;
	int n = scenario_list(&file), failed;

	test = calloc((size_t)n, sizeof(*test));
	assert_non_null(test);
	for (int i = 0; i < n; i++)
		test[i] = (struct CMUnitTest){.name = file[i]->d_name,
		    .test_func = test_scenario,
		    .initial_state = file[i]->d_name};
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	failed =
	    _cmocka_run_group_tests("scenarios", test, (size_t)n, NULL, NULL);
	free(test);
	scenario_list_free(file, n);
	return failed;
}
