/* heaps.c: two JVMs under load, simulated (heaps.h). */
#include "tests/unit/hedging/heaps.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "hedging/steer.h"

#define MB (UINT64_C(1) << 20)
#define MS NS_PER_MS
#define FLIGHTS 128
#define TICK_MS 10
#define SAMPLED_MS 50	  /* Parallel's page */
#define FILL_MB_PER_MS 13 /* the agent */
#define YOUNG_MIN 0.05	  /* of G1's heap */
#define YOUNG_MAX 0.6
#define RESERVE 0.1
#define MARK_AT 0.45
#define OLD_LIVE 0.3
#define MIXED 8
#define FIRST_MS 20000 /* until then nothing is counted: it starts */

struct jvm {
	/* its own account */
	double eden, survivors, old; /* bytes in use */
	double recent;		     /* bytes that are still alive */
	double limit;		     /* of eden */
	double young;		     /* G1: that it would like */
	double shrunk;		     /* G1: part of the limit lost since */
	unsigned marking_ms, mixed;
	bool prepare; /* the next collection begins the mixed ones */
	unsigned pause_ms;
	bool ordered, full; /* the collection under way, or the order */
	unsigned delay_ms;  /* until the order begins to be carried out */
	double fill;	    /* bytes that it may still allocate */
	/* as the profiler sees it */
	struct steer_heap heap;
};

struct flight {
	bool live;
	unsigned server, left_ms;
	double bytes_per_ms;
	struct race race;
};

struct world {
	const struct heaps_setting *set;
	struct heaps_result *result;
	uint64_t seed;
	struct instant now;
	unsigned ms;
	struct hedging h;
	struct steer st;
	struct jvm jvm[HEDGING_SERVERS];
	struct flight flight[FLIGHTS];
	double next_ms, next_long_ms;
	unsigned burst_from_ms, burst_until_ms;
	bool burst_bytes; /* it is of bytes, else of requests */
	unsigned waiting, unmet_ms;
	uint64_t swaps;
	unsigned swaps_at[64]; /* ms of the latest swaps, ring */
};

const struct heaps_setting heaps_setting[HEAPS_SETTINGS] = {
    {"G1, calm", false, false, 512, 400, 120, 2, 60, 0, 1, 90},
    {"G1, survivors", false, false, 512, 400, 200, 2, 600, 0, 1, 90},
    {"G1, bursts", false, false, 512, 400, 120, 2, 150, 0, 10, 90},
    {"G1, 20 MB/s, bursts", false, false, 512, 200, 100, 2, 150, 0, 10, 90},
    {"G1, periodic", false, true, 512, 200, 200, 2, 250, 0, 1, 90},
    {"G1, long requests", false, false, 512, 400, 120, 2, 60, 0.3, 1, 90},
    {"Parallel, bursts", true, false, 512, 400, 150, 2, 60, 0, 10, 90},
    {"G1, 2 GB, bursts", false, false, 2048, 800, 200, 2, 100, 0, 10, 90},
    {"G1, too fast for both", false, false, 256, 1600, 500, 2, 20, 0, 1, 30},
    {"G1, far too fast", false, false, 256, 1600, 2000, 2, 20, 0, 1, 30},
};

static double
draw(struct world *w)
{
	return random_unit(splitmix64(&w->seed));
}

static double
between(struct world *w, double low, double high)
{
	return low + draw(w) * (high - low);
}

/* Exponential, with this mean. */
static double
lasting(struct world *w, double mean)
{
	return -log1p(-draw(w)) * mean;
}

static double
heap_bytes(const struct world *w)
{
	return (double)w->set->heap_mb * (double)MB;
}

static double
least(double a, double b)
{
	return a < b ? a : b;
}

static double
most(double a, double b)
{
	return a > b ? a : b;
}

static double
regions(double bytes)
{
	return ceil(bytes / (double)MB) * (double)MB;
}

static bool
in_burst(const struct world *w)
{
	return w->ms >= w->burst_from_ms && w->ms < w->burst_until_ms;
}

