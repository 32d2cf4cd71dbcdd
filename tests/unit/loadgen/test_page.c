/* Goal: the page survives what others say. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/report/report.h"

static struct plan plan = {
    .requests = 3, .iterations = 1, .rate_per_s = 1000, .method = "GET"};
static struct criteria criteria = {.slow = 2};
static const struct output_options options = {.out_dir = "d"};

/* A finished report of three requests to a server with such a URL, of which
 * one, the slowest, was explained in such words, and the last ended so. */
static void
report_make(
    struct report *r, const char *url, const char *words, enum outcome last)
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
		struct request_sample *s = &r->iteration.samples[i];
		s->scheduled = s->send_begin =
		    instant_plus(r->epoch, (int64_t)i * 1000);
		s->last =
		    instant_plus(s->scheduled, i == 1 ? 9000000 : 1000000);
		s->outcome = (uint8_t)(i == 2 ? last : OUTCOME_OK);
	}
	r->iteration.interrupted = last == OUTCOME_UNANSWERED;
	assert_int_equal(summary_add(&r->summary, &r->iteration), 0);
	(void)snprintf(f.code, sizeof(f.code), "%s", words);
	(void)snprintf(f.text, sizeof(f.text), "%s", words);
	assert_int_equal(findings_add(&r->findings, &f), 0);
	assert_int_equal(report_requests(r), 0);
	summary_finish(&r->summary);
	verdict_reach(&r->verdict, &r->summary);
}

/* Release the report; returns its page, the caller's to free. */
static char *
page_of(struct report *r)
{
	char *page;
	size_t length;
	FILE *f = open_memstream(&page, &length);

	assert_non_null(f);
	assert_int_equal(page_write(f, r), 0);
	assert_int_equal(fclose(f), 0);
	findings_fini(&r->findings);
	summary_close(&r->summary);
	iteration_fini(&r->iteration);
	free(r->points.all);
	return page;
}

/* Goal: no text of others becomes markup in the page. */
TEST(test_page_escapes)
{
	struct report r;
	char *page;

	report_make(
	    &r, "http://x/<b>&\"'", "</svg><script><img src=x>", OUTCOME_RESET);
	page = page_of(&r);
	assert_non_null(strstr(page, "http://x/&lt;b&gt;&amp;&quot;&#39;"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<img"));
	assert_non_null(strstr(page, "<a href=\"slow/01-0002.html\">"));
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_non_null(strstr(page, "slowest <b>9.00ms</b>"));
	assert_non_null(strstr(page, "1 of 3 failed"));
	assert_non_null(strstr(page, "<path class=\"failed\" d=\"M"));
	free(page);
}

/* Goal: a request that had no response when the run was interrupted has not
 * failed. */
TEST(test_page_of_an_interrupted_run)
{
	struct report r;
	char *page;

	report_make(&r, "http://x/", "gc", OUTCOME_UNANSWERED);
	page = page_of(&r);
	assert_non_null(strstr(page, "0 of 3 failed"));
	assert_non_null(strstr(page, "<td>0</td>"));
	assert_non_null(strstr(page, "<path class=\"failed\" d=\"\""));
	assert_null(strstr(page, "<path class=\"failed\" d=\"M"));
	free(page);
}
