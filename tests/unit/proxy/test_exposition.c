/*
 * test_exposition.c: metrics' text against what snprintf makes of the same.
 */
#include "proxy/admin/exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "base/instant.h"
#include "proxy/stats/metrics.h"

static void
assert_text(struct exposition *e, const char *expected)
{
	assert_false(e->text.failed);
	assert_int_equal(e->text.length, strlen(expected));
	assert_memory_equal(e->text.at, expected, e->text.length);
	e->text.length = 0;
}

TEST(test_seconds)
{
	/* goal: nanoseconds as decimal seconds, exactly, shortest form */
	char out[EXPOSITION_SECONDS], expected[64];

	for (unsigned i = 0; i < 100000; i++) {
		uint64_t ns = i < 2 ? i * UINT64_MAX
				    : unit_draw(UINT64_MAX) >> unit_draw(64);
		size_t n = exposition_seconds(ns, out), end;

		if (i % 2 == 0)
			n = exposition_seconds(
			    ns = ns / NS_PER_MS * NS_PER_MS, out);
		end = (size_t)snprintf(expected, sizeof(expected),
		    "%" PRIu64 ".%09" PRIu64, ns / NS_PER_S, ns % NS_PER_S);
		while (expected[end - 1] == '0' && expected[end - 2] != '.')
			expected[--end] = '\0';
		assert_string_equal(out, expected);
		assert_int_equal(n, end);
	}
}

TEST(test_every_family_is_described)
{
	/* goal: each has a meaning; several lines become one */
	struct exposition e;

	exposition_init(&e, false);
#define METRICS_X(field, name, label, value)        \
	exposition_family(&e, name);                \
	e.text.at[e.text.length] = '\0';            \
	assert_null(strstr(e.text.at, " untyped")); \
	e.text.length = 0;
	METRICS_COUNTERS(METRICS_X)
#undef METRICS_X
	exposition_family(&e, "tailor_hedge_response_mismatch_total");
	assert_text(&e,
	    "# HELP tailor_hedge_response_mismatch_total Of those, different "
	    "ones, by the first part that differed: status, length or body.  "
	    "Servers may be out of step.\n"
	    "# TYPE tailor_hedge_response_mismatch_total counter\n");
	exposition_fini(&e);
}

#define SWAPS "Changes of the active server.\n"
#define SWAPS_MOST "tailor_swaps_total 18446744073709551615\n"

TEST(test_samples)
{
	/* goal: labels, none, one or two; a counter's family by format */
	struct exposition e;

	for (int open = 0; open < 2; open++) {
		exposition_init(&e, open == 1);
		exposition_counter(&e, "tailor_swaps_total", UINT64_MAX);
		assert_text(&e,
		    open ? "# HELP tailor_swaps " SWAPS
			   "# TYPE tailor_swaps counter\n" SWAPS_MOST
			 : "# HELP tailor_swaps_total " SWAPS
			   "# TYPE tailor_swaps_total counter\n" SWAPS_MOST);
		e.name = "b";
		exposition_sample(&e, LABELS({"x", "y"}), 0);
		exposition_sample_ns(
		    &e, LABELS({"x", "y"}, {"z", "w"}), 1500000000);
		assert_text(&e, "b{x=\"y\"} 0\nb{x=\"y\",z=\"w\"} 1.5\n");
		/* A family before the last one; one that is not described. */
		exposition_gauge(&e, "tailor_channels", 0.25);
		exposition_gauge(&e, "h", -1);
		assert_text(&e, "# HELP tailor_channels Open channels.\n"
				"# TYPE tailor_channels gauge\n"
				"tailor_channels 0.25\n"
				"# HELP h\n# TYPE h untyped\nh -1\n");
		exposition_end(&e);
		assert_text(&e, open ? "# EOF\n" : "");
		exposition_fini(&e);
	}
}

/* What the histogram's text must be, the slow way. */
static char *
naive(const struct distribution *d, const char *labels)
{
	char *text = NULL, edge[EXPOSITION_SECONDS];
	size_t size = 0;
	uint64_t sum = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	for (unsigned i = 0; i <= d->edges; i++) {
		sum += d->count[i];
		if (i < d->edges)
			exposition_seconds(d->edge[i], edge);
		fprintf(f, "h_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", labels,
		    *labels != '\0' ? "," : "", i < d->edges ? edge : "+Inf",
		    sum);
	}
	exposition_seconds(d->sum, edge);
	fprintf(f, "h_sum%s%s%s %s\nh_count%s%s%s %" PRIu64 "\n",
	    *labels != '\0' ? "{" : "", labels, *labels != '\0' ? "}" : "",
	    edge, *labels != '\0' ? "{" : "", labels,
	    *labels != '\0' ? "}" : "", d->total);
	assert_int_equal(fclose(f), 0);
	return text;
}

TEST(test_histograms)
{
	/* goal: buckets add up, with and without labels, also where the text
	 * has to grow in the middle of one */
	struct exposition e, many;
	struct distribution d;
	char *bare, *full;

	distribution_init_requests(&d);
	for (unsigned i = 0; i < 1000; i++)
		distribution_record(&d, (int64_t)unit_draw(30 * NS_PER_S));
	bare = naive(&d, "");
	full = naive(&d, "s=\"a\",k=\"b\"");
	exposition_init(&e, false);
	e.name = "h";
	exposition_histogram(&e, NULL, &d, NULL);
	assert_text(&e, bare);
	exposition_init(&many, false);
	many.name = "h";
	for (unsigned i = 0; i < 1000; i++) {
		size_t before = many.text.length;

		exposition_histogram(
		    &many, LABELS({"s", "a"}, {"k", "b"}), &d, NULL);
		assert_false(many.text.failed);
		assert_int_equal(many.text.length - before, strlen(full));
		assert_memory_equal(many.text.at + before, full, strlen(full));
	}
	assert_true(many.text.length > 512 << 10);
	exposition_fini(&many);
	exposition_fini(&e);
	free(bare);
	free(full);
}

TEST(test_exemplars)
{
	/* goal: they are on the bucket that they fell in, in OpenMetrics
	 * only */
	struct exemplar exemplar[DISTRIBUTION_EDGES + 1] = {{{0}, {0}, 0, 0}};
	struct distribution d;
	struct exposition e;
	unsigned at;

	distribution_init_requests(&d);
	at = distribution_record(&d, 3 * NS_PER_MS);
	strcpy(exemplar[at].id, "me");
	exemplar[at].value_ns = 3 * NS_PER_MS;
	exemplar[at].wall_ns = NS_PER_S;
	/* and has the trace's id, if the request had one */
	memset(exemplar[0].id, 'i', sizeof(exemplar[0].id) - 1);
	memset(exemplar[0].trace_id, 'a', sizeof(exemplar[0].trace_id) - 1);
	for (int open = 0; open < 2; open++) {
		char labels[129];

		exposition_init(&e, open == 1);
		e.name = "h";
		exposition_histogram(&e, NULL, &d, exemplar);
		text_put(&e.text, "", 1);
		assert_int_equal(
		    strstr(e.text.at, "\nh_bucket{le=\"0.005\"} 1 # "
				      "{request_id=\"me\"} 0.003 "
				      "1.000\n") != NULL,
		    open);
		assert_int_equal(strchr(e.text.at, '#') != NULL, open);
		snprintf(labels, sizeof(labels),
		    "{request_id=\"%s\",trace_id=\"%s\"} ", exemplar[0].id,
		    exemplar[0].trace_id);
		assert_int_equal(strstr(e.text.at, labels) != NULL, open);
		exposition_fini(&e);
	}
}