/* --- collections -------------------------------------------------------- */

static void
hazard(struct world *w, unsigned server, bool begin)
{
	struct hazard z = {.server = (uint8_t)server,
	    .kind = HAZARD_GC,
	    .begin = begin,
	    .at = w->now,
	    .seen = w->now};

	hedging_hazard(&w->h, &z, w->now);
}

/* Eden's size, and how the page shows it. */
static void
size_eden(struct world *w, struct jvm *j)
{
	double heap = heap_bytes(w), young, survivors = regions(j->survivors);

	if (w->set->parallel) {
		j->young =
		    least(most(j->young * between(w, 0.9, 1.12), 0.06 * heap),
			0.3 * heap);
		j->heap.capacity = (uint64_t)j->young;
		j->limit = j->young * between(w, 0.97, 1);
		return;
	}
	j->young =
	    least(most(j->young * between(w, 0.85, 1.25), YOUNG_MIN * heap),
		YOUNG_MAX * heap);
	young = j->mixed > 0 ? YOUNG_MIN * heap : j->young;
	young = least(young, heap * (1 - RESERVE) - j->old);
	young = regions(most(young, survivors + 2 * (double)MB));
	j->limit = young - survivors;
	j->shrunk = 0;
	j->heap.capacity = (uint64_t)j->limit;
}

static void
account(struct world *w, unsigned server)
{
	unsigned met = 0;

	for (unsigned i = 0; i < FLIGHTS; i++)
		met += w->flight[i].live && w->flight[i].server == server;
	if (w->ms < FIRST_MS) {
		w->unmet_ms = w->ms;
		return;
	}
	w->result->collections++;
	w->result->met += met > 0;
	w->result->caught += met;
	if (met > 0)
		return;
	if (w->ms - w->unmet_ms > w->result->unmet_apart_ms)
		w->result->unmet_apart_ms = w->ms - w->unmet_ms;
	w->unmet_ms = w->ms;
}

static void
collection_begin(struct world *w, unsigned server, enum talechain_cause cause)
{
	struct jvm *j = &w->jvm[server];
	double ms = 8 + j->recent / (double)MB * 0.6 + (j->mixed > 0 ? 10 : 0);

	account(w, server);
	if (j->ordered && j->full)
		ms += 40;
	j->pause_ms = 1 + (unsigned)(ms * between(w, 0.7, 1.4));
	j->fill = 0;
	j->heap.collections++;
	j->heap.cause = cause;
	hazard(w, server, true);
}

static void
collection_end(struct world *w, unsigned server)
{
	struct jvm *j = &w->jvm[server];
	double live = OLD_LIVE * heap_bytes(w);

	j->old += 0.4 * j->survivors;
	j->survivors = least(j->recent, j->eden + j->survivors);
	j->eden = 0;
	if (j->ordered && j->full)
		j->old = live;
	if (j->mixed > 0) {
		j->old -= (j->old - live) * 0.8 / j->mixed;
		j->mixed--;
	} else if (j->prepare) {
		j->prepare = false;
		j->mixed = MIXED;
	}
	if (w->set->periodic && j->ordered) {
		j->mixed = 0;
		j->prepare = false;
		j->marking_ms = 500 + (unsigned)(draw(w) * 1000);
	} else if (!w->set->parallel && j->marking_ms == 0 && !j->prepare &&
		   j->mixed == 0 && j->old > MARK_AT * heap_bytes(w)) {
		j->marking_ms = 500 + (unsigned)(draw(w) * 1500);
	}
	size_eden(w, j);
	j->heap.used = 0;
	j->heap.old_used = (uint64_t)j->old;
	j->ordered = j->full = false;
	hazard(w, server, false);
}

static void
allocate(struct world *w, unsigned server, double bytes)
{
	struct jvm *j = &w->jvm[server];

	j->eden += bytes;
	if (!w->set->parallel)
		j->heap.used = (uint64_t)j->eden / MB * MB;
	if (j->pause_ms == 0 && j->eden >= j->limit - j->shrunk)
		collection_begin(w, server, TALECHAIN_CAUSE_ALLOCATION);
}

