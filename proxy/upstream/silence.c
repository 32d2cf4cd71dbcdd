/* silence.c: noticing that a server has stopped responding.
 *
 * A server that hangs neither collects nor ends, and its connections stay open.
 * The only sign is that requests wait and no byte comes from the server.  That
 * is a hazard (unresponsive) only when
 *
 *   - several requests wait (SILENCE_REQUESTS), or one for very long;
 *   - the silence is several times longer than the longest of the last five to
 *     ten minutes, and longer than a least time: 1 s if several requests wait,
 *     else 5 s, or 10 s while little is known of the server;
 *   - a request of Tailor's own (its health target, or a copy of a recent
 *     request) was sent meanwhile and had no response either.
 *
 * The hazard ends with the first byte from the server.  A false alarm costs a
 * swap, and second attempts of requests that may be repeated; no request fails.
 *
 * Cost: a counter for each read, and a walk over the busy connections ten
 * times a second.  Proxy thread only. */
#include "base/log.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"
#include "proxy/upstream/upstream.h"

#define LOOK_NS (100 * NS_PER_MS)
#define BLIND_NS (3 * LOOK_NS) /* after such a gap Tailor itself paused */
#define WINDOW_NS (300 * NS_PER_S)
#define ANSWER_NS (500 * NS_PER_MS) /* for the response to a probe */
#define SILENCE_REQUESTS 3
#define STARVED_LEAST_NS (100 * NS_PER_MS)
#define FORGET_NS (5 * NS_PER_S)
#define RESPONSES_KNOWN 100 /* least responses for a server to be known */

/* SEVERAL: SILENCE_REQUESTS or more wait.  FEW: fewer wait. */
#define SEVERAL_FACTOR 4
#define SEVERAL_LEAST_NS NS_PER_S
#define FEW_FACTOR 10
#define FEW_LEAST_NS (5 * NS_PER_S)
#define UNKNOWN_LEAST_NS (10 * NS_PER_S)

struct awaited {
	unsigned requests;
	struct instant since; /* when the first request was written */
	struct instant fresh; /* when the first on a new connection was */
};

/* Count requests that were written and have no byte of a response yet. */
static struct awaited
awaited_count(const struct server *s)
{
	struct awaited a = {0};
	const struct connection *u;

	TAILQ_FOREACH(u, &s->busy.list, link)
	{
		if (!exchange_is_awaited(u) || u->received_bytes > 0 ||
		    !instant_is_set(u->written_first))
			continue;
		a.requests++;
		if (!instant_is_set(a.since) ||
		    instant_before(u->written_first, a.since))
			a.since = u->written_first;
		if (u->exchanges == 1 &&
		    (!instant_is_set(a.fresh) ||
			instant_before(u->written_first, a.fresh)))
			a.fresh = u->written_first;
	}
	return a;
}

static int64_t
longest_ns(const struct silence *q)
{
	return q->longest_ns[0] > q->longest_ns[1] ? q->longest_ns[0]
						   : q->longest_ns[1];
}

static void
longest_note(struct silence *q, int64_t silent_ns)
{
	if (silent_ns > q->longest_ns[0])
		q->longest_ns[0] = silent_ns;
}

static void
windows_turn(struct silence *q, struct instant now)
{
	if (instant_is_set(q->window) &&
	    instant_since(now, q->window) < WINDOW_NS)
		return;
	q->longest_ns[1] = q->longest_ns[0];
	q->longest_ns[0] = 0;
	q->window = now;
}

/* How long a silence must last before the server is doubted. */
static int64_t
patience_ns(const struct server *s, unsigned requests)
{
	const struct hedging_server *h = server_policy(s);
	bool several = requests >= SILENCE_REQUESTS;
	int64_t least = several ? SEVERAL_LEAST_NS : FEW_LEAST_NS;
	int64_t longest =
	    longest_ns(&s->silence) * (several ? SEVERAL_FACTOR : FEW_FACTOR);

	if (h->latency.count < RESPONSES_KNOWN)
		least = UNKNOWN_LEAST_NS;
	return longest > least ? longest : least;
}

static bool
is_unresponsive(const struct server *s)
{
	return (server_policy(s)->hazards & 1U << HAZARD_UNRESPONSIVE) != 0;
}

static void
report(struct server *s, bool begin, struct instant now)
{
	struct hazard h = {
	    .server = (uint8_t)s->index,
	    .kind = HAZARD_UNRESPONSIVE,
	    .begin = begin,
	    .pid = s->program.pid > 0 ? (uint32_t)s->program.pid : 0,
	    .at = now,
	    .seen = now,
	};

	s->upstream->events.hazard(s->upstream->user, &h);
}

