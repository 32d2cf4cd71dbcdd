/* bench_cost.c: what sampling a word costs the thread that writes it.
 *
 * The writer runs without end.  We sample its word for 0.3 ms, pause for the
 * next, and so on; a pair of such windows gives one ratio, and the median of
 * the ratios is reported with their quartiles.  The writer's pace is taken from
 * its word and from its CPU time, so time in which it did not run is not
 * counted; windows in which it or we had less than a whole CPU are dropped and
 * counted.  The host's own work is invisible to a guest; the median absorbs it.
 */
#include <stdio.h>

#include "base/array.h"
#include "tests/bench/shim/bench.h"
#include "tests/bench/shim/bench_parts.h"
#include "profiler/counters/cycles.h"
#include "shim/source.h"

#define WINDOW_NS INT64_C(300000)
#define PAIRS_MAX 4096
#define PATIENCE 4	    /* times as long if windows were dropped */
#define PAIRS_LEAST 24	    /* wanted before patience ends */
#define CYCLES_BETWEEN 1000 /* of sampling, between two clock readings */

#define ADDITIONS 100000 /* timed once */
#define ADDITIONS_TURNS 10
#define COUNTED 3	/* counters read with the word */
#define COUNTED_WORK 12 /* of the writer: as often as real programs write */

/* One way of sampling the word. */
struct look {
	unsigned pause;		 /* additions between two samples */
	struct sampler *sampler; /* NULL: load the word, nothing else */
	uint64_t window_cycles;
};

struct window {
	double per_change; /* cycles of the writer's CPU time */
	double per_look, per_fresh;
	bool whole;
};

static void
look_once(const struct bench *b, const struct look *l, uint64_t *seen)
{
	struct shim_sample s;

	if (l->sampler == NULL) {
		*seen = __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
		return;
	}
	sampler_take(l->sampler, &s);
	*seen = s.value[0];
}

/* Sample the word, or only spend the time.  Returns the samples. */
static uint64_t
window_spend(const struct bench *b, const struct look *l, bool looking,
    uint64_t until, uint64_t *fresh)
{
	unsigned at_once = 1 + CYCLES_BETWEEN / (l->pause + 4);
	uint64_t looks = 0, seen = 0, last = 0;

	while (cycles_now() < until)
		for (unsigned i = 0; i < at_once; i++) {
			if (looking) {
				look_once(b, l, &seen);
				*fresh += seen != last;
				last = seen;
				looks++;
			}
			workload_work(looking ? l->pause : l->pause + 4);
		}
	return looks;
}

static void
window_take(
    struct bench *b, const struct look *l, bool looking, struct window *out)
{
	uint64_t value, changes, looks, fresh = 0;
	struct bench_window w;

	bench_window_begin(b, &w);
	value = __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
	looks = window_spend(b, l, looking, w.begin + l->window_cycles, &fresh);
	changes = __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED) - value;
	bench_window_end(b, &w);
	out->whole = w.whole && changes > 0;
	if (!out->whole)
		return;
	out->per_change = w.writer_ns * b->r->hz / 1e9 / (double)changes;
	out->per_look = looks > 0 ? (double)w.cycles / (double)looks : 0;
	out->per_fresh = fresh > 0 ? (double)w.cycles / (double)fresh : 0;
}

/* Results of a point's pairs of windows, in columns for sorting. */
struct columns {
	double ratio[PAIRS_MAX], alone[PAIRS_MAX];
	double look[PAIRS_MAX], fresh[PAIRS_MAX];
	unsigned pairs, dropped;
};

static void
pairs_take(struct bench *b, const struct look *l, struct columns *c)
{
	struct instant begun = instant_now();
	int64_t spent = 0;
	struct window with, without;
	bool first = false;

	c->pairs = c->dropped = 0;
	while (c->pairs < PAIRS_MAX &&
	       (spent < b->o->piece_ns ||
		   (c->pairs < PAIRS_LEAST &&
		       spent < PATIENCE * b->o->piece_ns))) {
		first = !first;
		window_take(b, l, first, first ? &with : &without);
		window_take(b, l, !first, first ? &without : &with);
		spent = instant_since(instant_now(), begun);
		if (!with.whole || !without.whole) {
			c->dropped++;
			continue;
		}
		c->ratio[c->pairs] = with.per_change / without.per_change - 1;
		c->alone[c->pairs] = without.per_change;
		c->look[c->pairs] = with.per_look;
		c->fresh[c->pairs++] = with.per_fresh;
	}
}

