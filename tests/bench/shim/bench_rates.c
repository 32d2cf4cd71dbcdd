#include <errno.h>
#include <stdlib.h>

#include "tests/bench/shim/bench_parts.h"
#include "profiler/counters/cycles.h"
#include "shim/scope.h"

#define IMPOSSIBLE 1.5 /* times the fastest rate is impossible */
#define TURN_US 5      /* of each of two loops */
#define FAST_WORK 8    /* additions: a change every few cycles */
#define SLOW_WORK 5000 /* and every few thousand, in longer turns */
#define SLOW_TURN_US 200
#define KEPT_PART 4    /* of a piece, where only the share kept is measured */
#define TURNS_PIECES 4 /* their duration, pieces */
#define ALONE 100      /* windows to find the fastest rate */

#define WINDOW_NS INT64_C(2200000) /* a little over two periods of 1 kHz */
#define PATIENCE 4		   /* times as long if windows were dropped */
#define PATIENCE_NS (300 * NS_PER_MS) /* at least, for the first whole window */
#define SUBSAMPLES 2		      /* 100 kHz and 1 kHz */

/* Subsamples as other profilers take them: each period belongs to the tag read
 * at its end. */
struct subsample {
	uint64_t every, due; /* cycles */
	bool begun;
	struct shim_sample last;
	struct tag_row row[WORKLOAD_LOOPS];
};

/* One experiment: the workload, sampled in windows.  A window in which the
 * workload or we had less than a whole CPU measures preemption, not sampling:
 * it is dropped and counted. */
struct sampling_run {
	uint64_t period;	       /* between samples, cycles; 0 at once */
	int64_t least_ns;	       /* duration */
	const uint64_t *word;	       /* borrowed; what is sampled */
	struct shim_scope *all, *part; /* owned: all whole windows; this one */
	struct subsample *sub; /* borrowed; some of the samples; or NULL */
	struct workload_truth truth[WORKLOAD_LOOPS];
};

static void
histogram_merge(struct histogram *into, const struct histogram *from)
{
	into->count += from->count;
	into->sum = into->sum + from->sum;
	into->min = from->min < into->min ? from->min : into->min;
	into->max = from->max > into->max ? from->max : into->max;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->bucket[i] += from->bucket[i];
}

static void
row_add(struct tag_row *into, const struct tag_row *from)
{
	into->samples += from->samples;
	into->kept += from->kept;
	into->cycles += from->cycles;
	for (unsigned i = 0; i < SAMPLER_SIGNALS; i++)
		into->count[i] += from->count[i];
}

static void
tags_merge(struct tags *into, const struct tags *from)
{
	const struct tag_row *r;

	for (r = from->row; r < from->row + TAGS; r++)
		if (r->samples > 0)
			row_add(tags_row(into, r->tag), r);
	row_add(&into->others, &from->others);
}

/* Add one to another of the same signals. */
static void
scope_merge(struct shim_scope *into, const struct shim_scope *from)
{
	into->periods += from->periods;
	into->kept += from->kept;
	into->straddling += from->straddling;
	into->backwards += from->backwards;
	histogram_merge(&into->period, &from->period);
	histogram_merge(&into->period_kept, &from->period_kept);
	histogram_merge(&into->gap, &from->gap);
	histogram_merge(&into->cpc, &from->cpc);
	for (unsigned i = 0; i < into->signals; i++) {
		histogram_merge(&into->raw[i], &from->raw[i]);
		histogram_merge(&into->rate[i], &from->rate[i]);
	}
	tags_merge(&into->tags, &from->tags);
}

static void
sampling_fini(struct sampling_run *x)
{
	free(x->all);
	free(x->part);
}

static int
sampling_init(struct sampling_run *x)
{
	x->all = scope_new(1, DTE_MARGIN_PPM);
	x->part = scope_new(1, DTE_MARGIN_PPM);
	if (x->all != NULL && x->part != NULL)
		return 0;
	sampling_fini(x);
	return -ENOMEM;
}

static void
subsample_add(struct subsample *u, const struct shim_sample *now)
{
	struct tag_row *r;

	if (now->clock.begin < u->due)
		return;
	if (u->begun && now->tag - 1 < WORKLOAD_LOOPS) {
		r = &u->row[now->tag - 1];
		r->samples++;
		r->cycles += now->clock.begin - u->last.clock.begin;
		r->count[0] += now->value[0] - u->last.value[0];
	}
	u->begun = true;
	u->last = *now;
	u->due = now->clock.begin + u->every;
}

static void
sampling_sample(struct bench *b, struct sampling_run *x, uint64_t until)
{
	struct sampler sampler = {
	    .signals = 1, .tag = &b->w->tag, .period = x->period};
	struct shim_sample sample;

	sampler.signal[0].word = x->word;
	do {
		sampler_take(&sampler, &sample);
		scope_add(x->part, &sample);
		for (unsigned i = 0; x->sub != NULL && i < SUBSAMPLES; i++)
			subsample_add(&x->sub[i], &sample);
		sampler_wait(&sampler, sample.clock.begin);
	} while (sample.clock.begin < until);
}

