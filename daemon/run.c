/* run.c: the event loop and its tick. */
#include <errno.h>
#include <signal.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/notify.h"
#include "daemon/privileges.h"
#include "proxy/access_log/access_log.h"
#include "proxy/admin/admin.h"
#include "proxy/analysis/analysis.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"
#include "proxy/request/access_fill.h"
#include "proxy/request/hazards.h"
#include "proxy/request/queue.h"
#include "proxy/request/request.h"
#include "proxy/request/service.h"
#include "proxy/upstream/server.h"

/* Ticks by pace.  A turn that has other work does the tick, too, once
 * TICK_NS have passed since the last one: then it needs no wake-up. */
#define TICK_NS (10 * NS_PER_MS)
#define TICK_CALM_NS (50 * NS_PER_MS)
#define TICK_REST_NS NS_PER_S
#define TICK_RESTS 20 /* calm ticks without a request before the first rest */

static void
on_hazard(evutil_socket_t fd, short what, void *user)
{
	struct daemon *d = user;

	(void)fd;
	(void)what;
	proxy_hazards(&d->proxy);
	loop_event_end(&d->proxy.loop);
}

static void
on_answers(evutil_socket_t fd, short what, void *user)
{
	struct daemon *d = user;

	(void)fd;
	(void)what;
	tale_answers(&d->proxy);
}

/* At the start, clients wait in the kernel's backlog until a server has
 * responded, as long as they may wait in Tailor's queue: otherwise a restart
 * would send them 503 before it has probed its servers. */
static void
accept_when_ready(struct proxy *p, struct instant now)
{
	bool due =
	    instant_since(now, p->started) >= p->config->proxy.server_wait_ns;

	UPSTREAM_EACH(&p->upstream, i)
	due |= p->hedging.server[i].state == SERVER_READY;
	if (due)
		clients_accept(&p->clients);
}

/* The longest time until the next tick: each costs up to 50 us. */
static int64_t
tick_longest_ns(const struct daemon *d)
{
	int64_t watchdog_ns;

	if (d->stage != DAEMON_RUNS)
		return TICK_NS;
	switch (proxy_pace(&d->proxy)) {
	case PROXY_PENDING:
		return TICK_NS;
	case PROXY_CALM:
		return TICK_CALM_NS;
	case PROXY_REST:
		break;
	}
	watchdog_ns = notify_watchdog_ns();
	if (d->tick_rests < TICK_RESTS || !d->ready.reported)
		return TICK_CALM_NS;
	return watchdog_ns > 0 && watchdog_ns < TICK_REST_NS ? watchdog_ns
							     : TICK_REST_NS;
}

static void
tick_set(struct daemon *d, struct instant now, int64_t after_ns)
{
	d->tick_ns = after_ns;
	timer_set(&d->proxy.loop.timers, &d->tick_timer, now, after_ns);
}

/* The usual tick makes no system call. */
static void
tick(struct daemon *d, struct instant now)
{
	struct proxy *p = &d->proxy;

	d->ticked = now;
	if (p->clients.accepting == ACCEPT_WAITS && d->stage == DAEMON_RUNS)
		accept_when_ready(p, now);
	proxy_tick(p, now);
	idle_start_tick(p, now);
	admin_tick(d->admin, now);
	admin_tick(d->collectors, now);
	notify_tick(p, now);
	if (d->stage == DAEMON_RUNS)
		ready_tick(&d->ready, p, now);
	if (d->stage == DAEMON_STOPPING)
		daemon_stop_tick(d, now);
}

static void
on_tick(void *user, bool forced)
{
	struct daemon *d = user;
	struct proxy *p = &d->proxy;
	struct instant now = instant_now();

	(void)forced;
	distribution_record(
	    &p->metrics.loop_lag, instant_since(now, d->tick_timer.due));
	tick(d, now);
	supervisor_reap(p);
	tale_answers(p); /* as a fallback, in case the eventfd fails */
	if (d->tick_finished != p->table.finished)
		d->tick_rests = 0;
	else if (d->tick_rests < TICK_RESTS)
		d->tick_rests++;
	d->tick_finished = p->table.finished;
	tick_set(d, now, tick_longest_ns(d));
}

/* A turn's events are over: do the tick with it, or have it come sooner, if
 * that is due.  Reads no clock. */
static void
tick_turn(struct daemon *d)
{
	struct instant now = d->proxy.loop.timers.recent;
	int64_t longest_ns = tick_longest_ns(d);

	if (instant_is_set(now) && d->tick_ns > TICK_NS &&
	    instant_since(now, d->ticked) >= TICK_NS)
		tick(d, now);
	if (longest_ns < d->tick_ns)
		tick_set(d, instant_now(), longest_ns);
}

