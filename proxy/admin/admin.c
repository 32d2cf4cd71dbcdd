/* admin.c: the listener, its routes, and the handlers that only read.
 *
 * Every handler makes its whole response in memory; the only ones that wait are
 * timelines, lists and pages, which the analysis thread renders. */
#include "proxy/admin/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/embed.h"
#include "base/log.h"
#include "base/file.h"
#include "proxy/admin/admin_handlers.h"
#include "proxy/admin/admin_call.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/client/client.h"
#include "proxy/client/listeners.h"
#include "proxy/request/proxy.h"

#define HEAD_MAX 16384
#define BODY_MAX 16384
#define TIMEOUT_NS (30 * NS_PER_S)

static void
on_metrics(struct admin_call *call)
{
	struct proxy *p = call->proxy;
	struct exposition e;
	struct instant begun = instant_now();

	exposition_init(&e, call->openmetrics);
	metrics_write(p, &e);
	p->metrics.render_ns = instant_since(instant_now(), begun);
	snprintf(call->extra, sizeof(call->extra), "Vary: Accept\r\n");
	if (e.text.failed)
		admin_reply_text(call, 500, "out of memory\n");
	else
		admin_reply(call, 200,
		    e.openmetrics ? "application/openmetrics-text; "
				    "version=1.0.0; charset=utf-8"
				  : "text/plain; version=0.0.4; charset=utf-8",
		    e.text.at, e.text.length);
	exposition_fini(&e);
}

static void
on_requests(struct admin_call *call)
{
	struct json j;

	json_init(&j, false);
	admin_write_requests(
	    call->proxy, admin_query_number(call, "n", 100, 1000), &j);
	admin_reply_json(call, 200, &j);
}

static void
on_config(struct admin_call *call)
{
	struct json j;

	json_init(&j, true);
	config_write(call->proxy->config, &j);
	admin_reply_json(call, 200, &j);
}

static void
on_healthz(struct admin_call *call)
{
	admin_reply_text(call, 200, "ok\n");
}

static void
on_readyz(struct admin_call *call)
{
	struct proxy *p = call->proxy;

	if (p->clients.stopping)
		admin_reply_text(call, 503, "stopping\n");
	else if (hedging_choose(&p->hedging) == HEDGING_UNAVAILABLE)
		admin_reply_text(call, 503, "no server is ready\n");
	else
		admin_reply_text(call, 200, "ready\n");
}

EMBED(index_text, "proxy/admin/page/index.txt");

static void
on_index(struct admin_call *call)
{
	if (admin_wants_page(call))
		admin_live_page(call);
	else
		admin_reply_text(call, 200, index_text);
}

static void
on_unknown(struct admin_call *call)
{
	admin_reply_error(call, 404, "GET / lists what there is");
}

static void
on_metrics_unknown(struct admin_call *call)
{
	admin_reply_error(call, 404, "GET /metrics, /healthz or /readyz");
}

/* The first route that fits a path is used. */
static const struct admin_route routes[] = {
    {"GET", "/", .handler = on_index},
    {"GET", "/metrics", .handler = on_metrics},
    {"GET", "/servers", .report = admin_write_servers},
    {"GET", "/requests", .handler = on_requests},
    {"GET", "/config", .handler = on_config},
    {"GET", "/slow", .handler = admin_slow},
    {"GET", "/blame", .handler = admin_blame},
    {"GET", "/accounts", .handler = admin_accounts},
    {"GET", "/latencies", .handler = admin_latencies},
    {"GET", "/ledger", .report = ledger_report},
    {"GET", "/gain", .report = gain_report},
    {"GET", "/live", .handler = admin_live_page},
    {"GET", "/live.json", .handler = admin_live},
    {"GET", "/timeline/*", .handler = admin_timeline},
    {"GET", "/healthz", .handler = on_healthz},
    {"GET", "/readyz", .handler = on_readyz},
    {"GET", "/stream", .report = admin_write_stream},
    {"GET", "/info", .report = admin_write_info},
    {"POST", "/pin", .handler = admin_pin},
    {"POST", "/switch", .handler = admin_switch},
    {"POST", "/pause", .handler = admin_hazard},
    {NULL, "/reload", .handler = admin_reload},
    {"POST", "/drain", .handler = admin_drain},
    {"POST", "/undrain", .handler = admin_undrain},
    {"POST", "/restart", .handler = admin_restart},
    {"POST", "/log", .handler = admin_log},
    {"GET", "*", .handler = on_unknown},
};