/* Wait for the end of a turn of normal length: a turn in which the workload was
 * preempted before the window would distort its true rate. */
static void
turn_wait(const struct bench *b)
{
	uint64_t begin = cycles_now(), cycles[WORKLOAD_LOOPS], least;
	struct workload_truth t;
	unsigned ended = 0;

	for (unsigned i = 0; i < WORKLOAD_LOOPS; i++)
		cycles[i] = workload_truth(b->w, i).cycles;
	least = 2 * b->w->turn_cycles;
	while (ended == 0 && cycles_now() - begin < 100 * least)
		for (unsigned i = 0; i < WORKLOAD_LOOPS; i++) {
			t = workload_truth(b->w, i);
			ended += t.cycles != cycles[i] &&
				 t.cycles - cycles[i] < least;
			cycles[i] = t.cycles;
		}
}

/* Sample for a window.  Returns whether it counts. */
static bool
sampling_window(struct bench *b, struct sampling_run *x)
{
	uint64_t cycles = (uint64_t)((double)WINDOW_NS * b->r->hz / 1e9);
	struct workload_truth before[WORKLOAD_LOOPS], now[WORKLOAD_LOOPS];
	struct bench_window w;

	scope_init(x->part, 1, DTE_MARGIN_PPM);
	for (unsigned i = 0; x->sub != NULL && i < SUBSAMPLES; i++)
		x->sub[i].begun = false;
	turn_wait(b);
	bench_window_begin(b, &w);
	for (unsigned i = 0; i < WORKLOAD_LOOPS; i++)
		before[i] = workload_truth(b->w, i);
	sampling_sample(b, x, w.begin + cycles);
	for (unsigned i = 0; i < WORKLOAD_LOOPS; i++)
		now[i] = workload_truth(b->w, i);
	bench_window_end(b, &w);
	b->r->windows++;
	if (!w.whole) {
		b->r->windows_dropped++;
		return false;
	}
	scope_merge(x->all, x->part);
	for (unsigned i = 0; i < WORKLOAD_LOOPS; i++) {
		x->truth[i].changes += now[i].changes - before[i].changes;
		x->truth[i].cycles += now[i].cycles - before[i].cycles;
	}
	return true;
}

/* 0 or a negative errno; without a whole window there are no samples. */
static int
sampling_run(struct bench *b, struct sampling_run *x)
{
	int64_t patience = PATIENCE * x->least_ns, spent = 0, good = 0;
	struct instant begun = instant_now();
	int err = bench_writer_start(b);

	if (err < 0)
		return err;
	patience = patience > PATIENCE_NS ? patience : PATIENCE_NS;
	while (good < x->least_ns && spent < patience) {
		good += sampling_window(b, x) ? WINDOW_NS : 0;
		spent = instant_since(instant_now(), begun);
	}
	workload_stop(b->w);
	return 0;
}

static double
truth_rate(const struct workload_truth *t)
{
	return t->cycles > 0 ? (double)t->changes / (double)t->cycles : 0;
}

static double
mean(const struct histogram *h)
{
	return h->count > 0 ? (double)h->sum / (double)h->count : 0;
}

uint64_t
histogram_count_to(const struct histogram *h, uint64_t value)
{
	unsigned last = histogram_bucket(value);
	uint64_t seen = 0;

	if (value >= h->max)
		return h->count;
	for (unsigned i = 0; i < last; i++)
		seen += h->bucket[i];
	/* Part of a bucket cannot be counted. */
	if (histogram_bucket_edge(last) == value)
		seen += h->bucket[last];
	return seen;
}

/* Rates above a bound, in a histogram of rates. */
static uint64_t
count_above(const struct histogram *h, double rate)
{
	uint64_t bound = (uint64_t)(rate * SCOPE_RATE);

	return h->count - histogram_count_to(h, bound);
}

/* The workload's highest rate of changes, per cycle, unobserved. */
static int
fastest_rate(struct bench *b, double *out)
{
	const struct sampler pace = {
	    .period = (uint64_t)((double)WINDOW_NS * b->r->hz / 1e9)};
	struct bench_window w;
	uint64_t value;
	double rate;
	unsigned i;
	int err = bench_writer_start(b);

	for (i = 0, *out = 0; i < ALONE && err == 0; i++) {
		bench_window_begin(b, &w);
		value = __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
		sampler_wait(&pace, w.begin);
		value =
		    __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED) - value;
		bench_window_end(b, &w);
		rate = (double)value / (double)w.cycles;
		*out = rate > *out ? rate : *out;
	}
	if (err == 0)
		workload_stop(b->w);
	return err;
}

/* The distributions behind figures 3.4 and 3.5. */
static void
shortest_keep(const struct shim_scope *s, struct bench_result *r)
{
	r->period = s->period_kept;
	r->gap = s->gap;
	r->rate_raw = s->raw[0];
	r->rate_kept = s->rate[0];
	r->cpc = s->cpc;
}

