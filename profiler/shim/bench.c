/*
 * bench.c: the experiments.
 *
 * Costs are measured in pairs, observed and not observed in turn, and told
 * as medians of the ratios: this machine is not ours alone.
 */
#include "profiler/shim/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "profiler/shim/cycles.h"
#include "profiler/shim/scope.h"
#include "profiler/shim/workload.h"

#define ROUNDS_MAX 1000
#define IMPOSSIBLE 1.5	 /* times the true rate: cannot be */
#define BOUNCES 20000	 /* of a cache line */
#define TURN_US 5	 /* of each of two loops */
#define ALONE 5		 /* slices to find the fastest rate */
#define LOOKS_AT_ONCE 32 /* between two looks at the clock */

struct bench {
	const struct bench_options *o;
	struct bench_result *r;
	double fastest;	    /* the signal's rate when nobody looks, at best */
	struct workload *w; /* owned; lines of its own */
	void (*progress)(const char *what, unsigned percent);
};

static int
double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
say(const struct bench *b, const char *what, unsigned percent)
{
	if (b->progress != NULL)
		b->progress(what, percent);
}

static uint64_t
slice_cycles(const struct bench *b)
{
	return (uint64_t)((double)b->o->slice_ns * b->r->hz / 1e9);
}

/* Cycles per change of the producer, over a slice in which look() runs. */
static int
produce(struct bench *b, uint64_t wait, bool observe, double *per_change,
    double *per_look)
{
	uint64_t until, begin, seen = 0, looks = 0, now;
	int err = workload_start(b->w, b->o->producer_cpu);

	if (err < 0)
		return err;
	begin = cycles_in_order();
	until = begin + slice_cycles(b);
	if (!observe) {
		/* Away from the bus: the other CPU is ours. */
		while (cycles_now() < until)
			for (unsigned i = 0; i < 1000; i++)
				cycles_relax();
	}
	for (now = begin; observe && now < until; now = cycles_now())
		for (unsigned i = 0; i < LOOKS_AT_ONCE; i++) {
			uint64_t from = wait > 0 ? cycles_now() : 0;

			seen ^=
			    __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
			__asm__ volatile("" ::"r"(seen));
			looks++;
			if (wait > 0)
				sampler_wait(from, wait);
		}
	now = cycles_in_order();
	workload_stop(b->w);
	*per_change =
	    (double)b->w->truth[0].cycles / (double)b->w->truth[0].changes;
	if (observe)
		*per_look = (double)(now - begin) / (double)looks;
	return 0;
}

/* Figure 3.9: what looking costs the producer, at one pair of periods. */
static int
cost_at(struct bench *b, unsigned work, uint64_t wait, struct bench_cost *out)
{
	double ratio[ROUNDS_MAX] = {0}, alone[ROUNDS_MAX] = {0};
	double look[ROUNDS_MAX] = {0}, with = 0;
	unsigned i, n = b->o->rounds;
	int err;

	b->w->loops = 1;
	b->w->loop[0].work = work;
	b->w->turn_cycles = UINT64_MAX;
	for (i = 0; i < n; i++) {
		err = produce(
		    b, wait, i % 2 == 0, i % 2 ? &alone[i] : &with, &look[i]);
		if (err < 0)
			return err;
		err = produce(
		    b, wait, i % 2 != 0, i % 2 ? &with : &alone[i], &look[i]);
		if (err < 0)
			return err;
		ratio[i] = with / alone[i] - 1;
	}
	qsort(ratio, n, sizeof(ratio[0]), double_compare);
	qsort(alone, n, sizeof(alone[0]), double_compare);
	qsort(look, n, sizeof(look[0]), double_compare);
	*out = (struct bench_cost){alone[n / 2], look[n / 2], ratio[n / 2],
	    ratio[n / 4], ratio[n - 1 - n / 4]};
	return 0;
}

static int
costs(struct bench *b)
{
	static const struct {
		unsigned work;
		uint64_t wait;
	} point[] = {{0, 0}, {0, 100}, {0, 300}, {0, 1200}, {0, 5000}, {50, 0},
	    {50, 300}, {50, 1200}, {50, 5000}, {500, 0}, {500, 1200},
	    {5000, 0}};
	unsigned i;
	int err;

	for (i = 0; i < sizeof(point) / sizeof(point[0]); i++) {
		say(b, "cost of looking", 5 + i * 4);
		err = cost_at(b, point[i].work, point[i].wait, &b->r->cost[i]);
		if (err < 0)
			return err;
		b->r->costs = i + 1;
		if (i == 0 ||
		    b->r->cost[i].observe_cycles < b->r->finest_cycles)
			b->r->finest_cycles = b->r->cost[i].observe_cycles;
	}
	return 0;
}

