/* Goal: p99 without pauses, and without the queue behind them, is what a server
 * without pauses has: a server with two CPUs and eight threads is simulated
 * with pauses and a lock that is held at times, and without the pauses. */
#include "tests/unit/unit.h"

#include <math.h>

#include "base/instant.h"
#include "tests/unit/blame/populations.h"

#define SECONDS 20
#define RATE 150 /* requests/s */
#define REQUESTS (2 * SECONDS * RATE)
#define THREADS 8
#define CPUS 2
#define STEP_MS 0.1
#define TURN 30 /* steps; then another thread has the CPU */

struct request {
	double begin_ms, left_ms;
	double lock_at_ms; /* of left_ms: then it needs the lock */
	int32_t in_flight;
	bool has_locked;
	double part_ms[P_CAUSES];
};

static struct request request[REQUESTS];

/* Random instants, every_s apart, at each of which it begins. */
struct hazard {
	double every_s, length_ms, begin_ms;
	uint64_t seed;
};

static bool
is_on(struct hazard *h, double now_ms)
{
	while (h->every_s > 0 && now_ms >= h->begin_ms + h->length_ms)
		h->begin_ms +=
		    h->every_s * 1000 * (0.5 + population_random(&h->seed));
	return h->every_s > 0 && now_ms >= h->begin_ms;
}

static size_t
requests_draw(uint64_t seed)
{
	double at_ms = 0;
	size_t n = 0;

	for (; n < REQUESTS && at_ms < SECONDS * 1000; n++) {
		double work = -log(1 - population_random(&seed));

		at_ms -= log(1 - population_random(&seed)) / RATE * 1000;
		request[n] = (struct request){.begin_ms = at_ms,
		    .left_ms = 1 + work,
		    .lock_at_ms = (1 + work) / 2};
	}
	return n;
}

/* One step of those that have a thread: two compute, in turns. */
static void
step(struct request **thread, unsigned n, bool held, unsigned long k)
{
	unsigned cpus = CPUS;

	for (unsigned i = 0; i < n; i++) {
		struct request *r = thread[(i + k / TURN) % n];

		r->has_locked |= !held && r->left_ms <= r->lock_at_ms;
		if (r->left_ms <= r->lock_at_ms && !r->has_locked) {
			r->part_ms[P_LOCK] += STEP_MS;
		} else if (cpus > 0) {
			r->part_ms[P_WORK] += STEP_MS;
			r->left_ms -= STEP_MS;
			cpus--;
		} else {
			r->part_ms[P_RUNQ] += STEP_MS;
		}
	}
}

/* Let them all pass. */
static void
simulate(size_t n, struct hazard pause, struct hazard lock)
{
	struct request *thread[THREADS];
	size_t arrived = 0, begun = 0;
	unsigned busy = 0;

	for (unsigned long k = 0; begun < n || busy > 0; k++) {
		double now_ms = (double)k * STEP_MS;
		bool held = is_on(&lock, now_ms),
		     paused = is_on(&pause, now_ms);
		unsigned left = 0;

		for (; arrived < n && request[arrived].begin_ms <= now_ms;
		     arrived++)
			request[arrived].in_flight =
			    (int32_t)(arrived - begun + busy);
		while (!paused && busy < THREADS && begun < arrived)
			thread[busy++] = &request[begun++];
		for (size_t i = begun; i < arrived; i++)
			request[i].part_ms[paused ? P_GC : P_QUEUE] += STEP_MS;
		for (unsigned i = 0; paused && i < busy; i++)
			thread[i]->part_ms[P_GC] += STEP_MS;
		if (!paused)
			step(thread, busy, held, k);
		for (unsigned i = 0; i < busy; i++)
			if (thread[i]->left_ms > 0)
				thread[left++] = thread[i];
		busy = left;
	}
}

static struct blame_set *
accounts_of(size_t n)
{
	struct blame_shape shape = {.cause = population_cause,
	    .causes = P_CAUSES,
	    .rows_max = REQUESTS};
	struct blame_set *s;

	assert_int_equal(blame_new(&s, &shape), 0);
	for (size_t i = 0; i < n; i++) {
		const struct request *r = &request[i];
		struct blame_account a = {
		    .id = i, .weight = 1, .in_flight = r->in_flight};
		int64_t part[P_CAUSES];

		for (unsigned c = 0; c < P_CAUSES; c++) {
			part[c] = llround(r->part_ms[c] * NS_PER_MS);
			a.total_ns += part[c];
		}
		a.end_ns = llround(r->begin_ms * NS_PER_MS) + a.total_ns;
		assert_int_equal(blame_add(s, &a, part, NULL), 0);
	}
	return s;
}

/* A run with pauses of that length, or without. */
static struct blame_set *
run(uint64_t seed, double pause_ms)
{
	struct hazard pause = {.every_s = pause_ms > 0,
	    .length_ms = pause_ms,
	    .begin_ms = 500,
	    .seed = seed};
	struct hazard lock = {
	    .every_s = 1.5, .length_ms = 25, .begin_ms = 700, .seed = ~seed};
	size_t n = requests_draw(seed + 1);

	simulate(n, pause, lock);
	return accounts_of(n);
}

/* How many of ten predictions are within 15 % or 1 ms. */
static unsigned
held(double pause_ms, bool queue)
{
	const double p = 0.99;
	unsigned n = 0;

	for (uint64_t seed = 0; seed < 10; seed++) {
		struct blame_set *with = run(seed, pause_ms);
		struct blame_set *without = run(seed, 0);
		int64_t q_ns = blame_quantile(without, p), predicted_ns;
		double least = fmax(0.15 * (double)q_ns, NS_PER_MS);

		assert_int_equal(
		    blame_without(with, 1 << P_GC, queue, &p, 1, &predicted_ns),
		    0);
		n += fabs((double)(predicted_ns - q_ns)) <= least;
		blame_free(&with);
		blame_free(&without);
	}
	return n;
}

/* They gather four requests: nothing much follows. */
TEST(after_short_pauses)
{
	assert_in_range(held(25, true), 9, 10);
	assert_in_range(held(25, false), 9, 10);
}

/* They gather eighteen, which then wait for threads, CPUs and the lock. */
TEST(after_long_pauses)
{
	assert_in_range(held(120, true), 9, 10);
	/* Of the same requests less the pauses alone too much is left. */
	assert_in_range(held(120, false), 0, 1);
}
