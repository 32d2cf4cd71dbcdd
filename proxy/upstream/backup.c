/* backup.c: keeps a backup ready to take over at any moment.
 *
 * At a swap all requests in flight go to the backup at once.  New connections
 * for all of them can fill its backlog (50 by default in a JDK), and the rest
 * must wait.  So as many connections are kept open as requests were in flight
 * lately.  They are opened one by one, each by a request of Tailor's own, and
 * only to a server that keeps connections; after an early close none is opened
 * for CLOSED_EARLY_NS.
 *
 * Without requests nothing shows that a backup is gone, or well again.  When
 * it ends an idle connection, and once a second while it has none, a connection
 * is opened to check that it listens, and closed.  If only a response can show
 * its state (hedging_probe_wanted), it gets a probe. */

#include <errno.h>

#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"
#include "proxy/upstream/upstream.h"

#define ASK_NS (250 * NS_PER_MS)
/* A second, but for how early a tick may come after a late one. */
#define KNOCK_NS (NS_PER_S - 50 * NS_PER_MS)
#define KNOCK_AGAIN_NS (20 * NS_PER_MS)
#define PEAK_WINDOW_NS (10 * NS_PER_S)
#define KEEP_NS (20 * NS_PER_MS) /* least time between two opened */
#define CLOSED_EARLY_NS (30 * NS_PER_S)

/* The most requests in flight of the last 10 to 20 seconds. */
static unsigned
peak_inflight(struct upstream *up, struct instant now)
{
	unsigned inflight = 0;

	UPSTREAM_EACH(up, i)
	inflight += up->hedging->server[i].inflight;
	if (instant_since(now, up->peak_window) >= PEAK_WINDOW_NS) {
		up->peak[1] = up->peak[0];
		up->peak[0] = 0;
		up->peak_window = now;
	}
	if (inflight > up->peak[0])
		up->peak[0] = inflight;
	return up->peak[0] > up->peak[1] ? up->peak[0] : up->peak[1];
}

static bool
is_backup(const struct server *s)
{
	const struct hedging *h = s->upstream->hedging;

	return h->server[s->index].state == SERVER_READY &&
	       h->server[s->index].hazards == 0 && s->index != h->active &&
	       !s->upstream->stopping;
}

bool
backup_is_doubted(const struct server *s)
{
	return s->backup.doubted && is_backup(s);
}

static bool
wants_connection(const struct server *s, unsigned peak, struct instant now)
{
	const struct hedging *h = s->upstream->hedging;
	unsigned there = s->idle.count + s->busy.count + s->draining.count +
			 s->connecting.count + s->waiting.count;

	if (peak > s->config->connections_max)
		peak = s->config->connections_max;
	return there < peak && h->limits.act && is_backup(s) &&
	       s->reuse.keeps_alive && s->backup.keeping == 0 &&
	       !connection_starves(s, now) &&
	       !instant_before(now, s->backup.keep_again) &&
	       instant_since(now, s->backup.kept) >= KEEP_NS &&
	       (!instant_is_set(s->reuse.closed_early) ||
		   instant_since(now, s->reuse.closed_early) >=
		       CLOSED_EARLY_NS);
}

/* Connect to check that a process listens; a full backlog proves that, too. */
static void
backup_knock(struct server *s, struct instant now)
{
	static const struct exchange_ops none = {0};
	struct connection *u;
	int err = connection_get(s, &none, s, REUSE_NONE, &u);

	s->backup.knocked = now;
	s->backup.doubted = err < 0;
	if (err == 0)
		connection_close(u);
	else if (err != -ENOMEM)
		server_failed(s, EXCHANGE_REFUSED);
}

void
backup_tick(struct server *s, struct instant now)
{
	unsigned peak = peak_inflight(s->upstream, now);

	if (is_backup(s) && (s->backup.doubted || s->idle.count == 0) &&
	    instant_since(now, s->backup.knocked) >=
		(s->backup.doubted ? KNOCK_AGAIN_NS : KNOCK_NS))
		backup_knock(s, now);
	if (!s->asking &&
	    hedging_probe_wanted(s->upstream->hedging, s->index) &&
	    instant_since(now, s->asked) >= ASK_NS)
		server_ask(s);
	if (wants_connection(s, peak, now)) {
		s->backup.kept = now;
		server_keep(s);
	}
}