/* Sample the workload for a slice into a scope, with a pause in between. */
static int
observe(struct bench *b, struct scope *s, uint64_t period)
{
	struct sampler sampler = {.signals = 1, .tag = &b->w->tag};
	struct sample sample;
	uint64_t until;
	int err;

	sampler.signal[0].word = &b->w->signal;
	err = workload_start(b->w, b->o->producer_cpu);
	if (err < 0)
		return err;
	until = cycles_in_order() + slice_cycles(b) * b->o->rounds;
	do {
		sampler_take(&sampler, &sample);
		scope_add(s, &sample);
		sampler_wait(sample.clock.begin, period);
	} while (sample.clock.begin < until);
	workload_stop(b->w);
	return 0;
}

/* Rates above a bound, in a histogram of rates. */
static uint64_t
count_above(const struct histogram *h, double rate)
{
	uint64_t bound = (uint64_t)(rate * SCOPE_RATE);

	return h->count - histogram_count_to(h, bound);
}

static int
fidelity_at(struct bench *b, uint64_t period, struct bench_fidelity *out)
{
	struct scope *s = scope_new(1, DTE_MARGIN_PPM);
	int err;

	if (s == NULL)
		return -ENOMEM;
	err = observe(b, s, period);
	if (err == 0) {
		double truth = (double)b->w->truth[0].changes /
			       (double)b->w->truth[0].cycles;

		*out = (struct bench_fidelity){
		    .period_cycles =
			(double)s->period.sum / (double)s->period.count,
		    .kept = scope_kept(s),
		    .truth = truth,
		    .raw_max = (double)s->raw[0].max / SCOPE_RATE,
		    .kept_max = (double)s->rate[0].max / SCOPE_RATE,
		    .cpc_max = (double)s->cpc.max / SCOPE_RATE,
		    .samples = s->periods,
		    .impossible_raw =
			count_above(&s->raw[0], IMPOSSIBLE * b->fastest),
		    .impossible_kept =
			count_above(&s->rate[0], IMPOSSIBLE * b->fastest),
		};
		if (period == 0) {
			b->r->period = s->period_kept;
			b->r->gap = s->gap;
		}
	}
	free(s);
	return err;
}

static int
fidelities(struct bench *b)
{
	static const uint64_t period[] = {
	    0, 250, 500, 1000, 2500, 5000, 10000, 50000};
	double per_change, unused;
	unsigned i;
	int err;

	b->w->loops = 1;
	b->w->loop[0].work = 8;
	b->w->turn_cycles = UINT64_MAX;
	for (i = 0; i < ALONE; i++) {
		err = produce(b, 0, false, &per_change, &unused);
		if (err < 0)
			return err;
		if (1 / per_change > b->fastest)
			b->fastest = 1 / per_change;
	}
	for (i = 0; i < sizeof(period) / sizeof(period[0]); i++) {
		say(b, "raw and filtered rates", 55 + i * 3);
		err = fidelity_at(b, period[i], &b->r->fidelity[i]);
		if (err < 0)
			return err;
		b->r->fidelities = i + 1;
	}
	return 0;
}

