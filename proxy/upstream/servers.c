/* servers.c: the tick of each server, and what it logs. */

#include "base/log.h"
#include "base/text.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"

int
server_begin(struct upstream *up, unsigned place, const struct config_server *c)
{
	struct server *s = &up->server[place];
	int err = server_init(s, up, place, c);

	if (err < 0) {
		server_fini(s);
		log_event(LOG_LEVEL_ERROR, "server_not_added",
		    "server=%s error=\"%s\"", c->name, strerror(-err));
		return err;
	}
	health_init(s);
	collect_init(s);
	return 0;
}

void
server_end(struct server *s)
{
	if (s->upstream == NULL)
		return; /* the place is empty */
	health_stop(s);
	collect_stop(s);
	server_fini(s);
}

/* The latest error: a status like "502", or how the exchange ended. */
static const char *
erred_text(const struct server *s, char out[16])
{
	if (s->erred_status == 0)
		return exchange_end_name(s->erred);
	snprintf(out, 16, "%u", s->erred_status);
	return out;
}

static void
failing_log(struct server *s)
{
	char latest[16];
	const struct hedging_server *h = server_policy(s);

	if (h->failing == s->failing_logged)
		return;
	s->failing_logged = h->failing;
	if (h->failing)
		log_event(LOG_LEVEL_WARNING, "server_failing",
		    "server=%s errors_percent=%.0f latest=%s advice=\"the "
		    "server responds with errors, breaks off or is late; it "
		    "gets no requests while another server can serve: see its "
		    "own log\"",
		    s->config->name, 100 * h->errors, erred_text(s, latest));
	else if (h->state > SERVER_CONNECTING)
		log_event(LOG_LEVEL_NOTICE, "server_recovered", "server=%s",
		    s->config->name);
}

/* Log changes of a server's state, and run the ticks of its parts. */
static void
server_tick(struct server *s, struct instant now)
{
	enum server_state state = server_policy(s)->state;

	if (state != s->state_logged) {
		if (state == SERVER_READY) {
			log_event(LOG_LEVEL_NOTICE, "server_ready",
			    "server=%s after_ms=%lld warmups=%llu",
			    s->config->name,
			    (long long)(instant_since(now, s->state_since) /
					NS_PER_MS),
			    (unsigned long long)s->warmups_ok);
			health_arm(s);
		}
		if (state == SERVER_READY && s->state_logged == SERVER_WARMING)
			distribution_record(&s->warmup_length,
			    instant_since(now, s->warming_since));
		if (state == SERVER_WARMING)
			s->warming_since = now;
		if (s->state_logged == SERVER_READY)
			s->state_since = now;
		s->state_logged = state;
	}
	failing_log(s);
	recent_rate_read(&s->response_rate, now, server_responses(s));
	recent_rate_read(&s->error_rate, now, server_errors(s));
	maintenance_tick(s, now);
	silence_tick(s, now);
	backup_tick(s, now);
}

int
upstream_init(struct upstream *up)
{
	int err = replay_table_init(&up->replay);

	up->losers_max = DRAIN_CONNECTIONS_MAX;
	for (unsigned i = 0; err == 0 && i < up->config->servers; i++)
		err = server_begin(up, i, &up->config->server[i]);
	return err;
}

void
upstream_fini(struct upstream *up)
{
	for (unsigned i = 0; i < CONFIG_SERVERS; i++)
		server_end(&up->server[i]);
	replay_table_fini(&up->replay);
}

void
upstream_tick(struct upstream *up, struct instant now)
{
	bool served = false;

	UPSTREAM_EACH(up, i)
	{
		server_tick(&up->server[i], now);
		served |=
		    server_policy(&up->server[i])->state > SERVER_CONNECTING;
	}
	UPSTREAM_EACH(up, i)
	if (!up->stopping && server_next_may_begin(&up->server[i]))
		server_take_next(&up->server[i]);
	if (up->served && !served && !up->stopping)
		log_event(LOG_LEVEL_WARNING, "no_server",
		    "advice=\"no server responds, so clients get 503: see "
		    "tailorctl servers, and the servers' own logs\"");
	up->served = served;
}
