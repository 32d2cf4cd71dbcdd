/* servers.c: the servers at the start, and their changes at a reload.
 *
 * A server keeps its place (its index in policy, profiler and statistics) as
 * long as its name is in the configuration.  A new server gets a free place, or
 * the place of a server that leaves.  The order of servers in the file matters
 * at the start only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "proxy/request/hazards.h"
#include "proxy/upstream/server.h"

void
servers_observed(const struct config *c, const struct config_server *s,
    struct profiler_server *out)
{
	int port = config_address_port(&s->address);

	*out = (struct profiler_server){
	    .port = port > 0 ? (uint16_t)port : 0,
	    /* Steering reads heaps from hsperfdata, even with an agent. */
	    .hsperfdata = s->jvm == CONFIG_JVM_AUTO ||
			  s->jvm == CONFIG_JVM_HSPERFDATA ||
			  (s->jvm == CONFIG_JVM_AGENT && c->hedging.steer),
	    .agent = s->jvm == CONFIG_JVM_AUTO || s->jvm == CONFIG_JVM_AGENT,
	    .probes = s->jvm == CONFIG_JVM_USDT	  ? PROFILER_PROBES_ON
		      : s->jvm == CONFIG_JVM_AUTO ? PROFILER_PROBES_AUTO
						  : PROFILER_PROBES_OFF,
	    .collect = s->collect == CONFIG_COLLECT_AUTO ? PROFILER_COLLECT_LOAD
		       : s->collect == CONFIG_COLLECT_AGENT
			   ? PROFILER_COLLECT_AGENT
		       : s->collect == CONFIG_COLLECT_PERIODIC
			   ? PROFILER_COLLECT_PERIODIC
			   : PROFILER_COLLECT_NOT,
	};
	snprintf(out->name, sizeof(out->name), "%s", s->name);
	out->listens = s->address.address;
	out->other = s->address.other;
	if (s->argc == 0)
		out->address = s->address.address;
}

static int
server_start(struct server *s)
{
	if (s->config->argc > 0)
		return supervisor_launch(s);
	server_lost(s);
	return 0;
}

int
servers_start(struct proxy *p)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (server_start(&p->upstream.server[i]) < 0)
		return -ECANCELED;
	return 0;
}

/* --- a reload ------------------------------------------------------------- */

/* The server for each place: its number in the configuration, -1: none. */
struct seats {
	int of[CONFIG_SERVERS];
};

static int
number_of(const struct config *c, const char *name)
{
	for (unsigned i = 0; i < c->servers; i++)
		if (strcmp(c->server[i].name, name) == 0)
			return (int)i;
	return -1;
}

static bool
is_seated(const struct seats *s, int number)
{
	for (unsigned i = 0; i < CONFIG_SERVERS; i++)
		if (s->of[i] == number)
			return true;
	return false;
}

/* Return a place for a new server.  If its program needs the address of a
 * server that leaves and must end first, that server's place; else a free
 * place, else the place of the backup. */
static unsigned
seat_for(
    const struct proxy *p, const struct seats *s, const struct config_server *c)
{
	unsigned best = CONFIG_SERVERS;

	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		if (s->of[i] < 0 && server_blocks(&p->upstream.server[i], c))
			return i;
	}
	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		if (s->of[i] >= 0)
			continue;
		if (p->upstream.server[i].config == NULL)
			return i;
		if (best == CONFIG_SERVERS || best == p->hedging.active)
			best = i;
	}
	return best;
}

static void
seats_find(const struct proxy *p, struct seats *out)
{
	const struct config *c = p->config;

	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		const struct config_server *s = p->upstream.server[i].config;

		out->of[i] = s != NULL ? number_of(c, s->name) : -1;
	}
	for (unsigned k = 0; k < c->servers; k++)
		if (!is_seated(out, (int)k))
			out->of[seat_for(p, out, &c->server[k])] = (int)k;
}

/* Configure a server that stays, or begin the new one if the place is free.
 * True if a server has begun. */
static bool
seat_take(struct proxy *p, unsigned place, const struct config_server *c)
{
	struct server *s = &p->upstream.server[place];

	if (c == NULL)
		return false;
	if (s->config == NULL)
		return server_begin(&p->upstream, place, c) == 0;
	if (!config_server_replaces(s->config, c)) {
		server_configure(s, c);
		server_stay(s);
	}
	return false;
}

static void
server_introduce(struct proxy *p, struct server *s, bool renamed)
{
	struct profiler_server is = {0};
	unsigned place = (unsigned)(s - p->upstream.server);

	if (renamed) {
		metrics_server_forget(&p->metrics, place);
		steer_forget(&p->steer, place);
	}
	if (s->config != NULL)
		servers_observed(p->config, s->config, &is);
	profiler_server_set(p->profiler, place, &is);
	if (s->config == NULL)
		return;
	if (renamed)
		supervisor_init(s);
	/* A failed start is logged, and tried again like after an exit. */
	if (server_start(s) < 0)
		supervisor_again(s);
}

void
servers_change(struct proxy *p)
{
	const struct config *c = p->config;
	const struct config_server *next[CONFIG_SERVERS];
	bool begun[CONFIG_SERVERS];
	struct seats seats;

	seats_find(p, &seats);
	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		next[i] = seats.of[i] >= 0 ? &c->server[seats.of[i]] : NULL;
		begun[i] = seat_take(p, i, next[i]);
	}
	/* The policy learns of a place before its server does anything. */
	limits_apply(p);
	for (unsigned i = 0; i < CONFIG_SERVERS; i++) {
		struct server *s = &p->upstream.server[i];

		if (begun[i]) {
			log_event(LOG_LEVEL_NOTICE, "server_added",
			    "server=%s address=%s", s->config->name,
			    s->config->address.text);
			server_introduce(p, s, true);
		} else if (s->config != NULL && s->config != next[i]) {
			server_replace(s, next[i]);
		}
	}
	UPSTREAM_EACH(&p->upstream, i)
	if (p->upstream.server[i].next.due)
		maintenance_replace(&p->upstream.server[i]);
}

/* Leave an active place that is empty now.  Only this makes the other server
 * active in watch mode, and in any mode before that server is ready. */
static void
active_review(struct proxy *p)
{
	struct upstream *up = &p->upstream;
	unsigned active = p->hedging.active;

	if (up->server[active].config == NULL &&
	    up->server[1 - active].config != NULL)
		proxy_want(
		    p, hedging_active_removed(&p->hedging, instant_now()));
}

void
servers_replaced(void *user, struct server *s, bool renamed)
{
	struct proxy *p = user;

	limits_apply(p);
	active_review(p);
	server_introduce(p, s, renamed);
}
