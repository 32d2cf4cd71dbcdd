/* admin_actions.c: switch, hazard, reload, drain, undrain, restart, log level.
 *
 * An action that takes time (draining, restarting) is begun here and carried
 * on by the proxy's tick; the response shows the servers as they are now. */
#include "proxy/admin/admin_handlers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/log.h"
#include "proxy/admin/admin.h"
#include "proxy/admin/admin_reports.h"
#include "proxy/request/hazards.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/server.h"

static void
reply_servers(struct admin_call *call)
{
	admin_reply_report(call, admin_write_servers);
}

void
admin_switch(struct admin_call *call)
{
	struct proxy *p = call->proxy;
	unsigned actions = hedging_switch(&p->hedging, instant_now());

	if (actions == 0) {
		admin_reply_error(call, 409,
		    upstream_servers(&p->upstream) < 2
			? "there is no backup: only one server is configured"
			: "the backup is not ready: \"tailorctl servers\" "
			  "shows its state");
		return;
	}
	proxy_want(p, actions);
	reply_servers(call);
}

/* Return the number of a server or of a hazard kind by name, or -1. */
static int
server_named(const struct proxy *p, const char *name)
{
	UPSTREAM_EACH(&p->upstream, i)
	if (strcmp(p->upstream.server[i].config->name, name) == 0)
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

#define KIND_X(symbol, code, ...) " " code

/* POST /pause: a runtime or monitor without a channel reports a pause. */
void
admin_hazard(struct admin_call *call)
{
	struct proxy *p = call->proxy;
	char name[64], kind[16], state[8];
	struct hazard h = {.cause = TALECHAIN_CAUSE_OTHER};
	int server, number;

	if (!admin_query_text(call, "server", name, sizeof(name)) ||
	    !admin_query_text(call, "kind", kind, sizeof(kind)) ||
	    !admin_query_text(call, "state", state, sizeof(state)) ||
	    (server = server_named(p, name)) < 0 ||
	    (number = kind_named(kind)) < 0 ||
	    (strcmp(state, "begin") != 0 && strcmp(state, "end") != 0)) {
		admin_reply_error(call, 400,
		    "wants ?server=NAME&state=begin|end&kind=KIND, one "
		    "of" HAZARD_KINDS(KIND_X));
		return;
	}
	h.server = (uint8_t)server;
	h.kind = (uint8_t)number;
	if (number == HAZARD_SAFEPOINT)
		h.cause = TALECHAIN_CAUSE_NOT_GC;
	h.begin = strcmp(state, "begin") == 0;
	h.at = h.seen = instant_now();
	proxy_hazard(p, &h);
	reply_servers(call);
}

/* Write text as an array of strings, one per line. */
static void
write_lines(struct json *j, const char *key, const char *text)
{
	json_key_array(j, key);
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		json_string_n(j, text, n);
		text += n + (text[n] == '\n');
	}
	json_array_end(j);
}

/* Write which file is read, for those who know it by another path. */
static void
write_file(struct json *j, const char *path)
{
	struct stat st;

	if (path == NULL || stat(path, &st) < 0)
		return;
	json_key_uint(j, "device", st.st_dev);
	json_key_uint(j, "inode", st.st_ino);
}

void
admin_reload(struct admin_call *call)
{
	struct admin *a = call->admin;
	struct reload_result result = {
	    .asked = call->method != HTTP_METHOD_POST};
	struct json j;
	int err;

	if (result.asked && call->method != HTTP_METHOD_GET &&
	    call->method != HTTP_METHOD_HEAD) {
		snprintf(call->extra, sizeof(call->extra),
		    "Allow: GET, HEAD, POST\r\n");
		admin_reply_error(call, 405, "this wants GET or POST");
		return;
	}
	err = a->reload(a->user, &result);
	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.reload/1");
	json_key_bool(&j, "reloaded", err == 0 && !result.asked);
	json_key_string(&j, "instance", call->proxy->config->instance);
	write_file(&j, result.file);
	write_lines(&j, "changed", err == 0 ? result.changes : "");
	write_lines(&j, "errors", result.complaints);
	json_object_end(&j);
	admin_reply_json(call, err == 0 ? 200 : err == -EBUSY ? 503 : 422, &j);
}

/* Return the server that ?server= names, or NULL after an error response. */
static struct server *
wanted_server(struct admin_call *call)
{
	struct proxy *p = call->proxy;
	char name[64], text[256];
	const char *joint = "";
	int i = -1, n;

	if (!admin_query_text(call, "server", name, sizeof(name))) {
		admin_reply_error(call, 400, "wants ?server=NAME");
		return NULL;
	}
	i = server_named(p, name);
	if (i >= 0)
		return &p->upstream.server[i];
	n = snprintf(
	    text, sizeof(text), "no server is named \"%s\"; there is ", name);
	UPSTREAM_EACH(&p->upstream, k)
	{
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%s%s", joint,
		    p->upstream.server[k].config->name);
		joint = " and ";
	}
	admin_reply_error(call, 404, text);
	return NULL;
}

static bool
forced(const struct admin_call *call)
{
	char text[8];

	return admin_query_text(call, "force", text, sizeof(text)) &&
	       strcmp(text, "1") == 0;
}

/* Respond with a refusal that force=1 overrides. */
static void
reply_forceable(struct admin_call *call, const char *text)
{
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "error", text);
	json_key_bool(&j, "forceable", true);
	json_object_end(&j);
	admin_reply_json(call, 409, &j);
}

static void
reply_maintenance(struct admin_call *call, const struct server *s, int err)
{
	switch (err) {
	case 0:
		reply_servers(call);
		break;
	case -EALREADY:
		admin_reply_error(call, 409, "already done, or in progress");
		break;
	case -ENOTSUP:
		admin_reply_error(call, 409,
		    "Tailor did not launch this server (no launch.command): "
		    "drain it, restart it, and undrain it, or deploy "
		    "--with COMMAND");
		break;
	default:
		if (s->upstream->stopping)
			admin_reply_error(call, 409, "Tailor is stopping");
		else if (s->maintenance.stage == STOPPING)
			admin_reply_error(call, 409,
			    "a restart of this server is in progress");
		else
			reply_forceable(
			    call, "no other server is ready to take over");
	}
}

void
admin_drain(struct admin_call *call)
{
	struct server *s = wanted_server(call);

	if (s != NULL)
		reply_maintenance(call, s, server_drain(s, forced(call)));
}

void
admin_undrain(struct admin_call *call)
{
	struct server *s = wanted_server(call);

	if (s != NULL)
		reply_maintenance(call, s, server_return(s));
}

void
admin_restart(struct admin_call *call)
{
	struct server *s = wanted_server(call);

	if (s != NULL)
		reply_maintenance(call, s, server_restart(s, forced(call)));
}

void
admin_log(struct admin_call *call)
{
	static const char *const names[] = {
	    "error", "warning", "notice", "info", "debug"};
	char name[16];

	if (admin_query_text(call, "level", name, sizeof(name)))
		for (unsigned i = 0; i <= LOG_LEVEL_DEBUG; i++)
			if (strcmp(names[i], name) == 0) {
				log_level_set((enum log_level)i);
				admin_reply_text(call, 200, "ok\n");
				return;
			}
	admin_reply_error(
	    call, 400, "wants ?level=error|warning|notice|info|debug");
}