/* End a silence, and the hazard if a byte was heard; a new silence begins now.
 * The length of a hazard is not learnt as a usual silence. */
static void
silence_over(struct server *s, bool heard, struct instant now)
{
	struct silence *q = &s->silence;

	if (heard && q->awaited && !is_unresponsive(s))
		longest_note(q, instant_since(now, q->since));
	q->since = now;
	q->asked = false;
	if (heard && is_unresponsive(s)) {
		log_event(LOG_LEVEL_NOTICE, "server_responds", "server=%s",
		    s->config->name);
		report(s, false, now);
	}
}

/* A server has been silent for longer than it should: send a probe, and if
 * there is no response to that either, act. */
static void
silence_doubt(struct server *s, const struct awaited *a, int64_t silent_ns,
    struct instant now)
{
	struct silence *q = &s->silence;

	if (!q->asked && server_ask(s)) {
		q->asked = true;
		q->asked_at = now;
		return;
	}
	/* A backup gets no requests, so only a probe can prove it silent. */
	if (!q->asked && s->index != s->upstream->hedging->active)
		return;
	if (q->asked ? instant_since(now, q->asked_at) < ANSWER_NS
		     : silent_ns < 2 * patience_ns(s, a->requests))
		return;
	log_event(LOG_LEVEL_WARNING, "server_unresponsive",
	    "server=%s silent_ms=%lld requests=%u longest_before_ms=%lld",
	    s->config->name, (long long)(silent_ns / NS_PER_MS), a->requests,
	    (long long)(longest_ns(q) / NS_PER_MS));
	report(s, true, now);
}

/* End the hazard of a server after FORGET_NS in which no request waits for it
 * and no probe can be sent: no byte could come. */
static void
silence_forget(struct server *s, const struct awaited *a, struct instant now)
{
	struct silence *q = &s->silence;

	if (a->requests > 0 || s->draining.count > 0 || s->asking ||
	    server_ask(s)) {
		q->since = now;
		return;
	}
	if (instant_since(now, q->since) < FORGET_NS)
		return;
	log_event(LOG_LEVEL_NOTICE, "server_believed",
	    "server=%s why=\"no request waits for the server, and Tailor "
	    "cannot probe it\" advice=\"set servers.health\"",
	    s->config->name);
	q->since = now;
	report(s, false, now);
}

/* A server with one worker per connection may have all workers on idle ones
 * while a new connection waits: close the idle ones then.  (nginx keeps none by
 * default.) */
static void
starved_look(struct server *s, const struct awaited *a, struct instant now)
{
	const struct hedging_server *h = server_policy(s);
	int64_t long_ns = 2 * h->latency_p95_ns;

	if (long_ns < STARVED_LEAST_NS)
		long_ns = STARVED_LEAST_NS;
	if (!instant_is_set(a->fresh) || h->hazards != 0 ||
	    instant_since(now, a->fresh) < long_ns ||
	    (s->idle.count == 0 && !connection_starves(s, now)))
		return;
	s->reuse.starved = now;
	s->idle_given_up += s->idle.count;
	connection_close_idle(s);
}

static void
silence_look(struct server *s, struct instant now)
{
	const struct hedging_server *h = server_policy(s);
	struct silence *q = &s->silence;
	struct awaited a = awaited_count(s);
	bool heard = q->reads != s->reads;
	bool blind = instant_since(now, q->looked) > BLIND_NS;
	int64_t silent_ns;

	starved_look(s, &a, now);
	if (!heard || blind || !instant_is_set(q->steady))
		q->steady = now;
	else
		s->reuse.served_ns += instant_since(now, q->looked);
	connection_prove(s, q->steady, now);
	windows_turn(q, now);
	q->looked = now;
	q->reads = s->reads;
	if (is_unresponsive(s) && !heard) {
		silence_forget(s, &a, now);
		return;
	}
	if (heard || blind || a.requests == 0 || h->hazards != 0 ||
	    h->state != SERVER_READY) {
		silence_over(s, heard, now);
		q->awaited = a.requests > 0;
		return;
	}
	q->awaited = true;
	silent_ns = instant_since(
	    now, instant_before(q->since, a.since) ? a.since : q->since);
	if (silent_ns >= patience_ns(s, a.requests))
		silence_doubt(s, &a, silent_ns, now);
}

void
silence_tick(struct server *s, struct instant now)
{
	if (instant_since(now, s->silence.looked) >= LOOK_NS)
		silence_look(s, now);
}
