/*
 * admin.c: see admin.h.
 *
 * Every handler makes its whole answer in memory; the only ones that wait are
 * timelines, which the analysis thread renders.
 */
#include "proxy/admin/admin.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/rundir.h"
#include "proxy/admin/admin_actions.h"
#include "proxy/admin/admin_http.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/admin/admin_timeline.h"
#include "proxy/admin/ledger_report.h"
#include "proxy/admin/metrics_text.h"
#include "proxy/client/listeners.h"
#include "proxy/request/proxy.h"

#define ADMIN_BODY_MAX 16384
#define ADMIN_HEAD_MAX 16384
#define ADMIN_TIMEOUT_S 30

/* What a collector prefers; all that know it name it first. */
static bool
wants_openmetrics(struct evhttp_request *r)
{
	const char *accept =
	    evhttp_find_header(evhttp_request_get_input_headers(r), "Accept");

	return accept != NULL &&
	       strstr(accept, "application/openmetrics-text") != NULL;
}

static void
text_free(const void *data, size_t length, void *text)
{
	(void)data;
	(void)length;
	free(text);
}

static void
on_metrics(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct exposition e;
	struct instant begun = instant_now();
	struct evbuffer *body;
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r);

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	exposition_init(&e, wants_openmetrics(r));
	metrics_write(p, &e);
	body = evbuffer_new();
	if (e.failed || body == NULL ||
	    evbuffer_add_reference(body, e.text, e.length, text_free, e.text) <
		0) {
		exposition_fini(&e);
		if (body != NULL)
			evbuffer_free(body);
		evhttp_send_error(r, 500, NULL);
		return;
	}
	p->metrics.render_ns = instant_since(instant_now(), begun);
	evhttp_add_header(headers, "Content-Type",
	    e.openmetrics
		? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		: "text/plain; version=0.0.4; charset=utf-8");
	evhttp_add_header(headers, "Vary", "Accept");
	evhttp_send_reply(r, 200, "OK", body);
	evbuffer_free(body);
}

static void
on_servers(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_reply_servers(r, ((struct admin *)user)->proxy);
}

static void
on_requests(struct evhttp_request *r, void *user)
{
	struct json j;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_requests(((struct admin *)user)->proxy,
	    admin_query_number(r, "n", 100, 1000), &j);
	admin_reply_json(r, &j);
}

static void
on_config(struct evhttp_request *r, void *user)
{
	struct json j;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, true);
	config_write(((struct admin *)user)->proxy->config, &j);
	admin_reply_json(r, &j);
}

static void
on_ledger(struct evhttp_request *r, void *user)
{
	struct json j;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	ledger_report(((struct admin *)user)->proxy, &j);
	admin_reply_json(r, &j);
}

static void
on_slow(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_slow(r, ((struct admin *)user)->proxy);
}

static void
on_live(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_live_page(r);
}

static void
on_live_json(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_live(r, ((struct admin *)user)->proxy);
}

static void
on_pin(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_POST))
		admin_pin(r, ((struct admin *)user)->proxy);
}

static void
on_timeline(struct evhttp_request *r, struct admin *a, const char *id)
{
	if (admin_admit(a, r, EVHTTP_REQ_GET))
		admin_timeline(r, a->proxy, id);
}

static void
on_healthz(struct evhttp_request *r, void *user)
{
	if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_reply(r, 200, "text/plain", "ok\n", 3);
}

static void
on_readyz(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	const char *why = NULL;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	if (p->clients.stopping)
		why = "stopping\n";
	else if (hedging_choose(&p->hedging, instant_now()) ==
		 HEDGING_UNAVAILABLE)
		why = "no server is ready\n";
	if (why != NULL)
		admin_reply(r, 503, "text/plain", why, strlen(why));
	else
		admin_reply(r, 200, "text/plain", "ready\n", 6);
}

static void
on_stream(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct json j;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_stream(p, &j);
	admin_reply_json(r, &j);
}

static void
on_info(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct json j;

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_info(p, &j);
	admin_reply_json(r, &j);
}

