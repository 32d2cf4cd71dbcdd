/* health.c: health checks of a server that is in service.
 *
 * A backup gets no requests, so only a check shows that it stopped responding.
 * A failed check counts only if no pause of the server overlapped it: pauses
 * are hazards, and handled as such.  The last server in service stays even if
 * its checks fail, because a wrong health target must not end the service.
 *
 * Costs one new connection per interval: a kept connection may be stale, which
 * is no failure of the server.
 *
 * In watch mode a backup is checked up to IN_PAUSES times while the active
 * server pauses, from the begin of the pause on: gain.h estimates from these
 * checks how much acting gains.  They may use a kept connection, and their
 * failures do not count. */

#include <errno.h>

#include "base/log.h"
#include "base/text.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"
#include "proxy/upstream/upstream.h"

#define CHECK_AGAIN_NS (20 * NS_PER_MS) /* while server_may_ask is false */
#define IN_PAUSES 10
#define IN_PAUSE_NS (5 * NS_PER_MS) /* between two of these checks */

static bool
in_service(const struct server *s)
{
	return server_policy(s)->state == SERVER_READY && server_may_serve(s) &&
	       !s->upstream->stopping;
}

static bool
paused_since(const struct server *s, struct instant begin)
{
	const struct hedging_server *h = server_policy(s);

	/* Failures of a server that is silent for no known reason count. */
	return (h->hazards & ~(1U << HAZARD_UNRESPONSIVE)) != 0 ||
	       (instant_is_set(h->hazard_over) &&
		   !instant_before(h->hazard_over, begin));
}

/* True in watch mode if the other server is active and in a hazard on which
 * hedging.mode = act would use this one. */
static bool
other_pauses(const struct server *s)
{
	const struct hedging *h = s->upstream->hedging;

	return !h->limits.act && s->index != h->active &&
	       (h->server[1 - s->index].hazards & hedging_acted_on(h)) != 0;
}

static bool
is_last(const struct server *s)
{
	const struct upstream *up = s->upstream;

	return up->hedging->server[1 - s->index].state != SERVER_READY;
}

enum health_result
health_judge(const struct server *s, enum exchange_end end, unsigned status)
{
	static const enum health_result failed[] = {
	    [EXCHANGE_REFUSED] = HEALTH_REFUSED,
	    [EXCHANGE_UNANSWERED] = HEALTH_CLOSED,
	    [EXCHANGE_CUT] = HEALTH_CLOSED,
	    [EXCHANGE_MALFORMED] = HEALTH_MALFORMED,
	    [EXCHANGE_TIMEOUT] = HEALTH_TIMEOUT,
	};

	if (!exchange_answered(end))
		return failed[end];
	return config_status_expected(s->config, status) ? HEALTH_OK
							 : HEALTH_STATUS;
}

void
health_note(struct server *s, enum health_result result, unsigned status)
{
	if (result == HEALTH_NONE)
		return;
	s->checked.result = result;
	s->checked.status = status;
}

const char *
health_result_name(enum health_result result)
{
	static const char *const name[HEALTH_RESULT_COUNT] = {"none", "ok",
	    "status", "refused", "closed", "malformed", "timeout"};

	return name[result];
}

/* Append ", not 200-399 (Host: a:80)".  The host matters, as a server may have
 * one site per host. */
static void
text_unexpected(const struct server *s, char out[HEALTH_TEXT])
{
	const struct config_server *c = s->config;

	text_append(out, HEALTH_TEXT, ", not ");
	for (unsigned i = 0; i < c->health_statuses; i++)
		text_append(out, HEALTH_TEXT, "%s%s", i > 0 ? "," : "",
		    c->health_status[i]);
	text_append(out, HEALTH_TEXT, " (Host: %s)", server_host(c));
}

char *
health_text(const struct server *s, char out[HEALTH_TEXT])
{
	bool asks = s->probe.length > 0;
	long long ms = (long long)(s->config->health_timeout_ns / NS_PER_MS);

	out[0] = '\0';
	if (s->checked.result == HEALTH_NONE ||
	    (!asks && s->checked.result == HEALTH_OK))
		return out;
	if (asks)
		text_append(out, HEALTH_TEXT, "GET %s ", s->config->health);
	switch (s->checked.result) {
	case HEALTH_OK:
		text_append(out, HEALTH_TEXT, "got %u", s->checked.status);
		break;
	case HEALTH_STATUS:
		text_append(out, HEALTH_TEXT, "got %u", s->checked.status);
		text_unexpected(s, out);
		break;
	case HEALTH_REFUSED:
		text_append(out, HEALTH_TEXT, "%s",
		    asks ? "got no connection" : "no connection");
		break;
	case HEALTH_CLOSED:
		text_append(out, HEALTH_TEXT, "lost its connection");
		break;
	case HEALTH_MALFORMED:
		text_append(out, HEALTH_TEXT,
		    "got something other than an HTTP response");
		break;
	case HEALTH_TIMEOUT:
		text_append(out, HEALTH_TEXT, "%s within %lld ms",
		    asks ? "got no response" : "no connection", ms);
		break;
	case HEALTH_NONE:
	case HEALTH_RESULT_COUNT:
		break;
	}
	return out;
}

