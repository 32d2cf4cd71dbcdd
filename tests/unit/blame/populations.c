#include "tests/unit/blame/populations.h"

#include "base/instant.h"
#include "base/random.h"

#include <assert.h>
#include <math.h>

const struct blame_cause population_cause[P_CAUSES] = {
    [P_WORK] = {"work", "computing", BLAME_BASE},
    [P_GC] = {"gc", "garbage collection", BLAME_HAZARD},
    [P_DISK] = {"disk", "waiting for disk", BLAME_HAZARD},
    [P_LOCK] = {"lock", "lock", BLAME_HAZARD},
    [P_RUNQ] = {"runq", "waiting for a CPU", BLAME_CPU},
    [P_FAULT] = {"fault", "page fault", BLAME_HAZARD},
    [P_QUEUE] = {"queue", "server's queue", BLAME_QUEUE},
    [P_UNKNOWN] = {"unknown", "not explained", BLAME_UNEXPLAINED},
};

const struct population population[POPULATIONS] = {
    {"one cause", .p = 0.99, .truth = {21.030, 20.014, 1.592},
	.work_sigma = 0.2, .watch = P_GC,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 1, .length_ms = 30}}},
    {"only both help", .p = 0.99, .truth = {60.464, 26.876, 54.379},
	.work_sigma = 0.2, .watch = P_GC,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 1, .length_ms = 60},
	    {SOURCE_EACH, P_DISK, .probability = 0.06, .length_ms = 40}}},
    {"either is enough", .p = 0.99, .truth = {11.078, 3.525, 1.721},
	.work_sigma = 0.2, .watch = P_DISK,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 2, .length_ms = 14},
	    {SOURCE_EACH, P_DISK, .probability = 0.008, .length_ms = 20}}},
    {"rarer than the tail", .p = 0.99, .truth = {2.656, 1.632, 1.000},
	.work_sigma = 0.4, .watch = P_WORK,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 4, .length_ms = 12}}},
    {"uneven computing", .p = 0.99, .truth = {13.602, 10.328, 1.000},
	.work_sigma = 1, .watch = P_WORK,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 5, .length_ms = 40}}},
    {"two routes", .p = 0.99, .truth = {40.082, 38.960, 2.310},
	.work_sigma = 0.3, .report = 0.02, .watch = P_WORK,
	.source = {{SOURCE_EACH, P_RUNQ, .probability = 0.08, .length_ms = 1}}},
    {"bursts", .p = 0.99, .truth = {14.683, 13.634, 2.010}, .work_sigma = 0.3,
	.watch = P_DISK,
	.source = {{SOURCE_BURST, P_DISK, .every_s = 2, .burst_s = 0.3,
	    .probability = 0.3, .length_ms = 10}}},
    {"drift", .p = 0.99, .truth = {21.865, 20.820, 2.009}, .work_sigma = 0.3,
	.watch = P_GC,
	.source = {{SOURCE_DRIFT, P_GC, .every_s = 1, .length_ms = 30}}},
    {"not all observed", .p = 0.99, .truth = {21.056, 16.019, 2.189},
	.work_sigma = 0.3, .blind = 0.2, .watch = P_GC,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 1, .length_ms = 30}}},
    {"sampled", .p = 0.99, .truth = {21.056, 20.012, 2.008}, .work_sigma = 0.3,
	.sampled = 0.05, .watch = P_GC,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 1, .length_ms = 30}}},
    {"causes that come together", .p = 0.99, .truth = {25.472, 3.948, 21.056},
	.work_sigma = 0.3, .fault_with_gc = 0.5, .watch = P_FAULT,
	.source = {{SOURCE_PAUSE, P_GC, .every_s = 1, .length_ms = 30}}},
    {"many small waits", .p = 0.99, .truth = {9.210, 7.989, 3.830},
	.work_sigma = 0.3, .watch = P_LOCK,
	.source = {{SOURCE_PAUSE, P_LOCK, .every_s = 0.7, .length_ms = 15},
	    {SOURCE_EACH, P_RUNQ, .probability = 0.08, .length_ms = 2}}},
};

double
population_random(uint64_t *seed)
{
	return random_unit(splitmix64(seed));
}

static double
exponential(uint64_t *seed)
{
	return -log(1 - population_random(seed));
}

static double
normal(uint64_t *seed)
{
	return sqrt(2 * exponential(seed)) *
	       cos(6.283185307179586 * population_random(seed));
}

/* What a source is doing. */
struct running {
	double begin_s, end_s; /* of the pause or burst, present or next */
	bool marked;
};

static void
source_turn(const struct source *src, struct running *r, double now_s,
    double whole_s, uint64_t *seed)
{
	while (r->end_s <= now_s) {
		double length =
		    src->length_ms / 1000 * (0.5 + population_random(seed));

		r->begin_s = r->end_s + exponential(seed) * src->every_s;
		if (src->kind == SOURCE_BURST)
			length = src->burst_s;
		if (src->kind == SOURCE_DRIFT)
			length *= 0.5 + r->begin_s / whole_s;
		r->end_s = r->begin_s + length;
		r->marked = population_random(seed) < 0.5;
	}
}

/* ms that it adds to a request that arrives now. */
static double
source_adds(const struct source *src, struct running *r, double now_s,
    double whole_s, uint64_t *seed)
{
	if (src->kind == SOURCE_EACH)
		return population_random(seed) < src->probability
			   ? src->length_ms * (0.5 + population_random(seed))
			   : 0;
	source_turn(src, r, now_s, whole_s, seed);
	if (now_s < r->begin_s)
		return 0;
	if (src->kind != SOURCE_BURST)
		return (r->end_s - now_s) * 1000;
	return population_random(seed) < src->probability
		   ? src->length_ms * exponential(seed)
		   : 0;
}

