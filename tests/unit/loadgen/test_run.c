/* Goal: run.json survives whoever wrote it; the page, what others say. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "loadgen/report/page.h"
#include "loadgen/stats/compare.h"
#include "loadgen/stats/run.h"

static char why[128];

static const char small[] =
    "{\"schema\":\"tailor.load.run/1\",\"started\":\"2026\","
    "\"target\":{\"url\":\"http://x/<b>&\\\"'\"},"
    "\"plan\":{\"arrivals\":\"poisson\",\"rate_per_s\":1000,\"seed\":1,"
    "\"requests\":3},\"iterations\":[{\"index\":1,\"seed\":2,\"sent\":3,"
    "\"ok\":2,\"latency\":{\"count\":2,\"p50_ns\":1000000,"
    "\"p99_ns\":9000000,\"p999_ns\":9000000,\"max_ns\":9000000,"
    "\"mean_ns\":5000000}}],"
    "\"generator\":{\"verdict\":\"good\",\"reasons\":[\"<i>\"]},"
    "\"verdicts\":[{\"code\":\"gc\",\"count\":1,\"median_ns\":1000000,"
    "\"example\":\"<u>\"}]}";

/* Goal: what is in a run.json arrives. */
TEST(test_parse)
{
	struct run r;

	assert_int_equal(
	    run_parse(&r, small, strlen(small), why, sizeof(why)), 0);
	assert_int_equal(r.count, 1);
	assert_int_equal(r.iterations[0].max_ns, 9000000);
	assert_int_equal(r.percentiles.count, 3);
	assert_true(r.percentiles.at[2] > 99.89 && r.percentiles.at[2] < 99.91);
	assert_int_equal(r.iterations[0].at_ns[0], 1000000);
	run_close(&r);
}

static struct plan plan = {
    .requests = 3, .iterations = 1, .rate_per_s = 1000, .method = "GET"};
static struct criteria criteria = {.slow = 2};
static const struct output_options options = {.out_dir = "d"};

/* A finished report of three requests to a server with such a URL, of which one
 * failed and one, the slowest, was explained in such words. */
static void
report_make(struct report *r, const char *url, const char *words)
{
	struct finding f = {
	    .iteration = 1, .number = 2, .page = "slow/01-0002.html"};

	memset(r, 0, sizeof(*r));
	r->options = &options;
	r->target.url = url;
	r->texts.method = "GET";
	request_ids_init(&r->texts.ids, 1, &plan);
	(void)percentiles_parse(&criteria.percentiles, "50,99");
	assert_int_equal(summary_open(&r->summary, &plan, &criteria), 0);
	assert_int_equal(iteration_init(&r->iteration, &plan), 0);
	iteration_plan(&r->iteration, &plan, 1);
	r->epoch = (struct instant){NS_PER_S};
	for (size_t i = 0; i < 3; i++) {
		struct sample *s = &r->iteration.samples[i];
		s->scheduled = s->send_begin =
		    instant_plus(r->epoch, (int64_t)i * 1000);
		s->last =
		    instant_plus(s->scheduled, i == 1 ? 9000000 : 1000000);
		s->outcome = i == 2 ? OUTCOME_RESET : OUTCOME_OK;
	}
	assert_int_equal(summary_add(&r->summary, &r->iteration), 0);
	(void)snprintf(f.code, sizeof(f.code), "%s", words);
	(void)snprintf(f.text, sizeof(f.text), "%s", words);
	assert_int_equal(findings_add(&r->findings, &f), 0);
	assert_int_equal(report_requests(r), 0);
	summary_finish(&r->summary);
	verdict_reach(&r->verdict, &r->summary);
}

/* Goal: no text of others becomes markup in the page. */
TEST(test_page_escapes)
{
	struct report r;
	char *page;
	size_t length;
	FILE *f = open_memstream(&page, &length);

	assert_non_null(f);
	report_make(&r, "http://x/<b>&\"'", "</svg><script><img src=x>");
	assert_int_equal(page_write(f, &r), 0);
	assert_int_equal(fclose(f), 0);
	assert_non_null(strstr(page, "http://x/&lt;b&gt;&amp;&quot;&#39;"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<img"));
	assert_non_null(strstr(page, "<a href=\"slow/01-0002.html\">"));
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_non_null(strstr(page, "slowest <b>9.00ms</b>"));
	assert_non_null(strstr(page, "1 of 3 failed"));
	free(page);
	findings_fini(&r.findings);
	summary_close(&r.summary);
	iteration_fini(&r.iteration);
	free(r.points.all);
}

/* Goal: other things are refused with a reason. */
TEST(test_refused)
{
	static const char *const wrong[] = {"", "{", "[]", "null", "{}",
	    "{\"schema\":\"tailor.load.run/2\",\"iterations\":[]}",
	    "{\"schema\":\"tailor.load.run/1\"}",
	    "{\"schema\":7,\"iterations\":[]}"};
	struct run r;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(
		    run_parse(&r, wrong[i], strlen(wrong[i]), why, sizeof(why)),
		    -EPROTO);
}

/* Goal: damaged files are refused or compared, and never crash (with ASan). */
TEST(test_damaged)
{
	static const char *const spoil[] = {"-1", "1e999", "\"x\"", "[]", "{}",
	    "null", "99999999999999999999", "0", "15000000000", "-1e300"};
	size_t kinds = sizeof(spoil) / sizeof(spoil[0]);
	struct comparison c;
	struct prng p;
	char text[sizeof(small) + 64];

	prng_init(&p, 7);
	for (unsigned trial = 0; trial < 3000; trial++) {
		/* Replace one number, or one byte, by something else. */
		size_t at = prng_next(&p) % strlen(small);
		const char *other = spoil[prng_next(&p) % kinds];
		struct run r;
		size_t digits;

		while (at > 0 && small[at - 1] != ':')
			at--;
		digits = strspn(small + at, "0123456789");
		if (digits == 0)
			digits = 1;
		(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)at, small,
		    other, small + at + digits);
		if (run_parse(&r, text, strlen(text), why, sizeof(why)) < 0)
			continue;
		(void)compare_runs(&r, &r, &c);
		run_close(&r);
	}
}