static void
on_signal(evutil_socket_t number, short what, void *user)
{
	struct daemon *d = user;

	(void)what;
	if (number == SIGHUP)
		daemon_reload(d, "SIGHUP", NULL);
	else if (number == SIGUSR1)
		access_log_reopen(&d->proxy);
	else
		daemon_stop(d, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void
events_assign(struct daemon *d)
{
	static const int number[DAEMON_SIGNALS] = {
	    SIGTERM, SIGINT, SIGHUP, SIGUSR1};
	struct proxy *p = &d->proxy;

	/* Edge-triggered, so that an eventfd that cannot be read does not fire
	 * first in every turn.  Each event takes all hazards. */
	event_assign(&d->hazard_event, p->loop.base,
	    profiler_hazard_fd(p->profiler), EV_READ | EV_PERSIST | EV_ET,
	    on_hazard, d);
	event_priority_set(&d->hazard_event, 0);
	event_assign(&d->answer_event, p->loop.base, analysis_fd(p->analysis),
	    EV_READ | EV_PERSIST, on_answers, d);
	timer_init(&d->tick_timer, on_tick, d);
	for (unsigned i = 0; i < DAEMON_SIGNALS; i++)
		evsignal_assign(
		    &d->signal[i], p->loop.base, number[i], on_signal, d);
}

static int
events_add(struct daemon *d)
{
	struct event *const other[] = {&d->hazard_event, &d->answer_event};

	for (unsigned i = 0; i < 2; i++)
		if (event_add(other[i], NULL) < 0)
			return -ENOMEM;
	for (unsigned i = 0; i < DAEMON_SIGNALS; i++)
		if (event_add(&d->signal[i], NULL) < 0)
			return -ENOMEM;
	tick_set(d, instant_now(), TICK_NS);
	return 0;
}

/* Begin a client's request: for Tailor itself, or for a server. */
static bool
on_head(struct client *c, const struct http_head *head,
    struct http_refusal *refusal)
{
	return tale_call_wanted(head) ? tale_call_begin(c, head, refusal)
				      : request_begin(c, head, refusal);
}

static const struct client_events client_events = {
    .begin = on_head,
    .refused = request_refused,
    .left = request_client_left,
    .late = request_late,
};

int
daemon_init(struct daemon *d)
{
	struct proxy *p = &d->proxy;
	struct hedging_limits limits;
	char why[TOKEN_WHY];
	int err;

	tale_api_init(&d->tales);
	p->tales = &d->tales;
	limits_hedging(p->config, &limits);
	err = proxy_init(
	    p, &limits, &client_events, supervisor_stop, servers_replaced);
	if (err == 0 && token_read(p->config->talechain.token_file,
			    &d->tales.token, why) < 0) {
		log_event(LOG_LEVEL_ERROR, "token_not_read",
		    "path=\"%s\" why=\"%s\"", p->config->talechain.token_file,
		    why);
		err = -ECANCELED; /* logged */
	}
	if (err < 0)
		return err;
	limits_apply(p);
	err = limits_check(p);
	if (err < 0)
		return err;
	UPSTREAM_EACH(&p->upstream, i)
	supervisor_init(&p->upstream.server[i]);
	events_assign(d);
	return 0;
}

static int
access_log_start(struct proxy *p)
{
	int fd, err = access_log_prepare(&p->access_log, p->config, &fd);

	return err < 0 ? -ECANCELED /* logged */
		       : access_log_switch(p->access_log, fd);
}

/* Callback for POST /reload. */
static int
reload(void *user, struct reload_result *out)
{
	return daemon_reload(user, "admin", out);
}

/* Open all listeners.  0, -ENOMEM or -ECANCELED (logged). */
static int
listeners_start(struct daemon *d)
{
	struct proxy *p = &d->proxy;
	const char *failed;
	int err = listeners_change(&p->clients, p->config, &failed);

	if (err == 0)
		err = admin_new(&d->admin, p, reload, d);
	if (err == 0)
		err = admin_new_metrics(&d->collectors, p, p->config);
	return err == 0 || err == -ENOMEM ? err : -ECANCELED;
}

int
daemon_run(struct daemon *d)
{
	struct proxy *p = &d->proxy;
	int err = listeners_start(d);

	if (err == 0)
		err = events_add(d);
	if (err == 0)
		err = privileges_drop();
	if (err == 0)
		err = access_log_start(p);
	if (err == 0)
		limits_try_spool(p);
	if (err == 0)
		err = servers_start(p);
	if (err < 0)
		return err;
	activation_fini();
	notify_keep(&p->clients);
	notify_ready(p);
	while (d->stage != DAEMON_STOPPED) {
		err = loop_turn_begin(&p->loop);
		if (err < 0)
			return err;
		/* Slots also become free when a loser has drained, an attempt
		 * has failed or a warm-up is over. */
		queue_wake(p);
		tick_turn(d);
		loop_turn_end(&p->loop);
		profiler_in_flight(
		    p->profiler, p->table.inflight_count > p->tunnels);
		clients_reap(&p->clients);
	}
	log_event(LOG_LEVEL_NOTICE, "stopped",
	    "requests=%llu cut_requests=%u cut_connections=%u",
	    (unsigned long long)p->table.finished, d->cut_requests,
	    d->cut_connections);
	return 0;
}

void
daemon_fini(struct daemon *d)
{
	struct proxy *p = &d->proxy;

	p->clients.stopping = p->upstream.stopping = true;
	admin_free(&d->admin);
	admin_free(&d->collectors);
	UPSTREAM_EACH(&p->upstream, i)
	supervisor_kill(&p->upstream.server[i]);
	proxy_fini(p);
}
