/* Goal: percentiles of all requests are in the report beside those of the
 * accounts, which are a sample and may miss them; what is no table of latencies
 * is refused. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blame/report/report.h"

#define HEAD "route,from_ns,to_ns,unnamed,le_ns,requests\n"
#define ACCOUNTS                                           \
	"id,end_ns,total_ns,weight,route,server,in_flight" \
	",attempts,new_connection,kernel,work,gc\n"
#define MS 1000000ll

static struct blame_exact e;

static int
read_exact(const char *text)
{
	static char copy[20000];

	snprintf(copy, sizeof(copy), "%s", text);
	return blame_exact_read(&e, copy);
}

TEST(counts_are_percentiles)
{
	const struct blame_latency *l;

	assert_int_equal(read_exact(HEAD "GET /a,5,9,2,1000,970\n"
					 "GET /b,1,2,0,7,1\n\n"
					 "GET /a,5,9,2,80000000,30\n"),
	    0);
	l = blame_exact_of(&e, "GET /a");
	assert_non_null(l);
	assert_int_equal(l->latency.count, 1000);
	assert_int_equal(l->unnamed, 2);
	assert_int_equal(l->from_ns, 5);
	assert_int_equal(l->to_ns, 9);
	assert_int_equal(blame_exact_quantile(l, 0.5), 1003);
	assert_int_equal(blame_exact_quantile(l, 0.97), 1003);
	assert_int_equal(blame_exact_quantile(l, 0.971), 80000000);
	assert_int_equal(blame_exact_quantile(l, 1), 80000000);
	assert_null(blame_exact_of(&e, "GET /c"));
	blame_exact_fini(&e);
}

/* 20,000 requests, of which 300 took 80 ms; the accounts, one in a hundred,
 * have none of these. */
static char *
report(bool page, bool exact)
{
	struct blame_view v = {.resamples = 50};
	static char accounts[40000], latencies[500];
	size_t at = 0, length;
	char *text = NULL;
	struct json j;
	FILE *out;

	at += (size_t)snprintf(accounts, sizeof(accounts), "%s", ACCOUNTS);
	for (unsigned i = 0; i < 197; i++)
		at += (size_t)snprintf(accounts + at, sizeof(accounts) - at,
		    "%u,%lld,%lld,100,GET /a,s,1,1,0,1,%lld,0\n", i,
		    i * 100 * MS, MS + i, MS + i);
	snprintf(latencies, sizeof(latencies),
	    HEAD "GET /a,0,20000000000,0,%lld,19700\n"
		 "GET /a,0,20000000000,0,%lld,300\n",
	    MS, 80 * MS);
	assert_int_equal(blame_view_percentile(&v, NULL), 0);
	assert_int_equal(blame_rows_read(&v.rows, accounts, 0, 0), 0);
	if (exact)
		assert_int_equal(blame_exact_read(&v.exact, latencies), 0);
	if (page) {
		out = open_memstream(&text, &length);
		assert_int_equal(blame_page(&v, false, out), 0);
		fclose(out);
	} else {
		json_init(&j, false);
		assert_int_equal(blame_json(&v, &j), 0);
		assert_int_equal(json_take(&j, &text, &length), 0);
		json_fini(&j);
	}
	blame_exact_fini(&v.exact);
	blame_rows_fini(&v.rows);
	return text;
}

static long long
number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	assert_non_null(at);
	return atoll(at + strlen(key));
}

TEST(what_the_sample_misses_is_there)
{
	char *text = report(false, true);
	const char *exact = strstr(text, "\"exact\":");
	long long q_ns;

	assert_non_null(exact);
	/* The sample's p99, and that of all. */
	assert_true(number(exact + 8, "\"max_ns\":") >= 80 * MS);
	q_ns = number(exact, "\"q_ns\":");
	assert_true(q_ns >= 80 * MS && (double)q_ns <= 80 * MS * 1.008);
	assert_int_equal(number(exact, "\"requests\":"), 20000);
	assert_true(number(strchr(exact, '}'), "\"q_ns\":") < 2 * MS);
	free(text);

	text = report(true, true);
	assert_non_null(strstr(text, "All 20000 requests"));
	assert_non_null(strstr(text, "p99 of the accounts, which is "
				     "divided among causes below, is lower "
				     "than the p99 of all"));
	free(text);
}

