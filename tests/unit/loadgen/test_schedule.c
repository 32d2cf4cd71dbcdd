/* Goal: a seed gives the same schedule for ever, and a Poisson process;
 * arrivals come from a file as written there, or not at all. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "loadgen/send/plan.h"
#include "loadgen/stats/statistics.h"

#define N 20000

static int64_t offset_ns[N];
static int64_t other_ns[N];

/* Goal: schedules equal those of an independent program, to the ns. */
TEST(test_vectors)
{
	static const int64_t expected[] = {107785, 1400652, 1603947, 2981687,
	    4140526, 4409696, 5451338, 5698585};
	static const int64_t slow[] = {3282947, 9117290, 11948682, 17456329};

	schedule_fill(ARRIVALS_POISSON, 1000, 2, offset_ns, 1000);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(offset_ns[i], expected[i]);
	assert_int_equal(offset_ns[999], 1046601340);
	/* All 1000 gaps at once: FNV-1a over them, one step a gap. */
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < 1000; i++) {
		int64_t gap_ns = offset_ns[i] - (i > 0 ? offset_ns[i - 1] : 0);
		hash = (hash ^ (uint64_t)gap_ns) * UINT64_C(0x100000001b3);
	}
	assert_true(hash == UINT64_C(0xa9f56152b994ccf5));
	schedule_fill(ARRIVALS_POISSON, 250, UINT64_MAX, offset_ns, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(offset_ns[i], slow[i]);
}

/* The Kolmogorov-Smirnov distance of sorted gaps from an exponential
   distribution. */
static double
ks_exponential(const int64_t *sorted_ns, size_t n, double mean_ns)
{
	double distance = 0;

	for (size_t i = 0; i < n; i++) {
		double f = -expm1(-(double)sorted_ns[i] / mean_ns);
		double under = f - (double)i / (double)n;
		double over = (double)(i + 1) / (double)n - f;
		distance = fmax(distance, fmax(under, over));
	}
	return distance;
}

/* What 5 % of truly exponential samples exceed. */
static double
ks_critical_5pct(size_t n)
{
	/* Stephens (1974): right to 1 % from n = 5 on. */
	double root = sqrt((double)n);

	return 1.358 / (root + 0.12 + 0.11 / root);
}

/* Goal: gaps follow the exponential law: 1 % test, many seeds. */
TEST(test_distribution)
{
	int refused = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		schedule_fill(ARRIVALS_POISSON, 1000, seed, offset_ns, 1000);
		for (size_t i = 999; i > 0; i--) {
			assert_true(offset_ns[i] >= offset_ns[i - 1]);
			offset_ns[i] -= offset_ns[i - 1];
		}
		array_sort_int64(offset_ns, 1000);
		if (ks_exponential(offset_ns, 1000, 1e6) >
		    ks_critical_5pct(1000))
			refused++;
	}
	/* 10 expected of 200; 2 .. 22 is beyond 3 deviations either way. */
	assert_in_range(refused, 2, 22);
}

/* Goal: equal gaps do not drift, at a rate that is no whole number of ns. */
TEST(test_uniform)
{
	schedule_fill(ARRIVALS_UNIFORM, 3000, 7, offset_ns, N);
	assert_int_equal(offset_ns[0], 333333);
	assert_int_equal(offset_ns[2999], 1000000000);
	assert_int_equal(offset_ns[17999], 6000000000);
}

/* Goal: seeds, iterations and warm-ups all give different schedules. */
TEST(test_seeds)
{
	uint64_t first = schedule_iteration_seed(1, 1);

	assert_int_equal(first, 2);
	schedule_fill(ARRIVALS_POISSON, 1000, first, offset_ns, 100);
	schedule_fill(ARRIVALS_POISSON, 1000, first, other_ns, 100);
	assert_memory_equal(offset_ns, other_ns, 100 * sizeof(offset_ns[0]));
	schedule_fill(ARRIVALS_POISSON, 1000, first + 1, other_ns, 100);
	assert_memory_not_equal(
	    offset_ns, other_ns, 100 * sizeof(offset_ns[0]));
	schedule_fill(
	    ARRIVALS_POISSON, 1000, schedule_warmup_seed(first), other_ns, 100);
	assert_memory_not_equal(
	    offset_ns, other_ns, 100 * sizeof(offset_ns[0]));
}

/* --- a file of arrivals ------------------------------------------------- */

static char path[] = "/tmp/tailor-trace-XXXXXX";
static int64_t *trace_ns;
static size_t n;
static char why[128];

static int
read_text(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(trace_ns);
	trace_ns = NULL;
	return trace_read(path, &trace_ns, &n, why, sizeof(why));
}

/* Goal: numbers, comments, paths behind a tab, line ends of either kind. */
TEST(test_trace)
{
	assert_int_equal(
	    read_text("# ms\n0\n0.5\t/a\n\n0.5\r\n12.000001\n1000"), 0);
	assert_int_equal(n, 5);
	assert_int_equal(trace_ns[0], 0);
	assert_int_equal(trace_ns[1], 500000);
	assert_int_equal(trace_ns[2], 500000);
	assert_int_equal(trace_ns[3], 12000001);
	assert_int_equal(trace_ns[4], 1000000000);
}

/* Goal: a wrong line is named, and nothing is returned. */
TEST(test_wrong_traces)
{
	static const char *const wrong[] = {"", "# nothing\n", "1\nx\n",
	    "2\n1\n", "-1\n", "1 /a\n", "1e3\n", "99999999999\n", "1\n\n2,5\n"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(read_text(wrong[i]), -EINVAL);
		assert_null(trace_ns);
		assert_non_null(strstr(why, path));
	}
	assert_non_null(strstr(why, ":3: "));
}

static int
set_up(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int
tear_down(void **state)
{
	(void)state;
	free(trace_ns);
	return unlink(path);
}

int
main(void)
{
	return unit_run(set_up, tear_down);
}
