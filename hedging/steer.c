/* steer.c: phases, orders and forecasts of steering (steer.h). */
#include "hedging/steer.h"

#include <string.h>

#include "hedging/policy.h"

#define GROWTH_NS (100 * NS_PER_MS) /* one period of growth */
#define PART_FIRST 0.90
#define PART_MIN 0.5
#define PART_MAX 0.95
#define PART_MISS 0.03 /* S6: subtracted for a miss */
#define PART_GAIN 0.01 /* S1: added after PART_SWAPS without a miss */
#define PART_SWAPS 5
#define PART_LEAST 0.35 /* S1: no forecast swaps before */
#define PART_IDLE 0.5	/* S8: swap at this part of full while idle */
#define IDLE_NS (100 * NS_PER_MS)
#define FRESH_PART 0.3 /* a heap filled less counts as collected */
/* S1: full, in parts of the capacity of the moment: before a collection was
 * seen, and at least; what a swap without a miss adds, to find out. */
#define LIMIT_FIRST 0.95
#define LIMIT_MIN 0.1 /* a collection below this is not due to a full heap */
#define LIMIT_GAIN 0.0003
#define TICK_NS (10 * NS_PER_MS)
/* Twice the longest time between two ticks. */
#define REST_TICK_NS (2 * NS_PER_S)
#define RECENT 10 /* periods that show a step in bytes per request */
#define UNSEEN_STEPS 4.0
/* S4: collect again if eden, half of the usual or less, lasts for less than
 * this many turns, but not more often than AGAIN_MAX in a row. */
#define SMALL_TURNS 10.0
#define AGAIN_MAX 10
#define USUAL_KEPT 0.98
#define SWAP_MIN_NS (60 * NS_PER_MS) /* S7: below 17 a second; B3 */
#define LATE_NS (2 * NS_PER_S)	     /* S7: how long a late miss counts */
#define LATE_MANY 10
#define SHARE_NS NS_PER_S
#define SHARE_MAX_NS (4 * NS_PER_S)
#define DRAIN_MAX_NS (2 * NS_PER_S)   /* S3 */
#define COLLECT_MAX_NS (3 * NS_PER_S) /* S3: then it is TIRED */
#define AGAIN_NS (10 * NS_PER_S)
/* The heap use after a collection is visible this long after its end at most.
 */
#define STALE_NS NS_PER_S
#define FULL_AT 0.7   /* S5: of the old generation */
#define FULL_STEP 0.1 /* least growth since the last full collection */
#define FULL_PERIOD_NS (60 * NS_PER_S)
/* A second per gigabyte, until a full collection was seen. */
#define FULL_NS_PER_BYTE ((double)NS_PER_S / (double)(1 << 30))
#define TURN_FIRST_NS (200 * NS_PER_MS)

void
steer_init(struct steer *st)
{
	memset(st, 0, sizeof(*st));
	st->part = PART_FIRST;
	st->turn_ns = TURN_FIRST_NS;
}

void
steer_forget(struct steer *st, unsigned server)
{
	memset(&st->server[server], 0, sizeof(st->server[server]));
}

static void
phase_set(struct steer_server *s, enum steer_phase phase, struct instant now)
{
	s->phase = phase;
	s->since = now;
	if (phase == STEER_DRAINING)
		s->left = now;
}

/* --- how full a heap is, and when it will be full ------------------------ */

/* The heap use at which the server will collect by itself, bytes. */
static double
full_bytes(const struct steer_server *s)
{
	return (s->limit > 0 ? s->limit : LIMIT_FIRST) *
	       (double)s->heap.capacity;
}

/* Heap in use, bytes: 0 while the figure is from before the last collection. */
static double
used_bytes(const struct steer_server *s)
{
	return s->stale > 0 ? 0 : (double)s->heap.used;
}

static double
least(double a, double b)
{
	return a < b ? a : b;
}

