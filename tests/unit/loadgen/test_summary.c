/* Goal: summaries equal what a naive reader of the samples computes. */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/random.h"
#include "loadgen/stats/findings.h"
#include "loadgen/stats/summary.h"
#include "loadgen/stats/verdict.h"

#define REQUESTS 500
#define ITERATIONS 20

static struct plan plan;
static struct criteria criteria;
static struct iteration it;
static struct summary s;
static uint64_t seed;

static void
begin(void)
{
	memset(&plan, 0, sizeof(plan));
	memset(&criteria, 0, sizeof(criteria));
	plan.rate_per_s = 1000;
	plan.requests = REQUESTS;
	plan.iterations = ITERATIONS;
	plan.warmup = 10;
	criteria.slow = 3;
	assert_int_equal(
	    percentiles_parse(&criteria.percentiles, "50,90,99,99.9"), 0);
	assert_int_equal(iteration_init(&it, &plan), 0);
	assert_int_equal(summary_open(&s, &plan, &criteria), 0);
	seed = 1;
}

static void
end(void)
{
	summary_close(&s);
	iteration_fini(&it);
}

/* An iteration in which all went well: service of 1 ms + n us, no lag. */
static void
simulate(unsigned index)
{
	iteration_plan(&it, &plan, index);
	it.begin = it.origin = (struct instant){1000000000};
	it.origin = instant_plus(it.begin, it.offset_ns[it.warmup - 1]);
	for (size_t i = 0; i < it.warmup + it.requests; i++) {
		struct request_sample *p = &it.samples[i];
		p->scheduled = instant_plus(it.begin, it.offset_ns[i]);
		p->send_begin = p->scheduled;
		p->send_end = instant_plus(p->send_begin, 1000);
		p->last = instant_plus(p->send_begin,
		    NS_PER_MS + (int64_t)(splitmix64(&seed) % 1000000));
		p->first = p->last;
		p->status = 200;
		p->outcome = OUTCOME_OK;
	}
	atomic_store(&it.progress.sent, it.requests);
}

/* Goal: random outcomes and lags: counts, identities, percentiles. */
TEST(test_against_naive)
{
	int64_t values[REQUESTS];

	begin();
	for (unsigned k = 1; k <= ITERATIONS; k++) {
		size_t errors = 0, ok = 0, late = 0;
		simulate(k);
		for (size_t i = 0; i < REQUESTS; i++) {
			struct request_sample *p = &iteration_measured(&it)[i];
			p->send_begin = instant_plus(p->scheduled,
			    (int64_t)(splitmix64(&seed) % 1100000));
			p->last = instant_plus(p->send_begin,
			    (int64_t)(splitmix64(&seed) % 5000000));
			if (splitmix64(&seed) % 10 == 0)
				p->outcome = OUTCOME_RESET;
			late += sample_lag_ns(p) > 1000000;
			if (p->outcome == OUTCOME_RESET) {
				errors++;
				continue;
			}
			assert_int_equal(sample_latency_ns(p),
			    sample_lag_ns(p) + sample_service_ns(p));
			values[ok++] = sample_latency_ns(p);
		}
		assert_int_equal(summary_add(&s, &it), 0);
		const struct iteration_summary *sum = &s.iterations[k - 1];
		const struct latency_summary *d = &sum->series[SERIES_LATENCY];
		array_sort_int64(values, ok);
		assert_int_equal(sum->sent, REQUESTS);
		assert_int_equal(sum->errors, errors);
		assert_int_equal(sum->outcomes[OUTCOME_RESET], errors);
		assert_int_equal(sum->status[200], ok);
		assert_int_equal(sum->lag_over_1ms, late);
		assert_int_equal(d->count, ok);
		assert_int_equal(d->min_ns, values[0]);
		assert_int_equal(d->max_ns, values[ok - 1]);
		assert_int_equal(
		    d->at_ns[2], values[quantile_rank(99, ok) - 1]);
		assert_int_equal(sum->series[SERIES_LAG].count, REQUESTS);
		assert_int_equal(sum->series[SERIES_SERVER].count, 0);
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(sum->slow.slowest[i].latency_ns,
			    values[ok - 1 - i]);
	}
	summary_finish(&s);
	assert_int_equal(s.pooled[SERIES_LATENCY].count + s.errors, s.sent);
	assert_int_equal(
	    s.pooled[SERIES_LATENCY].max_ns, s.slow.slowest[0].latency_ns);
	end();
}

