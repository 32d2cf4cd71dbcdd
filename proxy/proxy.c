/*
 * proxy.c: the proxy thread's loop: its setting up, its turns, its end.
 *
 * The hazard eventfd has the highest priority of all events, so a swap is in
 * force for the very next request of a turn.
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "proxy/access_log.h"
#include "proxy/activation.h"
#include "proxy/admin.h"
#include "proxy/analysis.h"
#include "proxy/attempt.h"
#include "proxy/limits.h"
#include "proxy/notify.h"
#include "proxy/privileges.h"

#define TICK_NS (10 * NS_PER_MS)

static void
on_hazard(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	proxy_hazards(user);
}

static void
on_answers(evutil_socket_t fd, short what, void *user)
{
	(void)fd;
	(void)what;
	tale_answers(user);
}

/* At the start clients wait in the kernel's queue until a server has
 * answered, as long as they may wait in ours: a restart should not answer
 * them 503 merely because it looks at its servers only then. */
static void
accept_when_ready(struct proxy *p, struct instant now)
{
	bool due =
	    instant_since(now, p->started) >= p->config->proxy.server_wait_ns;

	for (unsigned i = 0; i < p->config->servers; i++)
		due |= p->hedging.server[i].state == SERVER_READY;
	if (!due)
		return;
	p->accepting = true;
	if (!p->accept_paused)
		listeners_pause(p, false);
}

static void
on_tick(void *user, bool forced)
{
	struct proxy *p = user;
	struct instant now = instant_now();

	(void)forced;
	timer_set(&p->timers, &p->tick_timer, now, TICK_NS);
	if (instant_is_set(p->ticked))
		distribution_record(&p->metrics.loop_lag,
		    instant_since(now, p->ticked) - TICK_NS);
	p->ticked = now;
	/* Both have an eventfd of their own; if writing to that fails, they
	 * wait for this at most. */
	proxy_hazards(p);
	tale_answers(p);
	proxy_apply(p, hedging_tick(&p->hedging, now));
	proxy_count_both(p, now);
	ledger_tick(p, now);
	if (!p->accepting && !p->stopping)
		accept_when_ready(p, now);
	if (p->accept_paused && !instant_before(now, p->accept_due)) {
		p->accept_paused = false;
		if (p->accepting && !p->stopping)
			listeners_pause(p, false);
	}
	notify_tick(p, now);
	for (unsigned i = 0; i < p->config->servers; i++)
		server_tick(&p->server[i], now);
	queue_tick(p, now);
	if (p->stopping)
		proxy_stop_tick(p, now);
}

static void
on_signal(evutil_socket_t number, short what, void *user)
{
	(void)what;
	if (number == SIGHUP)
		proxy_reload(user, "SIGHUP", NULL);
	else if (number == SIGUSR1)
		access_log_reopen(user);
	else
		proxy_stop(user, number == SIGTERM ? "SIGTERM" : "SIGINT");
}