/* The same with what requests have allocated since the figure moved.  With
 * Serial and Parallel it moves every 50 ms, with G1 when a region is full. */
static double
used_now(const struct steer *st, unsigned server)
{
	const struct steer_server *s = &st->server[server];
	double requests = (double)(st->finished - s->moved);

	return used_bytes(s) +
	       least(requests * st->per_request, UNSEEN_STEPS * st->step);
}

double
steer_used(const struct steer *st, unsigned server)
{
	const struct steer_server *s = &st->server[server];

	if (!s->heap.known || s->heap.capacity == 0)
		return -1;
	return (double)s->heap.used / full_bytes(s);
}

/* Derive from the latest ten seconds how the heap in use will grow. */
static void
forecast(struct steer *st)
{
	double sum = 0, work = 0, most = 0, each;
	unsigned periods = 0;

	st->step = st->per_request = 0;
	for (unsigned i = 0; i < STEER_GROWTHS; i++) {
		const struct steer_growth *g =
		    &st->growth[(st->at + STEER_GROWTHS - i) % STEER_GROWTHS];

		sum += (double)g->bytes;
		work += (double)g->requests;
		periods += g->bytes > 0;
		if ((double)g->bytes > most)
			most = (double)g->bytes;
		if ((double)g->step > st->step)
			st->step = (double)g->step;
		each = work > 0 ? sum / work : 0;
		if ((i == RECENT - 1 || i == STEER_GROWTHS - 1) &&
		    each > st->per_request)
			st->per_request = each;
	}
	st->mean = periods == 0 ? 0 : sum / (periods * (double)GROWTH_NS);
	st->most = most / (double)GROWTH_NS;
	if (st->most < 2 * st->mean)
		st->most = 2 * st->mean;
}

int64_t
steer_left_ns(const struct steer *st)
{
	const struct steer_server *s = &st->server[st->active];
	double room;

	if (!s->heap.known || st->mean <= 0)
		return -1;
	room = st->part * full_bytes(s) - used_now(st, st->active);
	if (room <= 0)
		return 0;
	return room / st->mean < 3600.0 * (double)NS_PER_S
		   ? (int64_t)(room / st->mean)
		   : 3600 * NS_PER_S;
}

/* True if the active server will not be near full for ns. */
static bool
has_time(const struct steer *st, int64_t ns)
{
	int64_t left_ns = steer_left_ns(st);

	return left_ns < 0 || left_ns > ns;
}

/* S1, S8. */
static bool
near_full(const struct steer *st, const struct hedging *h, struct instant now)
{
	const struct steer_server *s = &st->server[h->active];
	const struct hedging_server *active = &h->server[h->active];
	double part = st->part, full = full_bytes(s), lead;
	double used = used_now(st, h->active);

	if (!s->heap.known || s->heap.capacity == 0)
		return false;
	if (instant_since(now, st->busy) >= IDLE_NS)
		part = PART_IDLE;
	if (used >= part * full)
		return true;
	if (used < PART_LEAST * full)
		return false;
	/* Requests in flight still allocate, after a swap, too.  A p99 that a
	 * stall has raised is no reason to swap, nor is an allocation that has
	 * nothing to do with requests. */
	lead = st->step + st->most * (double)(2 * TICK_NS) +
	       2 * least(st->per_request * active->inflight,
		       st->most * (double)active->latency_p99_ns);
	return full - used <= lead;
}

/* --- what is learnt from the heaps ---------------------------------------- */

static void
growth_turn(struct steer *st, struct instant now)
{
	int64_t periods = instant_is_set(st->period)
			      ? instant_since(now, st->period) / GROWTH_NS
			      : 1;

	st->passed = 1;
	if (periods < 1)
		return;
	st->passed =
	    periods < STEER_GROWTHS ? (unsigned)periods : STEER_GROWTHS;
	st->period = now;
	for (unsigned i = 0; i < st->passed; i++) {
		st->at = (st->at + 1) % STEER_GROWTHS;
		memset(&st->growth[st->at], 0, sizeof(st->growth[st->at]));
	}
}