static void
jvm_step(struct world *w, unsigned server)
{
	struct jvm *j = &w->jvm[server];

	j->recent -= j->recent / w->set->keep_ms;
	if (w->set->parallel && w->ms % SAMPLED_MS == 7 * server)
		j->heap.used = (uint64_t)j->eden;
	if (j->marking_ms > 0 && --j->marking_ms == 0)
		j->prepare = j->old > (OLD_LIVE + 0.05) * heap_bytes(w);
	if (j->pause_ms > 0) {
		if (--j->pause_ms == 0)
			collection_end(w, server);
		return;
	}
	if (!w->set->parallel && w->ms % 300 == 0)
		j->shrunk =
		    least(j->shrunk + j->limit * draw(w) * 0.02, j->limit / 16);
	if (!j->ordered || (j->delay_ms > 0 && --j->delay_ms > 0))
		return;
	if (w->set->periodic && !j->full) {
		j->delay_ms = 1000;
		if (j->marking_ms == 0)
			collection_begin(w, server, TALECHAIN_CAUSE_OTHER);
	} else if (j->full) {
		collection_begin(w, server, TALECHAIN_CAUSE_OTHER);
	} else if (j->fill > 0) {
		j->fill -= FILL_MB_PER_MS * (double)MB;
		allocate(w, server, FILL_MB_PER_MS * (double)MB);
	}
}

/* --- requests ----------------------------------------------------------- */

static void
request_end(struct world *w, struct flight *f)
{
	static const struct hedge_view view = {
	    .method_allowed = true, .body_complete = true, .body_kept = true};
	int other;

	race_head(&f->race, 0, 200);
	race_commit(&w->h, &f->race, 0);
	race_ended(&w->h, &f->race, 0, ATTEMPT_END_COMPLETE, 2 * MS, true,
	    &view, w->now, &other);
	hedging_request_end(&w->h);
	f->live = false;
}

static bool
request_begin(struct world *w, double ms)
{
	double burst = in_burst(w) && w->burst_bytes ? w->set->burst : 1;
	int server = hedging_choose(&w->h);
	struct flight *f = w->flight;

	while (f < w->flight + FLIGHTS && f->live)
		f++;
	if (f == w->flight + FLIGHTS || server < 0)
		return false;
	f->live = true;
	f->server = (unsigned)server;
	f->left_ms = 1 + (unsigned)ms;
	f->bytes_per_ms =
	    lasting(w, w->set->request_kb * 1024 * burst) / (double)f->left_ms;
	race_init(&f->race);
	race_start(&w->h, &f->race, f->server, HEDGE_FIRST);
	w->result->requests++;
	return true;
}

static void
requests_step(struct world *w)
{
	double per_ms = w->set->requests_per_s / 1000;

	if (in_burst(w) && !w->burst_bytes)
		per_ms *= w->set->burst;
	for (; w->next_ms <= w->ms; w->next_ms += lasting(w, 1 / per_ms))
		w->waiting++;
	while (
	    w->waiting > 0 && request_begin(w, lasting(w, w->set->service_ms)))
		w->waiting--;
	if (w->set->long_per_s > 0 && w->next_long_ms <= w->ms) {
		w->next_long_ms += lasting(w, 1000 / w->set->long_per_s);
		request_begin(w, 1000);
	}
	for (unsigned i = 0; i < FLIGHTS; i++) {
		struct flight *f = &w->flight[i];
		struct jvm *j = &w->jvm[f->server];

		if (!f->live || j->pause_ms > 0)
			continue;
		j->recent += f->bytes_per_ms * 0.3;
		allocate(w, f->server, f->bytes_per_ms);
		if (j->pause_ms == 0 && --f->left_ms == 0)
			request_end(w, f);
	}
	if (w->set->burst < 2 || w->ms <= w->burst_until_ms)
		return;
	w->burst_from_ms = w->ms + (unsigned)lasting(w, 8000);
	w->burst_until_ms = w->burst_from_ms + 200 + (unsigned)(draw(w) * 1500);
	w->burst_bytes = draw(w) < 0.5;
}