/* Requests that a collector may send. */
static const struct admin_route metrics_routes[] = {
    {"GET", "/metrics", .handler = on_metrics},
    {"GET", "/healthz", .handler = on_healthz},
    {"GET", "/readyz", .handler = on_readyz},
    {"GET", "*", .handler = on_metrics_unknown},
};

static int
admin_listen(
    struct admin *a, const char *name, const struct config_address *address)
{
	const struct sockaddr_un *un = (const void *)&address->address;
	struct listener *l;
	mode_t mask;
	int err = 0;

	if (address->address.ss_family == AF_UNIX)
		err = rundir_prepare(un->sun_path);
	if (err == 0) {
		mask = umask(0117);
		err = listener_open(&a->clients, address, &l);
		umask(mask);
	}
	if (err < 0) {
		listener_complain(name, address->text, err);
		return err;
	}
	clients_accept(&a->clients);
	log_event(LOG_LEVEL_NOTICE, name, "address=\"%s\"", address->text);
	return 0;
}

static const struct client_events client_events = {
    .begin = admin_call_begin,
};

/* Reserve some blocks, so that the admin listener still works when memory has
 * run out. */
static void
blocks_prepare(struct block_pool *pool)
{
	struct block *b[2 * ADMIN_CLIENT_BLOCKS];

	block_pool_init(pool, (size_t)ADMIN_CLIENTS_MAX * ADMIN_CLIENT_BLOCKS);
	for (unsigned i = 0; i < 2 * ADMIN_CLIENT_BLOCKS; i++)
		b[i] = block_take(pool);
	for (unsigned i = 0; i < 2 * ADMIN_CLIENT_BLOCKS; i++)
		block_give(pool, b[i]);
}

static struct admin *
admin_make(struct proxy *p)
{
	struct admin *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->proxy = p;
	a->routes = routes;
	a->config.proxy.connections_max = ADMIN_CLIENTS_MAX;
	a->config.proxy.header_timeout_ns = TIMEOUT_NS;
	a->config.proxy.client_timeout_ns = TIMEOUT_NS;
	a->config.proxy.idle_timeout_ns = TIMEOUT_NS;
	a->config.proxy.body_max_bytes = BODY_MAX;
	a->clients = (struct clients){
	    .loop = &p->loop,
	    .blocks = &a->blocks,
	    .config = &a->config,
	    .metrics = &a->metrics,
	    .events = &client_events,
	    .user = a,
	    .connections_max = ADMIN_CLIENTS_MAX,
	    .limits = {.head_max = HEAD_MAX,
		.fields_max = HTTP_FIELDS_MAX,
		.body_max = BODY_MAX},
	};
	return a;
}

/* Open the listener of a; takes ownership of a. */
static int
admin_open(struct admin **out, struct admin *a, const char *name,
    const struct config_address *address)
{
	int err;

	blocks_prepare(&a->blocks);
	err = clients_init(&a->clients);
	if (err == 0)
		err = admin_listen(a, name, address);
	*out = a;
	if (err < 0)
		admin_free(out);
	return err;
}

int
admin_new(struct admin **out, struct proxy *p,
    int (*reload)(void *user, struct reload_result *out), void *user)
{
	struct admin *a;

	*out = NULL;
	if (p->config->admin.length == 0)
		return 0;
	a = admin_make(p);
	if (a == NULL)
		return -ENOMEM;
	a->reload = reload;
	a->user = user;
	return admin_open(out, a, "admin", &p->config->admin);
}

void
admin_allow(struct admin *a, const struct config *c)
{
	a->config.talechain.networks = c->metrics.networks;
	memcpy(a->config.talechain.allow, c->metrics.allow,
	    sizeof(c->metrics.allow));
}

int
admin_new_metrics(struct admin **out, struct proxy *p, const struct config *c)
{
	struct admin *a;

	*out = NULL;
	if (c->metrics.listen.length == 0)
		return 0;
	a = admin_make(p);
	if (a == NULL)
		return -ENOMEM;
	a->metrics_only = a->clients.known_only = true;
	a->routes = metrics_routes;
	admin_allow(a, c);
	return admin_open(out, a, "metrics", &c->metrics.listen);
}

void
admin_free(struct admin **ap)
{
	if (*ap == NULL)
		return;
	clients_fini(&(*ap)->clients);
	block_pool_fini(&(*ap)->blocks);
	free(*ap);
	*ap = NULL;
}

void
admin_tick(struct admin *a, struct instant now)
{
	if (a == NULL)
		return;
	clients_tick(&a->clients, now);
	clients_reap(&a->clients);
}