/* Growth since a tick long ago is spread over the periods since; as a step it
 * means nothing then. */
static void
grown(
    struct steer *st, const struct hedging *h, unsigned server, uint64_t bytes)
{
	unsigned at = st->at;

	if (server != st->active && !h->shared)
		return;
	for (unsigned i = 0; i < st->passed; i++) {
		st->growth[at].bytes += bytes / st->passed;
		at = (at + STEER_GROWTHS - 1) % STEER_GROWTHS;
	}
	if (st->passed == 1 && bytes > st->growth[st->at].step)
		st->growth[st->at].step = bytes;
}

/* S7: a server has filled up before the other one's turn was over.  If that
 * happens often, neither can cover the other's turn. */
static void
late(struct steer *st, struct instant now)
{
	double age = (double)instant_since(now, st->late_at) / LATE_NS;
	bool again = instant_since(now, st->shared_until) < SHARE_MAX_NS;

	st->late = age < 1 ? st->late * (1 - age) + 1 : 1;
	st->late_at = now;
	if (st->late < LATE_MANY)
		return;
	/* One burst is no reason for a long time. */
	st->share_ns = again ? 2 * st->share_ns : SHARE_NS;
	if (st->share_ns > SHARE_MAX_NS)
		st->share_ns = SHARE_MAX_NS;
	st->shared_until = instant_plus(now, st->share_ns);
	st->late = 0;
	st->shares++;
}

/* S7: true if it is too soon for another swap. */
static bool
swapped_lately(const struct steer *st, struct instant now)
{
	return instant_is_set(st->swapped) &&
	       instant_since(now, st->swapped) < SWAP_MIN_NS;
}

/* S6: the active server collected by itself: count why, and swap earlier. */
static void
missed(struct steer *st, const struct hedging *h, unsigned server,
    enum talechain_cause cause, struct instant now)
{
	struct steer_server *s = &st->server[server];
	unsigned other = policy_other(server);
	enum steer_phase phase = s->caught ? s->other : st->server[other].phase;
	enum steer_miss why = STEER_MISS_FORECAST;

	if (h->shared)
		why = STEER_MISS_NOT_READY;
	else if (s->phase == STEER_DRAINING && !s->caught)
		why = STEER_MISS_DRAIN;
	else if (cause != TALECHAIN_CAUSE_ALLOCATION)
		why = STEER_MISS_CAUSE;
	else if (h->server[other].state != SERVER_READY)
		why = STEER_MISS_NOT_READY;
	else if (phase != STEER_FRESH || swapped_lately(st, now))
		why = STEER_MISS_LATE;
	if (why == STEER_MISS_LATE && phase != STEER_TIRED)
		late(st, now);
	st->missed[why]++;
	st->since_miss = 0;
	if (why != STEER_MISS_FORECAST && why != STEER_MISS_DRAIN)
		return;
	st->part -= PART_MISS;
	if (st->part < PART_MIN)
		st->part = PART_MIN;
}

/* Learn how full the heap was when the server collected by itself, because the
 * heap was full.  Only the last such collection counts: what G1 takes for full
 * depends on what it has to do. */
static void
full_learn(
    const struct steer *st, struct steer_server *s, enum talechain_cause cause)
{
	double part;

	if (s->heap.capacity == 0 || cause != TALECHAIN_CAUSE_ALLOCATION)
		return;
	/* The last step was not seen. */
	part = ((double)s->peak + st->step) / (double)s->heap.capacity;
	if (part >= LIMIT_MIN)
		s->limit = least(part, LIMIT_FIRST);
}

/* A server has collected, by order or by itself. */
static void
collected(struct steer *st, const struct hedging *h, unsigned server,
    const struct steer_heap *now_seen, struct instant now,
    struct steer_order *order)
{
	struct steer_server *s = &st->server[server];
	bool ordered = s->phase == STEER_COLLECTING;

