/* reuse.c: which idle connections may be used again: what a server has shown of
 * how it treats them.
 *
 * Evidence gets old: what it did once it need not do for ever, and a server
 * that is never tried again cannot show that it has changed.  Its ages are in
 * these constants.  Proxy thread only. */
#include "proxy/upstream/exchange.h"

#include "proxy/upstream/connection.h"

/* As REUSE_RECENT_NS, of a server that was seen to keep one for LONG_NS. */
#define TRUSTED_NS (5 * NS_PER_S)
#define LONG_NS (10 * NS_PER_S)
#define STEADY_NS (200 * NS_PER_MS) /* time to close what is due */
#define STARVED_NS NS_PER_S	    /* after a sign of it nothing is kept */
/* After one that was closed early, or in the way of a new one. */
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

/* Whether it has kept one long, and closed none sooner since. */
static bool
keeps_long(const struct server *s)
{
	return instant_is_set(s->reuse.kept_long) &&
	       !instant_before(s->reuse.kept_long, s->reuse.closed_early) &&
	       !instant_before(s->reuse.kept_long, s->reuse.closed_soon);
}

bool
reuse_is_proven(const struct connection *u, struct instant now)
{
	const struct server *s = u->server;

	if (!instant_is_set(s->reuse.proven))
		return false;
	/* A pause that nothing announces makes a rest longer than it looks. */
	return instant_since(now, u->rested) <
		   (keeps_long(s) ? TRUSTED_NS : REUSE_RECENT_NS) &&
	       !reuse_closes_early(s, now) &&
	       !within(s->reuse.closed_soon, now, DOUBT_NS);
}

unsigned
reuse_may_rest(const struct server *s, struct instant now)
{
	return keeps_long(s) || within(s->reuse.starved, now, DOUBT_NS) ? 0 : 1;
}

void
connection_prove(struct server *s, struct instant steady, struct instant now)
{
	const struct connection *u = TAILQ_LAST(&s->idle.list, connection_list);

	if (u == NULL ||
	    s->reuse.served_ns - u->rested_served_ns < REUSE_RECENT_NS)
		return;
	if (!instant_is_set(s->reuse.proven))
		s->reuse.proven = now;
	if (instant_since(now, u->rested) >= LONG_NS &&
	    instant_since(now, steady) >= STEADY_NS)
		s->reuse.kept_long = now;
}