/* Goal: medians take complete iterations only; the rank is the 10th of 20. */
TEST(test_medians)
{
	begin();
	for (unsigned k = 1; k <= ITERATIONS; k++) {
		simulate(k);
		/* the max of iteration k is k * 10 ms; the last is partial */
		struct request_sample *p = &iteration_measured(&it)[7];
		p->last = instant_plus(p->scheduled, NS_PER_MS * 10 * k);
		p->server_ns = 3 * NS_PER_MS;
		it.interrupted = k == ITERATIONS;
		assert_int_equal(summary_add(&s, &it), 0);
	}
	summary_finish(&s);
	struct median m = summary_median(&s, SERIES_LATENCY, STATISTIC_MAX, 0);
	assert_int_equal(s.complete, 19);
	assert_int_equal(m.count, 19);
	assert_int_equal(m.median_ns, 100 * NS_PER_MS);
	assert_int_equal(m.largest_ns, 190 * NS_PER_MS);
	assert_true(m.bounded);
	assert_int_equal(m.low_ns, 50 * NS_PER_MS);
	assert_int_equal(m.high_ns, 150 * NS_PER_MS);
	m = summary_median(&s, SERIES_GAP, STATISTIC_MAX, 0);
	assert_int_equal(m.median_ns, 97 * NS_PER_MS);
	m = summary_median(&s, SERIES_SERVER, STATISTIC_PERCENTILE, 99);
	assert_int_equal(m.median_ns, 3 * NS_PER_MS);
	assert_int_equal(summary_gap_at_p99(&s).count, 19);
	end();
}

static double
actual(const char *text)
{
	struct expectation e;
	double value = -1;

	assert_int_equal(expectation_parse(&e, text), 0);
	assert_true(summary_actual(&s, &e, &value));
	return value;
}

/* Goal: what each --fail expression looks at. */
TEST(test_actual)
{
	struct expectation e;
	double value;

	begin();
	for (unsigned k = 1; k <= 3; k++) {
		simulate(k);
		struct request_sample *first = iteration_measured(&it);
		first->last =
		    instant_plus(first->scheduled, NS_PER_MS * 50 * k);
		if (k == 2)
			first[1].outcome = OUTCOME_TIMEOUT;
		assert_int_equal(summary_add(&s, &it), 0);
	}
	summary_finish(&s);
	assert_true(fabs(actual("max<1s") - 150e6) < 1);
	assert_true(fabs(actual("worst.max<1s") - 150e6) < 1);
	assert_true(fabs(actual("errors<1") - 1) < 1e-9);
	assert_true(fabs(actual("errors<1%") - 100.0 / 1500) < 1e-9);
	assert_true(actual("worst.p99<1s") >= actual("p99<1s"));
	assert_true(fabs(actual("lag.max<1s")) < 1e-9);
	assert_true(fabs(actual("rate>1") - 1000) < 150);
	assert_int_equal(expectation_parse(&e, "server.p99<1s"), 0);
	assert_false(summary_actual(&s, &e, &value));
	end();
}

/* Goal: p99 with the failed counted as slowest, and when it is one of them. */
TEST(test_with_errors)
{
	int64_t p99_ns;

	begin();
	simulate(1);
	for (size_t i = 0; i < 5; i++)
		iteration_measured(&it)[i].outcome = OUTCOME_SHORT;
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	assert_true(summary_p99_with_errors(&s, &p99_ns));
	/* the 495th of 500 is the largest of 495 */
	assert_int_equal(p99_ns, s.pooled[SERIES_LATENCY].max_ns);
	end();
	begin();
	simulate(1);
	for (size_t i = 0; i < 6; i++)
		iteration_measured(&it)[i].outcome = OUTCOME_SHORT;
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	assert_false(summary_p99_with_errors(&s, &p99_ns));
	end();
}

/* Judge one simulated iteration, every nth of whose requests was sent late,
   and those after it not before it. */