static struct event_base *
base_new(void)
{
	struct event_config *ec = event_config_new();
	struct event_base *base;

	if (ec == NULL)
		return NULL;
	event_config_set_flag(ec, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(ec);
	event_config_free(ec);
	if (base != NULL && event_base_priority_init(base, 2) < 0) {
		event_base_free(base);
		return NULL;
	}
	return base;
}

static void
events_assign(struct proxy *p)
{
	/* Edges only: an eventfd that cannot be read must not come first in
	 * every turn, before all else.  All hazards are taken each time. */
	event_assign(&p->hazard_event, p->base, profiler_hazard_fd(p->profiler),
	    EV_READ | EV_PERSIST | EV_ET, on_hazard, p);
	event_priority_set(&p->hazard_event, 0);
	event_assign(&p->answer_event, p->base, analysis_fd(p->analysis),
	    EV_READ | EV_PERSIST, on_answers, p);
	timer_init(&p->tick_timer, on_tick, p);
	evsignal_assign(&p->signal_term, p->base, SIGTERM, on_signal, p);
	evsignal_assign(&p->signal_int, p->base, SIGINT, on_signal, p);
	evsignal_assign(&p->signal_hup, p->base, SIGHUP, on_signal, p);
	evsignal_assign(&p->signal_usr1, p->base, SIGUSR1, on_signal, p);
}

int
proxy_init(struct proxy *p)
{
	const struct config *config = p->config;
	struct hedging_limits limits;
	char why[TOKEN_WHY];
	int err;

	p->started = instant_now();
	listeners_init(p);
	TAILQ_INIT(&p->clients);
	TAILQ_INIT(&p->clients_closed);
	TAILQ_INIT(&p->clients_unused);
	queue_init(&p->queue);
	sending_init(&p->sending);
	TAILQ_INIT(&p->tale_queries);
	block_pool_init(&p->blocks, 0);
	metrics_init(&p->metrics);
	ledger_init(p);
	limits_hedging(config, &limits);
	hedging_init(&p->hedging, &limits);
	limits_apply(p);
	p->base = base_new();
	if (p->base == NULL)
		return -ENOMEM;
	err = timers_init(&p->timers, p->base);
	if (err < 0)
		return err;
	err = replay_table_init(&p->replay);
	if (err == 0)
		err = peer_table_init(&p->peers, config->proxy.connections_max);
	if (err == 0)
		err = table_init(&p->table, config->slow.history);
	if (err == 0 &&
	    token_read(config->talechain.token_file, &p->tale_token, why) < 0)
		err = -ECANCELED; /* the line about it says all */
	for (unsigned i = 0; err == 0 && i < config->servers; i++)
		err = server_init(&p->server[i], p, i);
	if (err == 0)
		events_assign(p);
	return err;
}

static int
events_add(struct proxy *p)
{
	int err = 0;
	struct event *const others[] = {&p->hazard_event, &p->answer_event,
	    &p->signal_term, &p->signal_int, &p->signal_hup, &p->signal_usr1};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (err == 0)
			err = event_add(others[i], NULL);
	if (err < 0)
		return -ENOMEM;
	timer_arm(&p->timers, &p->tick_timer, TICK_NS);
	return 0;
}

static void
proxy_turn_end(struct proxy *p)
{
	unsigned actions = p->actions;

	p->actions = 0;
	if (actions != 0)
		proxy_apply(p, actions);
	/* A slot may be free without a request having ended: a loser has
	 * drained, an attempt has failed, a warm-up is over. */
	if (p->queue.length > 0)
		queue_run(p);
	timers_turn(&p->timers);
	for (unsigned i = 0; i < p->config->servers; i++)
		uplink_turns(&p->server[i]);
	sending_run(p);
	clients_reap(p);
}

static int
servers_start(struct proxy *p)
{
	for (unsigned i = 0; i < p->config->servers; i++) {
		struct server *s = &p->server[i];

		if (p->config->server[i].argc == 0)
			server_lost(s);
		else if (server_launch(s) < 0)
			return -ECHILD;
	}
	return 0;
}

static int
access_log_start(struct proxy *p)
{
	int fd, err = access_log_prepare(p->config, &fd);

	return err < 0 ? err
		       : access_log_switch(&p->access_log,
			     p->config->access_log.ring_records, fd);
}

int
proxy_run(struct proxy *p)
{
	const char *failed;
	int err = listeners_change(p, p->config, &failed);

	if (err == 0)
		err = admin_new(&p->admin, p);
	if (err == 0)
		err = events_add(p);
	if (err == 0)
		err = access_log_start(p);
	if (err == 0)
		err = privileges_drop(p->config);
	if (err == 0)
		limits_try_spool(p);
	if (err == 0)
		err = servers_start(p);
	if (err < 0)
		return err;
	activation_fini();
	notify_ready(p);
	while (!p->stopped) {
		int flags =
		    p->config->proxy.spin ? EVLOOP_NONBLOCK : EVLOOP_ONCE;

		if (event_base_loop(p->base, flags) < 0)
			return -EIO;
		proxy_turn_end(p);
	}
	log_event(LOG_LEVEL_NOTICE, "stopped",
	    "requests=%llu cut_requests=%u cut_connections=%u",
	    (unsigned long long)p->table.finished, p->cut_requests,
	    p->cut_connections);
	return 0;
}

void
proxy_fini(struct proxy *p)
{
	p->stopping = true;
	if (p->base != NULL) {
		listeners_close(p, false);
		clients_fini(p);
		admin_free(&p->admin);
		for (unsigned i = 0; i < p->config->servers; i++) {
			if (p->server[i].proxy == NULL)
				continue;
			server_kill(&p->server[i]);
			server_fini(&p->server[i]);
		}
		timers_fini(&p->timers);
		event_base_free(p->base);
		p->base = NULL;
	}
	access_log_free(&p->access_log);
	table_fini(&p->table);
	peer_table_fini(&p->peers);
	replay_table_fini(&p->replay);
	block_pool_fini(&p->blocks);
}
