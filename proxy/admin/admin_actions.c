/*
 * admin_actions.c: see admin_actions.h.
 *
 * An action that takes time (draining, restarting) is begun here and carried
 * on by the proxy's tick; the answer shows the servers as they are now.
 */
#include "proxy/admin/admin_actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "proxy/admin/admin_http.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/admin/reload_result.h"
#include "proxy/request/hazards.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/maintenance.h"

void
admin_reply_servers(struct evhttp_request *r, struct proxy *p)
{
	struct json j;

	json_init(&j, false);
	admin_write_servers(p, &j);
	admin_reply_json(r, &j);
}

static void
on_switch(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	unsigned actions;

	if (!admin_admit(user, r, EVHTTP_REQ_POST))
		return;
	actions = hedging_switch(&p->hedging, instant_now());
	if (actions == 0) {
		admin_reply_error(
		    r, 409, "the standby is not ready, or there is none");
		return;
	}
	proxy_want(p, actions);
	admin_reply_servers(r, p);
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

/* A runtime or monitor without a channel reports a pause here. */
static void
on_hazard(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	char name[64], kind[16], state[8];
	struct hazard h = {.cause = TALECHAIN_CAUSE_OTHER};
	int server, number;

	if (!admin_admit(user, r, EVHTTP_REQ_POST))
		return;
	if (!admin_query_text(r, "server", name, sizeof(name)) ||
	    !admin_query_text(r, "kind", kind, sizeof(kind)) ||
	    !admin_query_text(r, "state", state, sizeof(state)) ||
	    (server = server_named(p, name)) < 0 ||
	    (number = kind_named(kind)) < 0 ||
	    (strcmp(state, "begin") != 0 && strcmp(state, "end") != 0)) {
		admin_reply_error(r, 400,
		    "wants ?server=NAME&kind=gc|safepoint&state=begin|end");
		return;
	}
	h.server = (uint8_t)server;
	h.kind = (uint8_t)number;
	h.begin = strcmp(state, "begin") == 0;
	h.at = h.seen = instant_now();
	proxy_hazard(p, &h);
	admin_reply_servers(r, p);
}

/* One string per line of text. */
static void
write_lines(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_array_begin(j);
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		json_string_n(j, text, n);
		text += n + (text[n] == '\n');
	}
	json_array_end(j);
}

static void
on_reload(struct evhttp_request *r, void *user)
{
	struct admin *a = user;
	struct reload_result result;
	struct json j;
	char *text;
	size_t length;
	int err;

	if (!admin_admit(user, r, EVHTTP_REQ_POST))
		return;
	err = a->reload(a->user, &result);
	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.reload/1");
	json_key_bool(&j, "reloaded", err == 0);
	write_lines(&j, "changed", err == 0 ? result.changes : "");
	write_lines(&j, "errors", result.complaints);
	json_object_end(&j);
	if (json_take(&j, &text, &length) < 0) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	admin_reply(r,
	    err == 0	    ? 200
	    : err == -EBUSY ? 503
			    : 422,
	    "application/json", text, length);
	free(text);
}

/* The server that ?server= names, or NULL after an answer. */
static struct server *
wanted_server(struct evhttp_request *r, struct proxy *p)
{
	const struct config *c = p->config;
	char name[64], text[256];
	int i = -1;

	if (!admin_query_text(r, "server", name, sizeof(name))) {
		admin_reply_error(r, 400, "wants ?server=NAME");
		return NULL;
	}
	i = server_named(p, name);
	if (i >= 0)
		return &p->upstream.server[i];
	snprintf(text, sizeof(text),
	    "no server is named \"%s\"; there is %s%s%s", name,
	    c->server[0].name, c->servers > 1 ? " and " : "",
	    c->servers > 1 ? c->server[1].name : "");
	admin_reply_error(r, 404, text);
	return NULL;
}

static bool
forced(struct evhttp_request *r)
{
	char text[8];

	return admin_query_text(r, "force", text, sizeof(text)) &&
	       strcmp(text, "1") == 0;
}

/* A refusal that does not hold if the request is repeated with force=1. */
static void
reply_forceable(struct evhttp_request *r, const char *text)
{
	struct json j;
	char *out;
	size_t length;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "error", text);
	json_key_bool(&j, "forceable", true);
	json_object_end(&j);
	if (json_take(&j, &out, &length) < 0) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	admin_reply(r, 409, "application/json", out, length);
	free(out);
}

static void
reply_maintenance(struct evhttp_request *r, const struct server *s, int err)
{
	switch (err) {
	case 0:
		admin_reply_servers(r, s->upstream->user);
		break;
	case -EALREADY:
		admin_reply_error(r, 409, "already done, or in progress");
		break;
	case -ENOTSUP:
		admin_reply_error(r, 409,
		    "Tailor did not launch this server (no launch.command): "
		    "drain it, restart it, and make it ready");
		break;
	default:
		if (s->upstream->stopping)
			admin_reply_error(r, 409, "Tailor is stopping");
		else if (s->maintenance.stage == STOPPING)
			admin_reply_error(
			    r, 409, "a restart of this server is in progress");
		else
			reply_forceable(
			    r, "no other server is ready to take over");
	}
}

static void
on_drain(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct server *s;

	if (!admin_admit(user, r, EVHTTP_REQ_POST) ||
	    (s = wanted_server(r, p)) == NULL)
		return;
	reply_maintenance(r, s, server_drain(s, forced(r)));
}

static void
on_ready(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct server *s;

	if (!admin_admit(user, r, EVHTTP_REQ_POST) ||
	    (s = wanted_server(r, p)) == NULL)
		return;
	reply_maintenance(r, s, server_return(s));
}

static void
on_restart(struct evhttp_request *r, void *user)
{
	struct proxy *p = ((struct admin *)user)->proxy;
	struct server *s;

	if (!admin_admit(user, r, EVHTTP_REQ_POST) ||
	    (s = wanted_server(r, p)) == NULL)
		return;
	reply_maintenance(r, s, server_restart(s, forced(r)));
}

static void
on_log(struct evhttp_request *r, void *user)
{
	static const char *const names[] = {
	    "error", "warning", "notice", "info", "debug"};
	char name[16];

	if (!admin_admit(user, r, EVHTTP_REQ_POST))
		return;
	if (admin_query_text(r, "level", name, sizeof(name)))
		for (unsigned i = 0; i <= LOG_LEVEL_DEBUG; i++)
			if (strcmp(names[i], name) == 0) {
				log_level_set((enum log_level)i);
				admin_reply(r, 200, "text/plain", "ok\n", 3);
				return;
			}
	admin_reply_error(
	    r, 400, "wants ?level=error|warning|notice|info|debug");
}

static const struct {
	const char *path;
	void (*handler)(struct evhttp_request *, void *);
} actions[] = {
    {"/switch", on_switch},
    {"/hazard", on_hazard},
    {"/reload", on_reload},
    {"/drain", on_drain},
    {"/ready", on_ready},
    {"/restart", on_restart},
    {"/log", on_log},
};

void
admin_actions_add(struct evhttp *http, struct admin *a)
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		evhttp_set_cb(http, actions[i].path, actions[i].handler, a);
}