/* A refusal is not logged: it is usual while a server starts. */
void
health_log_probe(struct server *s, struct instant now)
{
	char text[HEALTH_TEXT];

	if (s->checked.result <= HEALTH_OK ||
	    s->checked.result == HEALTH_REFUSED ||
	    (s->checked.result == s->checked.logged &&
		s->checked.status == s->checked.logged_status) ||
	    (instant_is_set(s->checked.logged_at) &&
		instant_since(now, s->checked.logged_at) < HEALTH_LOG_NS))
		return;
	s->checked.logged = s->checked.result;
	s->checked.logged_status = s->checked.status;
	s->checked.logged_at = now;
	log_event(LOG_LEVEL_WARNING, "probe_failed",
	    "server=%s result=%s status=%u why=\"%s\"", s->config->name,
	    health_result_name(s->checked.result), s->checked.status,
	    health_text(s, text));
}

static void
health_failed(struct server *s, enum health_result result)
{
	char text[HEALTH_TEXT];

	s->checks_failed++;
	health_note(s, result, s->health.status);
	if (s->health.in_pause || paused_since(s, s->health.begun))
		return;
	s->health.failing++;
	/* The log line before server_lost gives the reason. */
	log_event(s->health.failing == s->config->health_fall
		      ? LOG_LEVEL_WARNING
		      : LOG_LEVEL_INFO,
	    "health_failed",
	    "server=%s result=%s status=%u why=\"%s\" in_a_row=%u",
	    s->config->name, health_result_name(s->checked.result),
	    s->checked.status, health_text(s, text), s->health.failing);
	if (s->health.failing < s->config->health_fall)
		return;
	if (!is_last(s)) {
		s->health.failing = 0;
		server_lost(s);
		return;
	}
	if (!s->health.last_kept)
		log_event(LOG_LEVEL_WARNING, "unhealthy_but_last",
		    "server=%s advice=\"the server fails its health checks "
		    "(%s) and stays in use because no other server is ready\"",
		    s->config->name, text);
	s->health.last_kept = true;
}

static void
on_check_head(struct connection *u, const struct http_head *head)
{
	struct server *s = u->user;

	s->health.status = head->status;
}

/* Add the length of a check to the estimate.  Not if this server paused
 * meanwhile, nor if the other's pause began during the check. */
static void
length_note(struct server *s)
{
	if (!s->upstream->hedging->limits.act &&
	    !paused_since(s, s->health.begun) &&
	    (s->health.in_pause || !other_pauses(s)))
		gain_check(&s->health.lengths,
		    !s->health.in_pause	       ? GAIN_CALM
		    : s->health.as_pause_began ? GAIN_BEGIN
					       : GAIN_LATER,
		    instant_since(instant_now(), s->health.begun));
}

static void
on_check_end(const struct exchange_result *result)
{
	struct server *s = result->user;

	enum health_result found =
	    health_judge(s, result->end, s->health.status);

	s->health.link = NULL;
	if (found == HEALTH_OK) {
		length_note(s);
		health_note(s, found, s->health.status);
		s->checks_ok++;
		s->health.failing = 0;
		s->health.last_kept = false;
	} else {
		health_failed(s, found);
	}
	health_arm(s);
}

static const struct exchange_ops check_ops = {
    .once = true,
    .head = on_check_head,
    .end = on_check_end,
};

/* Checks in a pause use a kept connection, as a hedge does. */
static const struct exchange_ops pause_ops = {
    .head = on_check_head,
    .end = on_check_end,
};

static void
check_begin(struct server *s, bool as_pause_began)
{
	int err;

	s->health.status = 0;
	s->health.begun = instant_now();
	s->health.in_pause = other_pauses(s);
	s->health.as_pause_began = as_pause_began;
	s->health.in_pauses += s->health.in_pause;
	err = connection_get(s, s->health.in_pause ? &pause_ops : &check_ops, s,
	    s->health.in_pause ? REUSE_CHECKED : REUSE_NONE, &s->health.link);
	if (err < 0) {
		s->health.link = NULL;
		if (err != -ENOMEM) /* that is not the server's fault */
			health_failed(s, HEALTH_REFUSED);
		health_arm(s);
		return;
	}
	timer_arm(&s->upstream->loop->timers, &s->health.timer,
	    s->config->health_timeout_ns);
	server_send_get(s->health.link, s->probe.text, s->probe.length);
}

static void
on_health_timer(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	if (s->health.link != NULL) {
		/* No response within health_timeout. */
		connection_close(s->health.link);
		s->health.link = NULL;
		health_failed(s, HEALTH_TIMEOUT);
		health_arm(s);
	} else if (!server_may_ask(s)) {
		timer_arm(&s->upstream->loop->timers, &s->health.timer,
		    CHECK_AGAIN_NS);
	} else if (in_service(s)) {
		check_begin(s, false);
	}
}

void
health_other_pauses(struct server *s)
{
	if (s->probe.length == 0 || s->config->health_interval_ns == 0 ||
	    !in_service(s) || !other_pauses(s) || !server_may_ask(s))
		return;
	s->health.in_pauses = 0;
	if (s->health.link == NULL)
		check_begin(s, true);
}

void
health_init(struct server *s)
{
	timer_init(&s->health.timer, on_health_timer, s);
}

void
health_arm(struct server *s)
{
	bool soon = s->health.in_pauses < IN_PAUSES && other_pauses(s);

	if (s->probe.length > 0 && s->config->health_interval_ns > 0 &&
	    in_service(s))
		timer_arm(&s->upstream->loop->timers, &s->health.timer,
		    soon ? IN_PAUSE_NS : s->config->health_interval_ns);
}

void
health_stop(struct server *s)
{
	timer_clear(&s->upstream->loop->timers, &s->health.timer);
	if (s->health.link != NULL)
		connection_close(s->health.link);
	s->health.link = NULL;
	s->health.failing = 0;
}