static struct verdict
judge(size_t nth, int64_t late_ns)
{
	struct verdict v;

	begin();
	simulate(1);
	struct instant before = INSTANT_NONE;
	for (size_t i = 0; i < REQUESTS; i++) {
		struct request_sample *p = &iteration_measured(&it)[i];
		if ((i + 1) % nth == 0)
			p->send_begin = instant_plus(p->scheduled, late_ns);
		if (instant_before(p->send_begin, before))
			p->send_begin = before;
		before = p->send_begin;
		p->last = instant_plus(p->last, sample_lag_ns(p));
	}
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	verdict_reach(&v, &s);
	/* p50, p90, p99, p99.9 and max, of all and as medians */
	assert_int_equal(v.figure_count, 10);
	for (unsigned i = 0; i < v.figure_count; i++)
		assert_true(v.figures[i].least_ns <= v.figures[i].reported_ns);
	end();
	return v;
}

static enum trust
trust_at(const struct verdict *v, double percent)
{
	const struct figure *f = verdict_find(v, percent);

	assert_non_null(f);
	return f->trust;
}

/* Goal: 50 us, 5 % and a half are the limits of what a figure is worth. */
TEST(test_trust)
{
	static const struct {
		int64_t least_ns, reported_ns;
		enum trust trust;
	} cases[] = {
	    {0, 0, TRUST_GOOD},
	    {0, 49999, TRUST_GOOD},
	    {0, 50000, TRUST_DOUBTFUL},
	    {950001, 1000000, TRUST_GOOD},
	    {950000, 1000000, TRUST_WITHIN},
	    {9500001, 10000000, TRUST_GOOD},
	    {9500000, 10000000, TRUST_WITHIN},
	    {5000000, 10000000, TRUST_WITHIN},
	    {4999999, 10000000, TRUST_DOUBTFUL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
		    trust_of(cases[i].least_ns, cases[i].reported_ns),
		    cases[i].trust);
}

/* Goal: late requests cost the figures that they move, and no others. */
TEST(test_verdict)
{
	char text[FIGURE_TEXT_MAX];
	struct verdict v;
	unsigned last = 4; /* of the percentiles; then comes the max */

	v = judge(1, 0);
	assert_int_equal(v.level, VERDICT_GOOD);
	/* 1 in 10 was 83 us late: under 5 % of latencies of 1 to 2 ms */
	v = judge(10, 83000);
	assert_int_equal(v.level, VERDICT_GOOD);
	/* the last of 500 was 100 ms late: the max, which also is p99.9 */
	v = judge(REQUESTS, 100 * NS_PER_MS);
	assert_int_equal(v.level, VERDICT_DOUBTFUL);
	assert_int_equal(trust_at(&v, 50), TRUST_GOOD);
	assert_int_equal(trust_at(&v, 99), TRUST_GOOD);
	assert_int_equal(trust_at(&v, 99.9), TRUST_DOUBTFUL);
	assert_int_equal(trust_at(&v, 100), TRUST_DOUBTFUL);
	assert_non_null(verdict_reason(&v, &criteria.percentiles, &last, text));
	assert_non_null(strstr(text, "max doubtful"));
	/* 1 in 25 was 0.5 ms late: p50 is good, the tail lies between */
	v = judge(25, 500000);
	assert_int_equal(v.level, VERDICT_APPROXIMATE);
	assert_int_equal(trust_at(&v, 50), TRUST_GOOD);
	assert_int_equal(trust_at(&v, 99), TRUST_WITHIN);
	/* 1 in 100 was 30 ms late, and 30 after it: p99 is the generator's */
	v = judge(100, 30 * NS_PER_MS);
	assert_int_equal(trust_at(&v, 99), TRUST_DOUBTFUL);
	assert_int_equal(v.level, VERDICT_BAD);
}

/* One worker that serves what has arrived in order: when each is over. */
static void
serve(const int64_t *work_ns, struct instant *over, bool on_time)
{
	struct instant idle = INSTANT_NONE;

	for (size_t i = 0; i < it.warmup + it.requests; i++) {
		const struct request_sample *p = &it.samples[i];
		struct instant at = on_time ? p->scheduled : p->send_begin;
		if (instant_before(idle, at))
			idle = at;
		over[i] = idle = instant_plus(idle, work_ns[i]);
	}
}

/* Send late as a sender that stands still now and then: it catches up. */
static void
send_late(size_t stalls)
{
	size_t n = it.warmup + it.requests;
	struct instant free_at = INSTANT_NONE;

	for (size_t i = 0; i < n; i++) {
		struct request_sample *p = &it.samples[i];
		p->send_begin = instant_plus(
		    p->scheduled, (int64_t)(splitmix64(&seed) % 90000));
		if (instant_before(p->send_begin, free_at))
			p->send_begin = free_at;
		free_at = instant_plus(p->send_begin, 8000);
		if (splitmix64(&seed) % n < stalls)
			free_at = instant_plus(free_at,
			    (int64_t)(splitmix64(&seed) % 12) * NS_PER_MS);
	}
}

/*
 * Goal: what a perfect generator would have reported lies between the two,
 * for each percentile, to 5 % or 50 us, whatever the sender did.  The service
 * time alone is no bound: requests sent together after a stall wait for each
 * other.
 */
TEST(test_bounds)
{
	static const double at[] = {50, 90, 99, 99.9, 100};
	int64_t work_ns[REQUESTS + 10], truth_ns[REQUESTS];
	struct instant perfect[REQUESTS + 10], over[REQUESTS + 10];
	unsigned service_wrong = 0;

	for (unsigned round = 0; round < 40; round++) {
		begin();
		simulate(round + 1);
		send_late(round % 4);
		for (size_t i = 0; i < REQUESTS + 10; i++)
			work_ns[i] =
			    100000 + (int64_t)(splitmix64(&seed) %
					       (200000 + 800000 * (round % 2)));
		serve(work_ns, perfect, true);
		serve(work_ns, over, false);
		for (size_t i = 0; i < REQUESTS + 10; i++)
			it.samples[i].last = over[i];
		for (size_t i = 0; i < REQUESTS; i++)
			truth_ns[i] = instant_since(perfect[10 + i],
			    iteration_measured(&it)[i].scheduled);
		array_sort_int64(truth_ns, REQUESTS);
		assert_int_equal(summary_add(&s, &it), 0);
		summary_finish(&s);
		for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
			size_t rank = quantile_rank(at[k], REQUESTS) - 1;
			int64_t true_ns = truth_ns[rank];
			/* as fine as good is */
			int64_t fine_ns =
			    true_ns > NS_PER_MS ? true_ns / 20 : 50000;
			assert_true(s.pool[SERIES_LEAST].values[rank] <=
				    true_ns + fine_ns);
			assert_true(
			    s.pool[SERIES_LATENCY].values[rank] >= true_ns);
			service_wrong += s.pool[SERIES_SERVICE].values[rank] >
					 true_ns + fine_ns;
		}
		end();
	}
	assert_true(service_wrong > 20);
}

