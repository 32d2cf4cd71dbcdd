/* Goal: run.json and what is made of it survive whoever wrote them. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "loadgen/report/page.h"
#include "loadgen/stats/run.h"

static char why[128];

static const char small[] =
    "{\"schema\":\"tailor.load.run/1\",\"started\":\"2026\","
    "\"target\":{\"url\":\"http://x/<b>&\\\"'\"},"
    "\"plan\":{\"arrivals\":\"poisson\",\"rate_per_s\":1000,\"seed\":1,"
    "\"requests\":3},\"iterations\":[{\"index\":1,\"seed\":2,\"sent\":3,"
    "\"ok\":2,\"latency\":{\"count\":2,\"p50_ns\":1000000,"
    "\"p99_ns\":9000000,\"p999_ns\":9000000,\"max_ns\":9000000,"
    "\"mean_ns\":5000000},\"slowest\":[{\"iteration\":1,\"seq\":2,"
    "\"id\":\"<script>\",\"latency_ns\":9000000,\"lag_ns\":5,"
    "\"verdict\":\"gc\",\"text\":\"</svg><img src=x>\","
    "\"timeline\":\"slow/01-0002.html\"},{\"iteration\":1,\"seq\":1,"
    "\"id\":\"a\",\"latency_ns\":1000000,\"lag_ns\":0,"
    "\"timeline\":\"slow/../../etc/passwd\"}]}],"
    "\"summary\":{\"p99\":{\"median_ns\":9000000}},"
    "\"generator\":{\"verdict\":\"good\",\"reasons\":[\"<i>\"]},"
    "\"verdicts\":[{\"code\":\"gc\",\"count\":1,\"median_ns\":1000000,"
    "\"example\":\"<u>\"}]}";

/* Goal: what is in a run.json arrives; a bad link does not. */
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
	assert_int_equal(r.p99.median_ns, 9000000);
	assert_int_equal(r.p50.median_ns, -1);
	assert_int_equal(r.slow_count, 2);
	assert_string_equal(r.slow[0].page, "slow/01-0002.html");
	assert_string_equal(r.slow[1].page, "");
	run_close(&r);
}

static char *
page_of(const struct run *r, const struct points *points)
{
	char *text;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	assert_int_equal(page_write(f, r, points), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* Goal: no text of a run.json becomes markup in the page. */
TEST(test_page_escapes)
{
	struct point all[] = {
	    {1, 1, 0, 1000000}, {1, 2, 1000, 9000000}, {1, 3, 2000, -1}};
	struct points points = {.all = all, .count = 3};
	struct run r;

	assert_int_equal(
	    run_parse(&r, small, strlen(small), why, sizeof(why)), 0);
	char *page = page_of(&r, &points);
	assert_non_null(strstr(page, "http://x/&lt;b&gt;&amp;&quot;&#39;"));
	assert_null(strstr(page, "<script"));
	assert_null(strstr(page, "<img"));
	assert_null(strstr(page, "<i>"));
	assert_null(strstr(page, "<u>"));
	assert_null(strstr(page, "passwd"));
	assert_non_null(strstr(page, "<a href=\"slow/01-0002.html\">"));
	assert_non_null(strstr(page, "default-src 'none'"));
	free(page);
	run_close(&r);
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

/* Goal: damaged files are refused or drawn, and never crash (with ASan). */
TEST(test_damaged)
{
	static const char *const spoil[] = {"-1", "1e999", "\"x\"", "[]", "{}",
	    "null", "99999999999999999999", "0", "15000000000", "-1e300"};
	size_t kinds = sizeof(spoil) / sizeof(spoil[0]);
	struct points none = {0};
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
		free(page_of(&r, &none));
		run_close(&r);
	}
}
