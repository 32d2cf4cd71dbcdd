/*
 * admin.c: see admin.h.
 *
 * Every handler makes its whole answer in memory; the only ones that wait are
 * timelines, which the analysis thread renders.
 */
#include "proxy/admin.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "proxy/admin_reports.h"
#include "proxy/proxy.h"
#include "proxy/tale_api.h"

#define ADMIN_BODY_MAX 16384
#define ADMIN_HEAD_MAX 16384
#define ADMIN_TIMEOUT_S 30
#define SLOW_DEFAULT 20
#define SLOW_MAX 1000

struct admin {
	struct proxy *proxy;
	struct evhttp *http; /* owned */
	int fd;		     /* owned by http once accepted */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* A timeline asked for and not answered yet. */
struct admin_tale {
	struct tale_query query;
	struct proxy *proxy;
	struct evhttp_request *request; /* owned while asked */
	enum tale_format format;
};

static void
reply(struct evhttp_request *r, int status, const char *type, const char *text,
    size_t length)
{
	struct evbuffer *body = evbuffer_new();
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r);

	if (body == NULL) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	evbuffer_add(body, text, length);
	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	evhttp_send_reply(r, status, http_reason((unsigned)status), body);
	evbuffer_free(body);
}

static void
reply_error(struct evhttp_request *r, int status, const char *text)
{
	struct json j;
	char *out;
	size_t length;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "error", text);
	json_object_end(&j);
	if (json_take(&j, &out, &length) < 0) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	reply(r, status, "application/json", out, length);
	free(out);
}

static void
reply_json(struct evhttp_request *r, struct json *j)
{
	char *out;
	size_t length;

	if (json_take(j, &out, &length) < 0) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	reply(r, 200, "application/json", out, length);
	free(out);
}

/* A page in a browser must not be able to reach us through its user. */
static bool
foreign(const struct admin *a, struct evhttp_request *r)
{
	struct evkeyvalq *in = evhttp_request_get_input_headers(r);
	const char *host = evhttp_find_header(in, "Host");

	if (evhttp_find_header(in, "Origin") != NULL)
		return true;
	/* No page reaches a Unix socket, whatever Host it names. */
	return a->path[0] == '\0' && host != NULL && *host != '\0' &&
	       strncmp(host, "localhost", 9) != 0 &&
	       strncmp(host, "127.", 4) != 0 && strncmp(host, "[::1]", 5) != 0;
}

static bool
admit(const struct admin *a, struct evhttp_request *r,
    enum evhttp_cmd_type wanted)
{
	enum evhttp_cmd_type got = evhttp_request_get_command(r);

	if (foreign(a, r)) {
		reply_error(r, 403, "foreign Host or Origin");
		return false;
	}
	if (got != wanted &&
	    !(wanted == EVHTTP_REQ_GET && got == EVHTTP_REQ_HEAD)) {
		reply_error(r, 405,
		    wanted == EVHTTP_REQ_POST ? "this wants POST"
					      : "this wants GET");
		return false;
	}
	return true;
}

static void
on_metrics(struct evhttp_request *r, void *user)
{
	struct admin *a = user;
	struct evbuffer *body;
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r);

	if (!admit(user, r, EVHTTP_REQ_GET))
		return;
	body = evbuffer_new();
	if (body == NULL) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	metrics_write(a->proxy, body);
	evhttp_add_header(headers, "Content-Type", "text/plain; version=0.0.4");
	evhttp_send_reply(r, 200, "OK", body);
	evbuffer_free(body);
}

static void
reply_servers(struct evhttp_request *r, struct proxy *p)
{
	struct json j;

	json_init(&j, false);
	admin_write_servers(p, &j);
	reply_json(r, &j);
}

static void
on_servers(struct evhttp_request *r, void *user)
{
	if (admit(user, r, EVHTTP_REQ_GET))
		reply_servers(r, ((struct admin *)user)->proxy);
}

/* A number from the query string, within [1, max]. */
static unsigned
query_number(
    struct evhttp_request *r, const char *name, unsigned fallback, unsigned max)
{
	struct evkeyvalq query;
	const char *uri = evhttp_request_get_uri(r), *text;
	unsigned long n = fallback;