/* Stretches of 2 s are blind. */
static bool
is_blind(const struct population *p, double now_s, uint64_t seed)
{
	uint64_t stretch = seed ^ (uint64_t)(now_s / 2);

	return population_random(&stretch) < p->blind;
}

static void
request_fill(const struct population *p, struct running *running, double now_s,
    double whole_s, uint64_t *seed, double ms[P_CAUSES])
{
	ms[P_WORK] = exp(p->work_sigma * normal(seed));
	if (population_random(seed) < p->report)
		ms[P_WORK] = 30 + 20 * population_random(seed);
	for (unsigned k = 0; k < 3 && p->source[k].kind != SOURCE_NONE; k++)
		ms[p->source[k].cause] += source_adds(
		    &p->source[k], &running[k], now_s, whole_s, seed);
	if (running[0].marked)
		ms[P_FAULT] += p->fault_with_gc * ms[P_GC];
}

static void
request_add(struct blame_set *s, const struct population *p,
    struct blame_account *a, const double ms[P_CAUSES], bool blind,
    bool everything)
{
	int64_t cause_ns[P_CAUSES] = {0};
	uint64_t dice = ~a->id * 31;

	for (unsigned c = 0; c < P_CAUSES; c++) {
		unsigned to = blind && c != P_WORK ? P_UNKNOWN : c;

		cause_ns[to] += llround(ms[c] * 1e6);
		a->total_ns += llround(ms[c] * 1e6);
	}
	a->end_ns += a->total_ns;
	if (!everything && p->sampled > 0 && a->total_ns < 10 * NS_PER_MS) {
		if (population_random(&dice) >= p->sampled)
			return;
		a->weight = 1 / p->sampled;
	}
	assert(blame_add(s, a, cause_ns, NULL) == 0);
}

struct blame_set *
population_make(
    const struct population *p, size_t n, uint64_t seed, bool everything)
{
	struct blame_shape shape = {.cause = population_cause,
	    .causes = P_CAUSES,
	    .rows_max = n + 1000};
	double now_s = 0, whole_s = (double)n / POPULATION_PER_S;
	struct running running[3] = {0};
	uint64_t blind = splitmix64(&seed);
	struct blame_set *s;

	assert(blame_new(&s, &shape) == 0);
	for (size_t i = 0; i < n; i++) {
		struct blame_account a = {.id = i,
		    .weight = 1,
		    .seen = ~UINT64_C(0),
		    .in_flight = -1};
		double ms[P_CAUSES] = {0};

		now_s += exponential(&seed) / POPULATION_PER_S;
		a.end_ns = llround(now_s * 1e9);
		request_fill(p, running, now_s, whole_s, &seed, ms);
		request_add(s, p, &a, ms,
		    p->blind > 0 && is_blind(p, now_s, blind), everything);
	}
	return s;
}

#define OTHER_SEED 1000000
#define TRUTH_TIMES 20
#define TRUTH_REQUESTS 200000

struct population_truth
population_measure(const struct population *p)
{
	struct population_truth sum = {0};

	for (unsigned k = 0; k < TRUTH_TIMES; k++) {
		struct blame_set *s =
		    population_make(p, TRUTH_REQUESTS, 1000 + k, true);
		int64_t share[P_CAUSES], usual[P_CAUSES], without;

		blame_shares(s, p->p, share);
		blame_shares(s, 0.5, usual);
		assert(blame_without(s, UINT64_C(1) << p->watch, false, &p->p,
			   1, &without) == 0);
		sum.q += (double)blame_quantile(s, p->p) / 1e6 / TRUTH_TIMES;
		sum.excess += (double)(share[p->watch] - usual[p->watch]) /
			      1e6 / TRUTH_TIMES;
		sum.without += (double)without / 1e6 / TRUTH_TIMES;
		blame_free(&s);
	}
	return sum;
}

static bool
holds(struct blame_interval i, double truth_ms)
{
	return (double)i.low_ns <= truth_ms * 1e6 &&
	       truth_ms * 1e6 <= (double)i.high_ns;
}

/* q(p) without the watched cause in another population, of the same kind and
 * size. */
static double
measured_without(const struct population *p, size_t n, uint64_t seed)
{
	struct blame_set *s = population_make(p, n, seed, true);
	int64_t out;

	assert(blame_without(
		   s, UINT64_C(1) << p->watch, false, &p->p, 1, &out) == 0);
	blame_free(&s);
	return (double)out / 1e6;
}

struct population_held
population_hold(const struct population *p, size_t n, unsigned tries,
    unsigned resamples, bool single)
{
	struct blame_options o = {
	    .p = p->p, .resamples = resamples, .single = single};
	struct population_held held = {0};

	for (unsigned k = 0; k < tries; k++) {
		struct blame_set *s = population_make(p, n, k, false);
		struct blame_report r;

		/* Not the numbers that the population was made of. */
		o.seed = ~(uint64_t)k;
		assert(blame_analyze(s, &o, &r) == 0);
		held.q += holds(r.q, p->truth.q);
		for (unsigned i = 0; i < r.lines; i++) {
			if (r.line[i].cause != p->watch)
				continue;
			held.excess += holds(r.line[i].excess, p->truth.excess);
			held.without += holds(r.line[i].without,
			    measured_without(p, n, OTHER_SEED + k));
		}
		blame_free(&s);
	}
	return held;
}
