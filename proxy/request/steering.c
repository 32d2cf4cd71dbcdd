/* steering.c: passes heaps from the profiler to the policy, and the policy's
 * orders back. */
#include "proxy/request/hazards.h"

#include "base/log.h"
#include "proxy/upstream/server.h"

/* Bytes that an order may allocate to cause a collection, in parts of eden, and
 * beside.  More than all, as regions are not full and G1 may enlarge eden. */
#define ORDER_PART 1.5
#define ORDER_SPARE (UINT64_C(16) << 20)

static bool
is_http(const struct proxy *p, unsigned server)
{
	return p->upstream.server[server].config->collect ==
	       CONFIG_COLLECT_HTTP;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The heap as the server's responses describe it, where the profiler cannot see
 * it.  Without the bytes that survived the latest collection, as only newer
 * ones cause the next. */
static struct steer_heap
heap_reported(struct proxy *p, unsigned server)
{
	enum server_state state = p->hedging.server[server].state;
	struct server_heap *h = &p->upstream.server[server].heap;

	/* The next process has another heap. */
	if (state == SERVER_DOWN || state == SERVER_CONNECTING)
		h->seen = INSTANT_NONE;
	return (struct steer_heap){
	    .known = is_http(p, server) && instant_is_set(h->seen),
	    .way = true,
	    .used = h->used - least(h->used, h->live),
	    .capacity = h->full - least(h->full, h->live),
	    .collections = h->collections,
	    .cause = TALECHAIN_CAUSE_ALLOCATION,
	};
}

static struct steer_heap
heap_now(struct proxy *p, unsigned server)
{
	struct profiler_heap h;

	profiler_heap(p->profiler, server, &h);
	if (!h.known)
		return heap_reported(p, server);
	return (struct steer_heap){
	    .known = h.known,
	    .concurrent = h.concurrent,
	    .mixes = h.mixes,
	    .way = h.ordered || is_http(p, server),
	    .used = h.word[PROFILER_HEAP_EDEN_USED],
	    .capacity = h.word[PROFILER_HEAP_EDEN_CAPACITY],
	    .old_used = h.word[PROFILER_HEAP_OLD_USED],
	    .old_capacity = h.word[PROFILER_HEAP_OLD_CAPACITY],
	    .collections =
		h.word[PROFILER_HEAP_YOUNG] + h.word[PROFILER_HEAP_FULL],
	    .cause = h.cause,
	};
}

static void
order_give(struct proxy *p, const struct steer_order *o)
{
	const struct steer_server *s = &p->steer.server[o->server];
	static const char *const what[] = {
	    "none", "collect", "full", "stop", "done"};
	uint64_t bytes = 0;

	if (o->kind == STEER_ORDER_COLLECT)
		bytes = (uint64_t)(ORDER_PART * (double)s->heap.capacity) +
			ORDER_SPARE;
	else if (o->kind == STEER_ORDER_FULL)
		bytes = PROFILER_COLLECT_FULL;
	if (!is_http(p, o->server))
		profiler_collect(p->profiler, o->server, bytes);
	else if (o->kind == STEER_ORDER_STOP)
		collect_stop(&p->upstream.server[o->server]);
	else if (o->kind != STEER_ORDER_DONE) /* then let it respond */
		collect_begin(&p->upstream.server[o->server]);
	log_event(LOG_LEVEL_DEBUG, "steer_order", "server=%s what=%s",
	    p->upstream.server[o->server].config->name, what[o->kind]);
}

/* End an order, carried out or not: G1 collects periodically until then. */
static void
order_over(struct proxy *p, unsigned server)
{
	if (p->upstream.server[server].config->collect ==
	    CONFIG_COLLECT_PERIODIC)
		profiler_collect(p->profiler, server, 0);
}

/* Log what an operator should know, once each time. */
static void
say(struct proxy *p, uint64_t shares, uint64_t unanswered)
{
	if (p->steer.shares != shares)
		log_event(LOG_LEVEL_WARNING, "steer_shares",
		    "for=%llds why=\"the young generations fill faster than "
		    "the other server can drain and collect\" costs=\"requests "
		    "meet collections\" advice=\"a larger young generation "
		    "(-Xmn)\"",
		    (long long)(p->steer.share_ns / NS_PER_S));
	if (p->steer.unanswered != unanswered)
		log_event(LOG_LEVEL_WARNING, "steer_unanswered",
		    "server=%s why=\"the server did not collect within 3 s\" "
		    "again=10s",
		    p->upstream.server[1 - p->hedging.active].config->name);
}

void
steering_tick(struct proxy *p, struct instant now)
{
	struct steer_heap heap[HEDGING_SERVERS] = {0};
	uint64_t shares = p->steer.shares, unanswered = p->steer.unanswered;
	bool collecting[HEDGING_SERVERS] = {0};
	double used[HEDGING_SERVERS];
	struct steer_order order;
	unsigned actions;

	p->steer.on = p->config->hedging.steer;
	UPSTREAM_EACH(&p->upstream, i)
	collecting[i] = p->steer.server[i].phase == STEER_COLLECTING;
	UPSTREAM_EACH(&p->upstream, i)
	heap[i] = heap_now(p, i);
	actions = steer_tick(&p->steer, &p->hedging, heap, now, &order);
	if ((actions & HEDGING_SWAPPED) != 0)
		p->metrics.swaps_steered++;
	proxy_want(p, actions);
	if (order.kind != STEER_ORDER_NONE)
		order_give(p, &order);
	UPSTREAM_EACH(&p->upstream, i)
	if (collecting[i] && p->steer.server[i].phase != STEER_COLLECTING)
		order_over(p, i);
	say(p, shares, unanswered);
	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		used[i] = steer_used(&p->steer, i);
	recent_heap_note(&p->recent, now, used, p->hedging.active);
}
