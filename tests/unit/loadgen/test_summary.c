/* Goal: summaries equal what a naive reader of the samples computes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/send/schedule.h"
#include "loadgen/stats/slow_list.h"
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
	criteria.slow_top = 3;
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
		struct sample *p = &it.samples[i];
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
static void
test_against_naive(void **state)
{
	int64_t values[REQUESTS];

	(void)state;
	begin();
	for (unsigned k = 1; k <= ITERATIONS; k++) {
		size_t errors = 0, ok = 0, late = 0;
		simulate(k);
		for (size_t i = 0; i < REQUESTS; i++) {
			struct sample *p = &iteration_measured(&it)[i];
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
		const struct distribution *d = &sum->series[SERIES_LATENCY];
		samples_sort(values, ok);
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
static void
test_medians(void **state)
{
	(void)state;
	begin();
	for (unsigned k = 1; k <= ITERATIONS; k++) {
		simulate(k);
		/* the max of iteration k is k * 10 ms; the last is partial */
		struct sample *p = &iteration_measured(&it)[7];
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
static void
test_actual(void **state)
{
	struct expectation e;
	double value;

	(void)state;
	begin();
	for (unsigned k = 1; k <= 3; k++) {
		simulate(k);
		struct sample *first = iteration_measured(&it);
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
static void
test_with_errors(void **state)
{
	int64_t p99_ns;

	(void)state;
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

/* Judge one simulated iteration, some of whose requests were sent late. */
static enum verdict_level
judge(size_t count, int64_t late_ns)
{
	struct verdict v;

	begin();
	simulate(1);
	for (size_t i = 0; i < count; i++) {
		struct sample *p = &iteration_measured(&it)[i * 5];
		p->send_begin = instant_plus(p->scheduled, late_ns);
		p->last = instant_plus(p->last, late_ns);
	}
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	verdict_reach(&v, &s);
	assert_int_equal(v.reason_count == 0, v.level == VERDICT_GOOD);
	end();
	return v.level;
}

/* Goal: good, doubtful and bad, each at its threshold. */
static void
test_verdict(void **state)
{
	(void)state;
	assert_int_equal(judge(0, 0), VERDICT_GOOD);
	/* p99 of lag is the 495th of 500: five may be late, six not */
	assert_int_equal(judge(5, 60000), VERDICT_GOOD);
	assert_int_equal(judge(6, 60000), VERDICT_DOUBTFUL);
	assert_int_equal(judge(6, 30000), VERDICT_GOOD);
	/* one of 500 is more than 0.1 % */
	assert_int_equal(judge(1, 1000001), VERDICT_BAD);
	/* listed, and mostly lag */
	assert_int_equal(judge(1, 100000000), VERDICT_BAD);
	assert_int_equal(judge(100, 900000), VERDICT_DOUBTFUL);
}

/* Goal: arrivals that sending has bunched are found; planned ones are not. */
static void
test_arrivals(void **state)
{
	struct verdict v;

	(void)state;
	begin();
	plan.requests = REQUESTS;
	simulate(1);
	assert_int_equal(summary_add(&s, &it), 0);
	assert_true(s.iterations[0].tested);
	assert_true(
	    fabs(s.iterations[0].ks - s.iterations[0].ks_schedule) < 1e-9);
	simulate(2);
	/* Sent in bunches, as by a timer of 1 ms. */
	for (size_t i = 0; i < REQUESTS; i++) {
		struct sample *p = &iteration_measured(&it)[i];
		p->send_begin.ns = (p->scheduled.ns / 1000000 + 1) * 1000000;
		p->last = instant_plus(p->send_begin, 20 * NS_PER_MS);
	}
	assert_int_equal(summary_add(&s, &it), 0);
	summary_finish(&s);
	verdict_reach(&v, &s);
	assert_int_equal(v.distorted, 1);
	assert_int_equal(v.tested, 2);
	end();
}

/* Goal: the K slowest of random streams, ties and short ones included. */
static void
test_slow_list(void **state)
{
	struct slow_list l;
	int64_t all[100];
	uint64_t random = 4;

	(void)state;
	for (int round = 0; round < 500; round++) {
		size_t n = splitmix64(&random) % 100;
		size_t k = splitmix64(&random) % 10;
		assert_int_equal(slow_list_init(&l, k), 0);
		for (size_t i = 0; i < n; i++) {
			all[i] = (int64_t)(splitmix64(&random) % 30);
			slow_list_offer(
			    &l, &(struct slow){.latency_ns = all[i]});
		}
		samples_sort(all, n);
		assert_int_equal(l.count, n < k ? n : k);
		for (size_t i = 0; i < l.count; i++)
			assert_int_equal(
			    l.slowest[i].latency_ns, all[n - 1 - i]);
		slow_list_fini(&l);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_against_naive),
	    cmocka_unit_test(test_medians),
	    cmocka_unit_test(test_actual),
	    cmocka_unit_test(test_with_errors),
	    cmocka_unit_test(test_verdict),
	    cmocka_unit_test(test_arrivals),
	    cmocka_unit_test(test_slow_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
