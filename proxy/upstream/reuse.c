/* reuse.c: which idle connections may be used again, by how long the server is
 * known to keep them.
 *
 * A server can announce that time (Keep-Alive: timeout=N).  Other evidence: an
 * idle connection is still open although the server had time to close it, and
 * the age of a connection that it closes.  A request that must not be lost uses
 * only a connection that has rested for less than half of that time, because an
 * unnoticed pause makes a rest longer than it looks.  A close much sooner than
 * expected shows another reason than that timeout, or a new timeout: no idle
 * connection is proven for DOUBT_NS, unless a second close comes at the same
 * age.  (A server that ends some connections with Connection: close may end
 * others without it.)
 *
 * Evidence expires (the times are below): a server may change, and only new
 * tries can show that.  Proxy thread only. */
#include "proxy/upstream/exchange.h"

#include "proxy/upstream/connection.h"

#define EARLY_NS NS_PER_S	/* no keep-alive timeout is that short */
#define SOON_NS (10 * NS_PER_S) /* a pause may be that long */
#define TRUSTED_NS (5 * NS_PER_S)
#define LONG_NS (10 * NS_PER_S)
#define STEADY_NS (200 * NS_PER_MS) /* time to close what is due */
#define STARVED_NS NS_PER_S	    /* how long none is kept after starving */
/* How long a close that came early, or a starved connection, is remembered. */
#define DOUBT_NS (300 * NS_PER_S)

static bool
within(struct instant then, struct instant now, int64_t ns)
{
	return instant_is_set(then) && instant_since(now, then) < ns;
}

bool
connection_starves(const struct server *s, struct instant now)
{
	return within(s->reuse.starved, now, STARVED_NS);
}

bool
reuse_closes_early(const struct server *s, struct instant now)
{
	return within(s->reuse.closed_early, now, DOUBT_NS);
}

/* The shorter of two durations, where 0 means unknown. */
static int64_t
shorter(int64_t a, int64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* True if ns is less than three quarters of than_ns: servers check their timers
 * at intervals. */
static bool
is_sooner(int64_t ns, int64_t than_ns)
{
	return ns < than_ns - than_ns / 4;
}

/* How long the server keeps u at least, ns; 0: unknown. */
static int64_t
kept_least_ns(const struct connection *u)
{
	const struct server *s = u->server;
	int64_t kept = u->said_ns;

	if (kept == 0 && !instant_is_set(s->reuse.proven))
		return 0;
	if (kept == 0)
		kept = s->reuse.kept_ns;
	if (u->said_ns == 0 && kept < 2 * EARLY_NS)
		kept = 2 * EARLY_NS;
	return shorter(kept, s->reuse.closed_ns);
}

bool
reuse_is_proven(const struct connection *u, struct instant now)
{
	const struct server *s = u->server;
	int64_t trusted = kept_least_ns(u) / 2;

	/* A worker that ends announces it in a response and accepts no further
	 * connections: trust only connections opened later. */
	return instant_before(s->reuse.ended, u->opened) &&
	       instant_since(now, u->rested) <
		   (trusted < TRUSTED_NS ? trusted : TRUSTED_NS) &&
	       !reuse_closes_early(s, now) &&
	       !within(s->reuse.closed_soon, now, DOUBT_NS);
}

void
reuse_closed(const struct connection *u, struct instant then)
{
	struct server *s = u->server;
	int64_t age = instant_since(then, u->rested);
	int64_t due = shorter(u->said_ns, s->reuse.closed_ns);

	if (age < EARLY_NS) {
		s->reuse.closed_early = then;
		s->reuse.kept_ns = 0;
		return;
	}
	if (age < SOON_NS && (due == 0 || is_sooner(age, due))) {
		s->reuse.closed_soon = then;
		s->reuse.kept_ns = 0;
	} else if (!is_sooner(due, age) &&
		   !within(s->reuse.ended, then, DOUBT_NS)) {
		s->reuse.closed_soon = INSTANT_NONE;
	}
	s->reuse.closed_ns = shorter(s->reuse.closed_ns, age);
}

unsigned
reuse_may_rest(const struct server *s, struct instant now)
{
	return s->reuse.kept_ns >= LONG_NS ||
		       within(s->reuse.starved, now, DOUBT_NS)
		   ? 0
		   : 1;
}

void
connection_prove(struct server *s, struct instant steady, struct instant now)
{
	const struct connection *u = TAILQ_LAST(&s->idle.list, connection_list);
	int64_t age;

	if (u == NULL || s->reuse.served_ns - u->rested_served_ns < EARLY_NS)
		return;
	if (!instant_is_set(s->reuse.proven))
		s->reuse.proven = now;
	age = instant_since(now, u->rested);
	if (instant_since(now, steady) < STEADY_NS || age <= s->reuse.kept_ns)
		return;
	s->reuse.kept_ns = age;
	if (is_sooner(s->reuse.closed_ns, age))
		s->reuse.closed_ns = 0; /* the server's timeout has changed */
}