static void
cost_report(struct columns *c, struct bench_cost *out)
{
	unsigned n = c->pairs;

	out->pairs = n;
	out->dropped = c->dropped;
	if (n == 0)
		return;
	array_sort_double(c->ratio, n);
	out->overhead = c->ratio[n / 2];
	out->low = c->ratio[n / 4];
	out->high = c->ratio[n - 1 - n / 4];
	out->produce_cycles = bench_median(c->alone, n);
	out->observe_cycles = bench_median(c->look, n);
	out->fresh_cycles = bench_median(c->fresh, n);
}

/* One point: a writer of that pace, sampled in that way. */
static int
cost_at(struct bench *b, unsigned work, struct look *l, struct bench_cost *out)
{
	static struct columns columns;
	int err;

	b->w->loops = 1;
	b->w->loop[0].work = work;
	b->w->turn_cycles = UINT64_MAX;
	l->window_cycles = (uint64_t)((double)WINDOW_NS * b->r->hz / 1e9);
	err = bench_writer_start(b);
	if (err < 0)
		return err;
	pairs_take(b, l, &columns);
	workload_stop(b->w);
	cost_report(&columns, out);
	return 0;
}

/* Cycles of one addition of workload_work() here. */
static double
addition_cycles(void)
{
	double best = 1e9, took;
	uint64_t begin;

	for (unsigned i = 0; i < ADDITIONS_TURNS; i++) {
		begin = cycles_in_order();
		workload_work(ADDITIONS);
		took = (double)(cycles_in_order() - begin) / ADDITIONS;
		best = took < best ? took : best;
	}
	return best;
}

int
bench_costs(struct bench *b)
{
	/* First the fastest producer with an ever slower consumer, then the
	 * reverse (figure 3.9); then programs that write as often as the
	 * thesis's do, every 14 to 140 cycles (figure 3.7). */
	static const struct {
		unsigned work, cycles;
	} point[] = {{0, 0}, {0, 30}, {0, 100}, {0, 300}, {0, 1200}, {0, 5000},
	    {0, 20000}, {5, 0}, {12, 0}, {50, 0}, {140, 0}, {500, 0}, {5000, 0},
	    {12, 30}, {12, 1200}, {12, 184000}, {140, 30}, {140, 1200},
	    {140, 184000}};
	double per_addition = addition_cycles();
	struct look look;
	int err;

	_Static_assert(
	    sizeof(point) / sizeof(point[0]) <= BENCH_POINTS, "room for all");
	for (unsigned i = 0; i < sizeof(point) / sizeof(point[0]); i++) {
		bench_say(b, "cost of sampling", 5 + i * 2);
		look = (struct look){
		    .pause = (unsigned)(point[i].cycles / per_addition)};
		b->r->cost[i].work = point[i].work;
		b->r->cost[i].pause = point[i].cycles;
		err = cost_at(b, point[i].work, &look, &b->r->cost[i]);
		if (err < 0)
			return err;
		b->r->costs = i + 1;
	}
	return 0;
}

/* Three counters of our own thread, as figure 3.13 reads three. */
static int
counters_open(
    struct bench *b, struct counter *c, const char *const *name, char *why)
{
	char trouble[SOURCE_WHY];
	unsigned i;
	int err = 0;

	for (i = 0; i < COUNTED && err == 0; i++)
		err = counter_open(&c[i], name[i], 0, -1, trouble, SOURCE_WHY);
	if (err == 0) {
		snprintf(b->r->counters, sizeof(b->r->counters),
		    "%s, %s, %s by %s", name[0], name[1], name[2],
		    counter_way_name(c[0].way));
		return 0;
	}
	snprintf(why, SOURCE_WHY, "%s", trouble);
	for (; i > 0; i--)
		counter_close(&c[i - 1]);
	return err;
}

int
bench_counted(struct bench *b)
{
	static const char *const hardware[COUNTED] = {
	    "instructions", "cycles", "branches"};
	static const char *const software[COUNTED] = {
	    "task-clock", "page-faults", "context-switches"};
	struct sampler sampler = {.signals = 1 + COUNTED};
	struct look look = {.sampler = &sampler};
	struct counter counter[COUNTED];
	int err;

	bench_say(b, "cost of sampling with counters", 45);
	b->r->has_pmu =
	    counters_open(b, counter, hardware, b->r->counters_why) == 0;
	if (!b->r->has_pmu &&
	    counters_open(b, counter, software, b->r->counters_why) < 0)
		return 0; /* in counters_why */
	sampler.signal[0].word = &b->w->signal;
	for (unsigned i = 0; i < COUNTED; i++) {
		sampler.signal[1 + i].counter = &counter[i];
		sampler.signal[1 + i].counters = 1;
	}
	err = cost_at(b, COUNTED_WORK, &look, &b->r->counted);
	for (unsigned i = 0; i < COUNTED; i++)
		counter_close(&counter[i]);
	return err;
}