	/* The collection may have begun by itself before the order arrived. */
	if (ordered)
		*order = (struct steer_order){STEER_ORDER_DONE, server};
	else
		full_learn(st, s, now_seen->cause);
	s->peak = 0;
	s->moved = st->finished;
	s->usual *= USUAL_KEPT;
	s->stale = now_seen->used >= s->heap.used ? now_seen->used : 0;
	s->stale_since = now;
	if (s->phase == STEER_ACTIVE || s->caught ||
	    (s->phase == STEER_DRAINING && h->server[server].inflight > 0)) {
		missed(st, h, server, now_seen->cause, now);
	} else {
		st->unmet++;
		st->provoked += ordered;
	}
	s->caught = false;
	if (ordered)
		s->full_began = s->full_ordered;
	s->full_ordered = INSTANT_NONE;
	if (s->phase == STEER_ACTIVE)
		return;
	s->again = false;
	s->turning = ordered;
	phase_set(s, STEER_FRESH, now);
}

/* True if the heap is that of another process, or the first that is seen. */
static bool
is_new(const struct steer_server *s, const struct steer_heap *heap)
{
	return !s->heap.known || heap->collections < s->heap.collections;
}

/* A new process of a server is seen: forget the old one. */
static void
met(struct steer *st, const struct hedging *h, unsigned server,
    const struct steer_heap *heap, struct instant now)
{
	struct steer_server *s = &st->server[server];

	memset(s, 0, sizeof(*s));
	s->heap = *heap;
	s->peak = heap->used;
	phase_set(s, server == h->active ? STEER_ACTIVE : STEER_DRAINING, now);
}

/* The counters do not change together: heap.used may be from before a
 * collection that is over and has been counted. */
static void
stale_check(struct steer_server *s, const struct hedging_server *h,
    const struct steer_heap *heap, struct instant now)
{
	if ((h->hazards & policy_bit(HAZARD_GC)) != 0)
		s->stale_since = now;
	if (heap->used < s->stale ||
	    instant_since(now, s->stale_since) >= STALE_NS)
		s->stale = 0;
}

static void
look(struct steer *st, const struct hedging *h, unsigned server,
    const struct steer_heap *heap, struct instant now,
    struct steer_order *order)
{
	struct steer_server *s = &st->server[server];

	if (is_new(s, heap)) {
		met(st, h, server, heap, now);
		return;
	}
	if (s->phase == STEER_OFF)
		phase_set(s,
		    server == h->active ? STEER_ACTIVE : STEER_DRAINING, now);
	stale_check(s, &h->server[server], heap, now);
	if (heap->collections != s->heap.collections) {
		collected(st, h, server, heap, now, order);
		s->heap = *heap;
		return; /* heap.used may be from before the collection */
	}
	if (heap->used > s->heap.used)
		grown(st, h, server, heap->used - s->heap.used);
	if (heap->used != s->heap.used)
		s->moved = st->finished;
	/* A collection may have been counted before it was over. */
	if (heap->used > s->peak || heap->used < s->heap.used)
		s->peak = heap->used;
	s->heap = *heap;
	if ((double)s->heap.capacity > s->usual)
		s->usual = (double)s->heap.capacity;
	/* Fuller than full: that was wrong. */
	if (used_bytes(s) > full_bytes(s))
		s->limit = least(
		    used_bytes(s) / (double)s->heap.capacity, LIMIT_FIRST);
}

/* --- phases --------------------------------------------------------------- */