	if (evhttp_parse_query(uri, &query) < 0)
		return fallback;
	text = evhttp_find_header(&query, name);
	if (text != NULL)
		n = strtoul(text, NULL, 10);
	evhttp_clear_headers(&query);
	return n < 1 ? 1 : n > max ? max : (unsigned)n;
}

static void
on_slow(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct json j;

	if (!admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_slow(p, query_number(r, "n", SLOW_DEFAULT, SLOW_MAX), &j);
	reply_json(r, &j);
}

static void
on_admin_closed(struct evhttp_connection *connection, void *user)
{
	struct admin_tale *t = user;

	(void)connection;
	tale_query_cancel(t->proxy, &t->query);
	free(t);
}

static void
on_admin_tale(struct tale_query *q, int status, const char *type,
    const char *text, size_t length)
{
	struct admin_tale *t = q->user;
	struct evhttp_connection *connection =
	    evhttp_request_get_connection(t->request);

	if (connection != NULL)
		evhttp_connection_set_closecb(connection, NULL, NULL);
	if (type == NULL)
		type = t->format == TALE_FORMAT_JSON
			   ? "application/json"
			   : "text/plain; charset=utf-8";
	reply(t->request, status, type, text, length);
	free(t);
}

/* A parameter of the query string into out; false if it is not there. */
static bool
query_text(struct evhttp_request *r, const char *name, char *out, size_t size)
{
	struct evkeyvalq query;
	const char *text;
	bool found;

	if (evhttp_parse_query(evhttp_request_get_uri(r), &query) < 0)
		return false;
	text = evhttp_find_header(&query, name);
	found = text != NULL && strlen(text) < size;
	if (found)
		snprintf(out, size, "%s", text);
	evhttp_clear_headers(&query);
	return found;
}

/* By ?format=, else by Accept, else text; -EINVAL for another format. */
static int
wanted_format(struct evhttp_request *r)
{
	const char *accept =
	    evhttp_find_header(evhttp_request_get_input_headers(r), "Accept");
	char name[16];

	if (query_text(r, "format", name, sizeof(name)))
		return tale_format_named(name, strlen(name));
	return accept != NULL && strstr(accept, "application/json") != NULL
		   ? TALE_FORMAT_JSON
		   : TALE_FORMAT_TEXT;
}

static void
on_timeline(struct evhttp_request *r, struct admin *a, const char *id)
{
	struct admin_tale *t;
	int format;

	if (!admit(a, r, EVHTTP_REQ_GET))
		return;
	format = wanted_format(r);
	if (format < 0) {
		reply_error(r, 406, "format is text or json");
		return;
	}
	if (strlen(id) > 64 || *id == '\0') {
		reply_error(r, 404, "no request had this x-request-id");
		return;
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	t->proxy = a->proxy;
	t->request = r;
	t->format = (enum tale_format)format;
	t->query = (struct tale_query){.done = on_admin_tale, .user = t};
	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(r), on_admin_closed, t);
	tale_query(a->proxy, &t->query, id, t->format, NULL, false);
}

static void
on_healthz(struct evhttp_request *r, void *user)
{
	if (admit(user, r, EVHTTP_REQ_GET))
		reply(r, 200, "text/plain", "ok\n", 3);
}

static void
on_readyz(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	const char *why = NULL;

	if (!admit(user, r, EVHTTP_REQ_GET))
		return;
	if (p->stopping)
		why = "stopping\n";
	else if (hedging_choose(&p->hedging, instant_now()) ==
		 HEDGING_UNAVAILABLE)
		why = "no server is ready\n";
	if (why != NULL)
		reply(r, 503, "text/plain", why, strlen(why));
	else
		reply(r, 200, "text/plain", "ready\n", 6);
}

static void
on_stream(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct json j;

	if (!admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_stream(p, &j);
	reply_json(r, &j);
}

static void
on_info(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct json j;

	if (!admit(user, r, EVHTTP_REQ_GET))
		return;
	json_init(&j, false);
	admin_write_info(p, &j);
	reply_json(r, &j);
}

static void
on_switch(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	unsigned consequences;

	if (!admit(user, r, EVHTTP_REQ_POST))
		return;
	consequences = hedging_switch(&p->hedging, instant_now());
	if (consequences == 0) {
		reply_error(
		    r, 409, "the standby is not ready, or there is none");
		return;
	}
	proxy_apply(p, consequences);
	reply_servers(r, p);
}

/* The server's number and the kind's, or -1. */
static int
server_named(const struct proxy *p, const char *name)
{
	for (unsigned i = 0; i < p->config->servers; i++)
		if (strcmp(p->config->server[i].name, name) == 0)
			return (int)i;
	return -1;
}

static int
kind_named(const char *name)
{
	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if (strcmp(hazard_kind_name((enum hazard_kind)k), name) == 0)
			return (int)k;
	return -1;
}

/* A runtime or monitor without a channel tells of a pause itself. */
static void
on_hazard(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	char name[64], kind[16], state[8];
	struct hazard h = {.cause = TALECHAIN_CAUSE_OTHER};
	int server, number;

	if (!admit(user, r, EVHTTP_REQ_POST))
		return;
	if (!query_text(r, "server", name, sizeof(name)) ||
	    !query_text(r, "kind", kind, sizeof(kind)) ||
	    !query_text(r, "state", state, sizeof(state)) ||
	    (server = server_named(p, name)) < 0 ||
	    (number = kind_named(kind)) < 0 ||
	    (strcmp(state, "begin") != 0 && strcmp(state, "end") != 0)) {
		reply_error(r, 400,
		    "wants ?server=NAME&kind=gc|safepoint&state=begin|end");
		return;
	}
	h.server = (uint8_t)server;
	h.kind = (uint8_t)number;
	h.begin = strcmp(state, "begin") == 0;
	h.at = h.seen = instant_now();
	proxy_hazard(p, &h);
	reply_servers(r, p);
}

static void
on_index(struct evhttp_request *r, struct admin *user)
{
	static const char text[] =
	    "GET  /metrics          Prometheus text\n"
	    "GET  /servers          both servers\n"
	    "GET  /slow?n=20        slow requests, newest first\n"
	    "GET  /timeline/ID      one request (?format=json)\n"
	    "GET  /stream           where the timeline stream is\n"
	    "GET  /info             version, placement, listeners\n"
	    "GET  /healthz          is the process alive\n"
	    "GET  /readyz           can it serve\n"
	    "POST /switch           make the standby active\n"
	    "POST /hazard?server=NAME&kind=gc&state=begin\n"
	    "                       tell of a pause (and of its end)\n";

	if (admit(user, r, EVHTTP_REQ_GET))
		reply(r, 200, "text/plain", text, sizeof(text) - 1);
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
	else if (admit(user, r, EVHTTP_REQ_GET))
		reply_error(r, 404, "GET / lists what there is");
}

static const struct {
	const char *path;
	void (*handler)(struct evhttp_request *, void *);
} handlers[] = {
    {"/metrics", on_metrics},
    {"/servers", on_servers},
    {"/slow", on_slow},
    {"/healthz", on_healthz},
    {"/readyz", on_readyz},
    {"/stream", on_stream},
    {"/info", on_info},
    {"/switch", on_switch},
    {"/hazard", on_hazard},
};

/* The directory of a socket in a place of our own may not exist yet. */
static void
make_directory(const char *path)
{
	char directory[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (slash != NULL && slash != directory) {
		*slash = '\0';
		mkdir(directory, 0750);
	}
}

static int
admin_listen(struct admin *a, const struct config_address *address)
{
	const struct sockaddr_un *un = (const void *)&address->address;
	mode_t mask;

	if (address->address.ss_family == AF_UNIX) {
		snprintf(a->path, sizeof(a->path), "%s", un->sun_path);
		make_directory(a->path);
	}
	mask = umask(0117);
	a->fd = listener_bind(address);
	umask(mask);
	return a->fd;
}

int
admin_new(struct admin **out, struct proxy *p)
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
	err = admin_listen(a, address);
	if (err < 0) {
		/* Requests are served all the same. */
		listener_complain("admin", address->text, err);
		free(a);
		return 0;
	}
	a->http = evhttp_new(p->base);
	if (a->http == NULL || evhttp_accept_socket(a->http, a->fd) < 0) {
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
	if (a->path[0] != '\0')
		unlink(a->path);
	free(a);
	*ap = NULL;
}