TEST(without_them_it_says_so)
{
	char *text = report(false, false);

	assert_null(strstr(text, "\"exact\""));
	free(text);
	text = report(true, false);
	assert_non_null(strstr(text, "estimates from accounts"));
	free(text);
}

TEST(more_routes_than_places_are_counted)
{
	static char text[20000];
	size_t at;

	at = (size_t)snprintf(text, sizeof(text), "%s", HEAD);
	for (unsigned i = 0; i < BLAME_ROUTES + 6; i++)
		at += (size_t)snprintf(
		    text + at, sizeof(text) - at, "/%u,1,2,0,3,4\n", i);
	assert_int_equal(read_exact(text), 0);
	assert_int_equal(e.routes, BLAME_ROUTES);
	assert_int_equal(e.left_out, 6 * 4);
	blame_exact_fini(&e);
}

TEST(what_is_no_table_is_refused)
{
	static const char *const bad[] = {"", "\n", "no account yet\n",
	    HEAD "GET /a,1,2,0,3\n", HEAD "GET /a,1,2,0,3,4,5\n",
	    HEAD "GET /a,1,2,0,3,-4\n", HEAD "GET /a,1,2,0,3,x\n",
	    HEAD "GET /a,1,2,0,3,\n", HEAD "GET /a,1,2,0, 3,4\n",
	    HEAD "GET /a,1,2,0,99999999999999999999,4\n",
	    HEAD "GET /a,1,2,0,3,9007199254740993\n",
	    HEAD "GET /a,1,2,0,3,9007199254740992\nGET /a,1,2,0,3,1\n"};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_exact(bad[i]) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(e.routes, 0);
	}
	assert_int_equal(
	    read_exact(HEAD "a\033[2J,1,2,0,18446744073709551615,1\n"),
	    -EINVAL);
	assert_int_equal(
	    read_exact(HEAD "a\033[2J,1,2,0,9223372036854775807,1\n"), 0);
	assert_string_equal(e.route[0].name, "a?[2J");
	assert_int_equal(blame_exact_quantile(&e.route[0], 1), BLAME_TIME_MAX);
	blame_exact_fini(&e);
}

/* The sentences of a report, joined. */
static const char *
notes(const struct blame_report *r)
{
	static char all[2 * BLAME_CODES];
	struct blame_view v = {.p = 0.99, .name = "p99"};
	char one[BLAME_CODES];
	size_t n = 0;

	all[0] = '\0';
	for (unsigned at = 0; blame_view_note(&v, r, &at, one);)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s\n", one);
	return all;
}

/* Twice as narrow takes four times as long; of what is narrow, and of a tail
 * that is there, nothing is said. */
TEST(a_wide_interval_has_a_remedy)
{
	static struct blame_report r = {.resamples = 200,
	    .q_ns = 100 * MS,
	    .q = {80 * MS, 120 * MS},
	    .last_ns = 900 * 1000 * MS,
	    .beyond = 12,
	    .slower = 36};

	assert_int_equal(blame_view_wait_ns(&r), 2700 * 1000 * MS);
	assert_string_equal(notes(&r),
	    "The interval of p99 is 40 % of it. For 20 %, with as many "
	    "requests as now: wait another 45m, then --since 60m.\n"
	    "Of some 36 requests slower than p99 12 have accounts: "
	    "analysis.cpu bounds them.\n");
	r.q.low_ns = 100 * MS;
	r.beyond = 30;
	assert_int_equal(blame_view_wait_ns(&r), 0);
	assert_string_equal(notes(&r), "");
}