/* Goal: requests without a response, or not sent, bound nothing; what waited
   to be read is the generator's. */
TEST(test_bounds_without_response)
{
	struct request_sample *p;

	begin();
	simulate(1);
	p = iteration_measured(&it);
	p[3].send_begin = instant_plus(p[3].scheduled, 5 * NS_PER_MS);
	p[3].outcome = OUTCOME_TIMEOUT;
	/* arrived 1.05 ms before it was read: 50 us of it is waking up */
	p[50].kernel_read = instant_plus(p[50].last, -1050000);
	p[60].kernel_read = instant_plus(p[60].last, -40000);
	p[REQUESTS - 2].outcome = OUTCOME_UNANSWERED;
	p[REQUESTS - 2].last = INSTANT_NONE;
	p[REQUESTS - 1] = (struct request_sample){.outcome = OUTCOME_UNSENT};
	it.interrupted = true;
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	assert_int_equal(s.pooled[SERIES_LEAST].count, REQUESTS - 3);
	assert_int_equal(s.pooled[SERIES_LATENCY].count, REQUESTS - 3);
	/* but what was sent after a late one may have waited for it */
	assert_true(p[4].generator_ns > 3 * NS_PER_MS);
	assert_true(p[100].generator_ns == 0);
	assert_int_equal(p[50].generator_ns, NS_PER_MS);
	assert_int_equal(p[60].generator_ns, 0);
	end();
}