static void
on_index(struct evhttp_request *r, struct admin *user)
{
	static const char text[] =
	    "GET  /metrics          Prometheus text\n"
	    "GET  /servers          both servers\n"
	    "GET  /requests?n=100   what is in flight, oldest first\n"
	    "GET  /config           the configuration in effect\n"
	    "GET  /live             a page that shows what happens\n"
	    "GET  /live.json        the same as JSON\n"
	    "GET  /ledger           what hedging cost and was worth\n"
	    "GET  /slow?n=20        slow requests, newest first\n"
	    "                       (&since=SECONDS&cause=CODE&path=PATH)\n"
	    "GET  /timeline/ID      one request, as text, json, html, svg or\n"
	    "                       chrome (?format=, or Accept)\n"
	    "GET  /stream           where the timeline stream is\n"
	    "GET  /info             version, placement, listeners\n"
	    "GET  /healthz          is the process alive\n"
	    "GET  /readyz           can it serve\n"
	    "POST /reload           read the configuration again\n"
	    "POST /pin?id=ID        keep the timeline of a request\n"
	    "POST /switch           make the standby active\n"
	    "POST /drain?server=NAME take it out of service (&force=1)\n"
	    "POST /ready?server=NAME bring it back\n"
	    "POST /restart?server=NAME drain, stop, start, bring back\n"
	    "POST /log?level=info   until the next reload or restart\n"
	    "POST /hazard?server=NAME&kind=gc&state=begin\n"
	    "                       report a pause (and its end)\n";

	if (!admin_admit(user, r, EVHTTP_REQ_GET))
		return;
	if (admin_wants_page(r))
		admin_live_page(r);
	else
		admin_reply(r, 200, "text/plain", text, sizeof(text) - 1);
}

static void
on_other(struct evhttp_request *r, void *user)
{
	const char *path =
	    evhttp_uri_get_path(evhttp_request_get_evhttp_uri(r));

	if (path == NULL || *path == '\0' || strcmp(path, "/") == 0)
		on_index(r, user);
	else if (strncmp(path, "/timeline/", 10) == 0)
		on_timeline(r, user, path + 10);
	else if (admin_admit(user, r, EVHTTP_REQ_GET))
		admin_reply_error(r, 404, "GET / lists what there is");
}

static const struct {
	const char *path;
	void (*handler)(struct evhttp_request *, void *);
} handlers[] = {
    {"/metrics", on_metrics},
    {"/servers", on_servers},
    {"/requests", on_requests},
    {"/config", on_config},
    {"/slow", on_slow},
    {"/ledger", on_ledger},
    {"/live", on_live},
    {"/live.json", on_live_json},
    {"/pin", on_pin},
    {"/healthz", on_healthz},
    {"/readyz", on_readyz},
    {"/stream", on_stream},
    {"/info", on_info},
};

static int
admin_listen(struct admin *a, const struct config_address *address)
{
	const struct sockaddr_un *un = (const void *)&address->address;
	mode_t mask;
	int err;

	if (address->address.ss_family == AF_UNIX) {
		snprintf(a->path, sizeof(a->path), "%s", un->sun_path);
		err = rundir_prepare(a->path);
		if (err < 0)
			return err;
	}
	mask = umask(0117);
	a->fd = listener_bind(address, &a->inherited);
	umask(mask);
	return a->fd;
}

/* evhttp does not notice if the kernel cannot watch the socket. */
static int
admin_accept(struct admin *a)
{
	struct evhttp_bound_socket *bound =
	    evhttp_accept_socket_with_handle(a->http, a->fd);

	if (bound == NULL)
		return -ENOMEM;
	if (evconnlistener_enable(evhttp_bound_socket_get_listener(bound)) == 0)
		return 0;
	a->fd = -1; /* closed with its listener */
	return -ENOMEM;
}

int
admin_new(struct admin **out, struct proxy *p,
    int (*reload)(void *user, struct reload_result *out), void *user)
{
	const struct config_address *address = &p->config->admin;
	struct admin *a;
	int err;

	*out = NULL;
	if (address->length == 0)
		return 0;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	a->proxy = p;
	a->reload = reload;
	a->user = user;
	err = admin_listen(a, address);
	if (err < 0) {
		listener_complain("admin", address->text, err);
		free(a);
		return err;
	}
	a->http = evhttp_new(p->loop.base);
	if (a->http == NULL || admin_accept(a) < 0) {
		if (a->fd >= 0)
			close(a->fd);
		if (a->http != NULL)
			evhttp_free(a->http);
		free(a);
		return -ENOMEM;
	}
	evhttp_set_timeout(a->http, ADMIN_TIMEOUT_S);
	evhttp_set_max_headers_size(a->http, ADMIN_HEAD_MAX);
	evhttp_set_max_body_size(a->http, ADMIN_BODY_MAX);
	for (size_t i = 0; i < sizeof(handlers) / sizeof(handlers[0]); i++)
		evhttp_set_cb(
		    a->http, handlers[i].path, handlers[i].handler, a);
	admin_actions_add(a->http, a);
	evhttp_set_gencb(a->http, on_other, a);
	log_event(LOG_LEVEL_NOTICE, "admin", "address=\"%s\"", address->text);
	*out = a;
	return 0;
}

void
admin_free(struct admin **ap)
{
	struct admin *a = *ap;

	if (a == NULL)
		return;
	evhttp_free(a->http);
	if (a->path[0] != '\0' && !a->inherited)
		unlink(a->path);
	free(a);
	*ap = NULL;
}