static enum steer_missing
missing(const struct steer *st, const struct hedging *h,
    const struct steer_heap *heap)
{
	if (!st->on)
		return STEER_MISSING_SWITCHED_OFF;
	if (!policy_acts(h))
		return h->limits.servers < HEDGING_SERVERS
			   ? STEER_MISSING_ALONE
			   : STEER_MISSING_WATCHING;
	if (!heap->known)
		return STEER_MISSING_HEAP;
	if (heap->concurrent)
		return STEER_MISSING_CONCURRENT;
	return heap->way ? STEER_MISSING_NOTHING : STEER_MISSING_WAY;
}

/* Set the phases if another server has become active, for any reason. */
static void
follow(struct steer *st, const struct hedging *h, struct instant now,
    struct steer_order *order)
{
	struct steer_server *old = &st->server[st->active];
	struct steer_server *s = &st->server[h->active];

	if (st->active == h->active)
		return;
	phase_set(old, STEER_DRAINING, now);
	old->caught =
	    (h->server[st->active].hazards & policy_bit(HAZARD_GC)) != 0;
	old->other = s->phase;
	old->repeats = 0;
	st->active = h->active;
	s->moved = st->finished;
	s->again = false;
	/* A tired server may still carry out its order. */
	if (s->phase == STEER_COLLECTING || s->phase == STEER_TIRED)
		*order = (struct steer_order){STEER_ORDER_STOP, h->active};
	phase_set(s, STEER_ACTIVE, now);
}

/* S4: true if a backup may collect, as the active server is well. */
static bool
may_collect(const struct hedging *h, unsigned server)
{
	return h->server[server].state == SERVER_READY &&
	       h->server[server].hazards == 0 &&
	       h->server[h->active].state == SERVER_READY &&
	       h->server[h->active].hazards == 0;
}

/* S5: true if a backup's old generation is nearly full, and the active server
 * has time for twice the length of a full collection. */
static bool
full_due(const struct steer *st, unsigned server, struct instant now)
{
	const struct steer_server *s = &st->server[server];
	double capacity = (double)s->heap.old_capacity;
	double used = (double)s->heap.old_used;
	double ns_per_byte =
	    s->full_ns_per_byte > 0 ? s->full_ns_per_byte : FULL_NS_PER_BYTE;

	return capacity > 0 && used >= FULL_AT * capacity &&
	       used >= (double)s->full_left + FULL_STEP * capacity &&
	       !instant_before(now, s->full_again) &&
	       has_time(st, (int64_t)(2 * used * ns_per_byte));
}

/* Learn from a full collection that was ordered, once it is over. */
static void
full_seen(struct steer *st, const struct hedging *h, unsigned server,
    struct instant now)
{
	struct steer_server *s = &st->server[server];

	if (!instant_is_set(s->full_began) ||
	    (h->server[server].hazards & policy_bit(HAZARD_GC)) != 0)
		return;
	st->full++;
	s->full_ns_per_byte =
	    (double)instant_since(now, s->full_began) / (double)s->full_of;
	s->full_left = s->heap.old_used;
	s->full_began = INSTANT_NONE;
}

static void
drained(struct steer *st, const struct hedging *h, unsigned server,
    struct instant now, struct steer_order *order)
{
	struct steer_server *s = &st->server[server];
	int64_t waited_ns = instant_since(now, s->since);

	if (used_bytes(s) <= FRESH_PART * full_bytes(s) && !s->again &&
	    policy_load(&h->server[server]) == 0) {
		phase_set(s, STEER_FRESH, now);
		return;
	}
	if (!may_collect(h, server) || order->kind != STEER_ORDER_NONE)
		return;
	if (policy_load(&h->server[server]) > 0 &&
	    (waited_ns < DRAIN_MAX_NS || !has_time(st, 4 * st->turn_ns)))
		return;
	*order = (struct steer_order){STEER_ORDER_COLLECT, server};
	s->full_ordered = INSTANT_NONE; /* an earlier order was withdrawn */
	phase_set(s, STEER_COLLECTING, now);
	if (policy_load(&h->server[server]) > 0 || !full_due(st, server, now))
		return;
	order->kind = STEER_ORDER_FULL;
	s->full_ordered = now;
	s->full_of = s->heap.old_used;
	s->full_again = instant_plus(now, FULL_PERIOD_NS);
}