/* --- Tailor ------------------------------------------------------------- */

static void
order(struct world *w, const struct steer_order *o)
{
	struct jvm *j;

	if (o->kind == STEER_ORDER_NONE)
		return;
	j = &w->jvm[o->server];
	if (j->pause_ms > 0)
		return;
	j->ordered =
	    o->kind == STEER_ORDER_COLLECT || o->kind == STEER_ORDER_FULL;
	j->full = o->kind == STEER_ORDER_FULL;
	j->fill = j->ordered ? 1.5 * (double)j->heap.capacity + 16.0 * MB : 0;
	j->delay_ms = w->set->periodic && !j->full
			  ? 1 + (unsigned)(draw(w) * 1000)
			  : 2 + (unsigned)(draw(w) * 4);
}

static void
swap_account(struct world *w)
{
	unsigned within = 0;

	if (w->st.swaps == w->swaps)
		return;
	w->swaps_at[w->swaps % 64] = w->ms;
	w->swaps = w->st.swaps;
	for (uint64_t i = 0; i < 64 && i < w->swaps; i++)
		within += w->ms - w->swaps_at[i] < 1000;
	if (within > w->result->swaps_in_s)
		w->result->swaps_in_s = within;
}

static void
tick(struct world *w)
{
	struct steer_heap heap[HEDGING_SERVERS];
	struct steer_order o;

	hedging_tick(&w->h, w->now);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		heap[i] = w->jvm[i].heap;
	steer_tick(&w->st, &w->h, heap, w->now, &o);
	order(w, &o);
	swap_account(w);
}

static void
start(struct world *w)
{
	struct hedging_limits limits = {.act = true,
	    .triggers = 1U << HAZARD_GC,
	    .servers = HEDGING_SERVERS,
	    .connections_max = {FLIGHTS, FLIGHTS},
	    .aside_max = {FLIGHTS, FLIGHTS},
	    .budget_ratio = 1};

	w->now.ns = 1000 * (uint64_t)NS_PER_S;
	hedging_init(&w->h, &limits);
	steer_init(&w->st);
	w->st.on = true;
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		struct jvm *j = &w->jvm[i];

		hedging_server_up(&w->h, i, w->now);
		j->young = 0.1 * heap_bytes(w);
		j->old = between(w, 0.3, 0.42) * heap_bytes(w);
		j->heap = (struct steer_heap){.known = true,
		    .way = true,
		    .mixes = !w->set->parallel,
		    .old_used = (uint64_t)j->old,
		    .old_capacity = (uint64_t)heap_bytes(w),
		    .collections = 1};
		size_eden(w, j);
	}
}

void
heaps_run(const struct heaps_setting *setting, uint64_t seed,
    struct heaps_result *result)
{
	static struct world world;
	struct world *w = &world;
	bool late = false;

	memset(w, 0, sizeof(*w));
	w->set = setting;
	w->result = result;
	w->seed = seed;
	start(w);
	for (w->ms = 0; w->ms < setting->seconds * 1000; w->ms++) {
		w->now = instant_plus(w->now, MS);
		for (unsigned i = 0; i < HEDGING_SERVERS; i++)
			jvm_step(w, i);
		requests_step(w);
		/* One in twenty is late by a whole one. */
		if (w->ms % TICK_MS != 0)
			continue;
		late = !late && draw(w) < 0.05;
		if (!late)
			tick(w);
		result->shared_ms += w->h.shared ? TICK_MS : 0;
	}
	result->swaps += (unsigned)w->st.swaps;
	result->shares += (unsigned)w->st.shares;
	for (unsigned i = 0; i < STEER_MISS_COUNT; i++)
		result->missed[i] += w->st.missed[i];
}