/* Raw and filtered rates of a word that changes every few cycles. */
static int
fidelity_at(struct bench *b, uint64_t period, struct bench_fidelity *out)
{
	struct sampling_run x = {.period = period,
	    .least_ns = b->o->piece_ns,
	    .word = &b->w->signal};
	double bound = IMPOSSIBLE * b->r->fastest;
	const struct shim_scope *s;
	int err = sampling_init(&x);

	if (err < 0)
		return err;
	b->w->loop[0].work = FAST_WORK;
	b->w->turn_cycles = (uint64_t)(b->r->hz * TURN_US / 1e6);
	err = sampling_run(b, &x);
	s = x.all;
	if (err == 0) {
		*out = (struct bench_fidelity){
		    .period_cycles = mean(&s->period),
		    .truth = truth_rate(&x.truth[0]),
		    .measured = mean(&s->rate[0]) / SCOPE_RATE,
		    .raw_max = (double)s->raw[0].max / SCOPE_RATE,
		    .kept_max = (double)s->rate[0].max / SCOPE_RATE,
		    .cpc_max = (double)s->cpc.max / SCOPE_RATE,
		    .samples = s->periods,
		    .impossible_raw = count_above(&s->raw[0], bound),
		    .impossible_kept = count_above(&s->rate[0], bound),
		};
		out->kept[BENCH_FAST] = scope_kept(s);
		if (period == 0)
			shortest_keep(s, b->r);
	}
	sampling_fini(&x);
	return err;
}

/* The share kept of samples of another word. */
static int
kept_at(struct bench *b, uint64_t period, enum bench_word word, double *kept)
{
	static const uint64_t still;
	struct sampling_run x = {.period = period,
	    .least_ns = b->o->piece_ns / KEPT_PART,
	    .word = word == BENCH_STILL ? &still : &b->w->signal};
	int err = sampling_init(&x);

	if (err < 0)
		return err;
	b->w->loop[0].work = SLOW_WORK;
	b->w->turn_cycles = (uint64_t)(b->r->hz * SLOW_TURN_US / 1e6);
	err = sampling_run(b, &x);
	*kept = scope_kept(x.all);
	sampling_fini(&x);
	return err;
}

/* All results at one period. */
static int
fidelity(struct bench *b, uint64_t period, struct bench_fidelity *out)
{
	int err = fidelity_at(b, period, out);

	if (err == 0)
		err = kept_at(b, period, BENCH_SLOW, &out->kept[BENCH_SLOW]);
	if (err == 0)
		err = kept_at(b, period, BENCH_STILL, &out->kept[BENCH_STILL]);
	return err;
}

static int
fidelities(struct bench *b)
{
	static const uint64_t period[] = {
	    0, 250, 500, 1000, 2500, 5000, 10000, 50000};
	int err;

	b->w->loops = 1;
	b->w->loop[0].work = FAST_WORK;
	b->w->turn_cycles = (uint64_t)(b->r->hz * TURN_US / 1e6);
	err = fastest_rate(b, &b->r->fastest);
	if (err < 0)
		return err;
	for (unsigned i = 0; i < sizeof(period) / sizeof(period[0]); i++) {
		bench_say(b, "raw and filtered rates", 50 + i * 4);
		err = fidelity(b, period[i], &b->r->fidelity[i]);
		if (err < 0)
			return err;
		b->r->fidelities = i + 1;
	}
	return 0;
}

/* Figure 3.1: the same samples, all of them and subsamples. */
static int
tags_measure(struct bench *b)
{
	struct subsample sub[SUBSAMPLES] = {
	    {.every = (uint64_t)(b->r->hz / 1e5)},
	    {.every = (uint64_t)(b->r->hz / 1e3)}};
	struct sampling_run x = {.least_ns = TURNS_PIECES * b->o->piece_ns,
	    .word = &b->w->signal,
	    .sub = sub};
	struct bench_tags *t = b->r->tags;
	int err;

	bench_say(b, "two loops distinguished", 85);
	b->w->loops = 2;
	b->w->loop[0].work = 20;
	b->w->loop[1].work = 120;
	b->w->turn_cycles = (uint64_t)(b->r->hz * TURN_US / 1e6);
	err = sampling_init(&x);
	if (err < 0)
		return err;
	err = sampling_run(b, &x);
	for (unsigned k = 0; k < 2 && err == 0; k++) {
		t[0].measured[k] = tag_rate(tags_row(&x.all->tags, k + 1), 0);
		t[0].samples = x.all->periods;
		for (unsigned i = 0; i < SUBSAMPLES; i++) {
			t[1 + i].every_ns = i == 0 ? 1e4 : 1e6;
			t[1 + i].measured[k] = tag_rate(&sub[i].row[k], 0);
			t[1 + i].samples += sub[i].row[k].samples;
		}
		for (unsigned i = 0; i < 1 + SUBSAMPLES; i++)
			t[i].truth[k] = truth_rate(&x.truth[k]);
	}
	sampling_fini(&x);
	return err;
}

int
bench_rates(struct bench *b)
{
	int err = fidelities(b);

	return err < 0 ? err : tags_measure(b);
}