/* S4: true if eden is so small that this server would be full again too soon.
 * G1's mixed collections have such edens, several in a row, until the old
 * generation is smaller: they can pass while no request is there. */
static bool
is_small(const struct steer *st, const struct steer_server *s)
{
	double capacity = (double)s->heap.capacity;

	return s->heap.mixes && s->repeats < AGAIN_MAX &&
	       capacity < s->usual / 2 &&
	       st->part * full_bytes(s) <
		   SMALL_TURNS * (double)st->turn_ns * st->most;
}

/* A backup has collected: learn how long that took, and look whether it should
 * collect again. */
static void
fresh(struct steer *st, const struct hedging *h, unsigned server,
    struct instant now)
{
	struct steer_server *s = &st->server[server];

	if ((h->server[server].hazards & policy_bit(HAZARD_GC)) != 0)
		return; /* its sizes are from before that collection */
	if (s->turning)
		st->turn_ns =
		    (3 * st->turn_ns + instant_since(now, s->left)) / 4;
	s->turning = false;
	s->again = is_small(st, s) && has_time(st, 4 * st->turn_ns);
	/* S2: copies and probes have filled the heap: collect again if there is
	 * time. */
	if (!s->again && (used_bytes(s) <= FRESH_PART * full_bytes(s) ||
			     !has_time(st, 2 * st->turn_ns)))
		return;
	s->repeats += s->again;
	phase_set(s, STEER_DRAINING, now);
}

/* The backup's next phase. */
static void
stand_by(struct steer *st, const struct hedging *h, unsigned server,
    struct instant now, struct steer_order *order)
{
	struct steer_server *s = &st->server[server];

	switch (s->phase) {
	case STEER_OFF:
	case STEER_ACTIVE:
	case STEER_PHASE_COUNT:
		break;
	case STEER_DRAINING:
		drained(st, h, server, now, order);
		break;
	case STEER_COLLECTING:
		if (!may_collect(h, server) && h->server[server].hazards == 0) {
			*order = (struct steer_order){STEER_ORDER_STOP, server};
			phase_set(s, STEER_DRAINING, now);
		} else if (instant_since(now, s->since) >= COLLECT_MAX_NS) {
			st->unanswered++;
			s->order_again = instant_plus(now, AGAIN_NS);
			phase_set(s, STEER_TIRED, now);
		}
		break;
	case STEER_FRESH:
		fresh(st, h, server, now);
		break;
	case STEER_TIRED:
		if (!instant_before(now, s->order_again))
			phase_set(s, STEER_DRAINING, now);
		break;
	}
}

/* S7: where neither server can cover the other's turn they share new requests:
 * of those in flight a collection meets half.  Collections come by themselves
 * meanwhile. */
static void
share(struct steer *st, struct hedging *h, struct instant now,
    struct steer_order *order)
{
	unsigned other = policy_other(h->active);
	struct steer_server *s = &st->server[other];

	h->shared = instant_before(now, st->shared_until);
	if (!h->shared)
		return;
	if (s->phase == STEER_COLLECTING || s->phase == STEER_TIRED)
		*order = (struct steer_order){STEER_ORDER_STOP, other};
	/* From its end on the backup drains. */
	phase_set(s, STEER_DRAINING, now);
}

static unsigned
swap_if_due(struct steer *st, struct hedging *h, struct instant now)
{
	struct steer_server *s = &st->server[h->active];
	unsigned other = policy_other(h->active), actions;

	if (st->server[other].phase != STEER_FRESH || swapped_lately(st, now) ||
	    h->server[h->active].state != SERVER_READY ||
	    h->server[h->active].hazards != 0 || !near_full(st, h, now) ||
	    !policy_can_take_over(h, other, now))
		return 0;
	actions = hedging_switch(h, now);
	if (actions == 0)
		return 0;
	st->swaps++;
	st->swapped = now;
	if (s->limit > 0)
		s->limit = least(s->limit + LIMIT_GAIN, LIMIT_FIRST);
	if (++st->since_miss >= PART_SWAPS && st->part < PART_MAX) {
		st->part += PART_GAIN;
		st->since_miss = 0;
	}
	return actions;
}