/* Figure 3.1: the same samples, all of them and subsamples. */
static int
tags_told(struct bench *b)
{
	static const double every_ns[] = {0, 1e4, 1e6};
	struct sampler sampler = {.signals = 1, .tag = &b->w->tag};
	struct scope *s[3] = {NULL, NULL, NULL};
	uint64_t due[3] = {0, 0, 0}, until;
	struct sample sample;
	int err = -ENOMEM;
	unsigned i, k;

	say(b, "two loops told apart", 85);
	for (i = 0; i < 3; i++) {
		s[i] = scope_new(1, DTE_MARGIN_PPM);
		if (s[i] == NULL)
			goto out;
	}
	b->w->loops = 2;
	b->w->loop[0].work = 20;
	b->w->loop[1].work = 120;
	b->w->turn_cycles = (uint64_t)(b->r->hz * TURN_US / 1e6);
	sampler.signal[0].word = &b->w->signal;
	err = workload_start(b->w, b->o->producer_cpu);
	if (err < 0)
		goto out;
	until = cycles_in_order() + slice_cycles(b) * b->o->rounds * 4;
	do {
		sampler_take(&sampler, &sample);
		for (i = 0; i < 3; i++)
			if (sample.clock.begin >= due[i]) {
				scope_add(s[i], &sample);
				due[i] =
				    sample.clock.begin +
				    (uint64_t)(every_ns[i] * b->r->hz / 1e9);
			}
	} while (sample.clock.begin < until);
	workload_stop(b->w);
	for (i = 0; i < 3; i++) {
		struct bench_tags *t = &b->r->tags[i];

		*t = (struct bench_tags){
		    .every_ns = every_ns[i], .samples = s[i]->periods};
		for (k = 0; k < 2; k++) {
			t->truth[k] = (double)b->w->truth[k].changes /
				      (double)b->w->truth[k].cycles;
			t->told[k] = tag_rate(tags_row(&s[i]->tags, k + 1), 0);
		}
	}
out:
	for (i = 0; i < 3; i++)
		free(s[i]);
	return err;
}

/* The other end of the bouncing line. */
static void *
bounce_main(void *user)
{
	struct workload *w = user;
	uint64_t seen = 0, now;

	(void)workload_pin(w->cpu);
	while (__atomic_load_n(&w->stop, __ATOMIC_RELAXED) == 0) {
		now = __atomic_load_n(&w->signal, __ATOMIC_ACQUIRE);
		if (now != seen && (now & 1) != 0)
			__atomic_store_n(
			    &w->signal, seen = now + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* How long a line takes from one CPU to the other: half a round trip. */
static int
coherence(struct bench *b)
{
	static double round[BOUNCES];
	struct workload *w = b->w;
	uint64_t begin, value = 0;
	unsigned i;
	int err;

	say(b, "moving a cache line", 1);
	w->cpu = b->o->producer_cpu;
	w->signal = 0;
	w->stop = 0;
	err = pthread_create(&w->thread, NULL, bounce_main, w);
	if (err != 0)
		return -err;
	for (i = 0; i < BOUNCES; i++) {
		begin = cycles_in_order();
		__atomic_store_n(&w->signal, ++value, __ATOMIC_RELEASE);
		while (__atomic_load_n(&w->signal, __ATOMIC_ACQUIRE) == value)
			continue;
		value++;
		round[i] = (double)(cycles_in_order() - begin);
	}
	__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
	qsort(round, BOUNCES, sizeof(round[0]), double_compare);
	b->r->coherence_ns = round[BOUNCES / 2] / 2 / b->r->hz * 1e9;
	return 0;
}

/* The shortest period over a word that nobody writes. */
static void
quiet(struct bench *b)
{
	uint64_t begin = cycles_in_order(), seen = 0;
	unsigned i;

	b->w->signal = 0;
	for (i = 0; i < 1000000; i++) {
		seen ^= __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
		__asm__ volatile("" ::"r"(seen));
	}
	b->r->finest_quiet_cycles = (double)(cycles_in_order() - begin) / i;
}

int
bench_run(struct bench_result *out, const struct bench_options *options,
    void (*progress)(const char *what, unsigned percent))
{
	struct bench b = {.o = options, .r = out, .progress = progress};
	struct instant begun;
	uint64_t pushed;
	int err = workload_pin(options->observer_cpu);

	if (err < 0)
		return err;
	if (options->rounds < 1 || options->rounds > ROUNDS_MAX)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	out->hz = cycles_hz();
	b.w = aligned_alloc(_Alignof(struct workload), sizeof(*b.w));
	if (b.w == NULL)
		return -ENOMEM;
	memset(b.w, 0, sizeof(*b.w));
	pushed = workload_pushed();
	begun = instant_now();
	err = coherence(&b);
	quiet(&b);
	if (err == 0)
		err = costs(&b);
	if (err == 0)
		err = fidelities(&b);
	if (err == 0)
		err = tags_told(&b);
	out->took_s = (double)instant_since(instant_now(), begun) / 1e9;
	out->pushed = workload_pushed() - pushed + b.w->pushed;
	say(&b, "done", 100);
	free(b.w);
	return err;
}