/* Stop steering a server.  The facts about its process are kept, as only the
 * other server may be restarting. */
static void
rest(struct steer *st, struct hedging *h, unsigned server,
    const struct steer_heap *heap, struct steer_order *order)
{
	struct steer_server *s = &st->server[server];
	enum steer_missing missing;

	if (s->phase == STEER_COLLECTING || s->phase == STEER_TIRED)
		*order = (struct steer_order){STEER_ORDER_STOP, server};
	if (is_new(s, heap)) {
		missing = s->missing;
		memset(s, 0, sizeof(*s));
		s->missing = missing;
	}
	if (heap->collections != s->heap.collections)
		s->peak = s->stale = 0;
	s->caught = s->again = s->turning = false;
	s->full_ordered = s->full_began = INSTANT_NONE;
	s->phase = STEER_OFF;
	s->heap = *heap;
	h->server[server].steered = h->server[server].fresh = false;
}

/* The growth of the active server in the latest periods, bytes per ns. */
static double
rate_now(const struct steer *st)
{
	uint64_t now = st->growth[st->at].bytes;
	uint64_t last =
	    st->growth[(st->at + STEER_GROWTHS - 1) % STEER_GROWTHS].bytes;

	return (double)(now > last ? now : last) / (double)GROWTH_NS;
}

bool
steer_may_rest(const struct steer *st, const struct hedging *h)
{
	const struct steer_server *s = &st->server[h->active];
	const struct steer_server *other = &st->server[policy_other(h->active)];

	if (!st->on || s->phase == STEER_OFF)
		return true;
	if (st->active != h->active || h->shared ||
	    other->phase == STEER_DRAINING || other->phase == STEER_COLLECTING)
		return false;
	/* No swap helps now: a tick would change nothing. */
	if (other->phase != STEER_FRESH)
		return true;
	return st->part * full_bytes(s) - used_now(st, h->active) >
	       st->step + rate_now(st) * (double)REST_TICK_NS;
}

unsigned
steer_tick(struct steer *st, struct hedging *h, const struct steer_heap *heap,
    struct instant now, struct steer_order *order)
{
	unsigned actions;
	bool off = false;

	order->kind = STEER_ORDER_NONE;
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		st->server[i].missing = missing(st, h, &heap[i]);
		off |= st->server[i].missing != STEER_MISSING_NOTHING;
	}
	if (off) {
		for (unsigned i = 0; i < HEDGING_SERVERS; i++)
			rest(st, h, i, &heap[i], order);
		st->active = h->active;
		h->shared = false;
		return 0;
	}
	growth_turn(st, now);
	/* Most requests are shorter than the time between two ticks. */
	if (policy_load(&h->server[h->active]) > 0 ||
	    h->requests_finished != st->finished)
		st->busy = now;
	st->growth[st->at].requests += h->requests_finished - st->finished;
	st->finished = h->requests_finished;
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		/* Before look(): when that sets full_began, the collection's
		 * hazard may not have begun yet. */
		full_seen(st, h, i, now);
		look(st, h, i, &heap[i], now, order);
	}
	forecast(st);
	follow(st, h, now, order);
	share(st, h, now, order);
	if (!h->shared)
		stand_by(st, h, policy_other(h->active), now, order);
	actions = swap_if_due(st, h, now);
	if (actions != 0)
		follow(st, h, now, order);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++) {
		h->server[i].steered = true;
		h->server[i].fresh = st->server[i].phase == STEER_FRESH;
	}
	return actions;
}
