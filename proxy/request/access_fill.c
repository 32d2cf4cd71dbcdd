/* access_fill.c: fills records of requests for the access log.
 *
 * The part of the log that knows requests; access_log.c has the ring of records
 * and the thread that writes them. */
#include "proxy/request/access_fill.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "http/writer.h"
#include "proxy/access_log/access_log.h"
#include "proxy/access_log/record.h"
#include "proxy/request/request.h"
#include "talechain/events/termination.h"

/* The time from one instant to the other, ns; -1 unless both are set. */
static int64_t
between(struct instant from, struct instant to)
{
	int64_t ns;

	if (!instant_is_set(from) || !instant_is_set(to))
		return -1;
	ns = instant_since(to, from);
	return ns < 0 ? 0 : ns;
}

static void
fill_field(struct access_record *a, struct slice line)
{
	static const struct {
		const char *name; /* lower case */
		size_t at;
	} wanted[] = {
	    {"host:", offsetof(struct access_record, host)},
	    {"referer:", offsetof(struct access_record, referer)},
	    {"user-agent:", offsetof(struct access_record, user_agent)},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		size_t name = strlen(wanted[i].name);
		char *out = (char *)a + wanted[i].at;
		struct slice value;

		/* Take the first of several fields.  Comparing the first letter
		 * nearly always decides. */
		if ((line.at[0] | 0x20) == wanted[i].name[0] && *out == '\0' &&
		    slice_begins(line, wanted[i].name)) {
			value = slice_trim(
			    (struct slice){line.at + name, line.length - name});
			writer_cut(
			    out, ACCESS_FIELD_MAX, value.at, value.length);
		}
	}
}

/* Copy the target, and fields, from the head for the servers; without such a
 * head only the target, which may be cut. */
static void
fill_head(struct access_record *a, const struct request *r)
{
	struct slice rest = {r->head.iov_base, r->head.iov_len}, line;
	const char *target, *end;

	writer_cut(a->target, sizeof(a->target), r->target, strlen(r->target));
	if (rest.length == 0 || !line_take(&rest, &line))
		return;
	target = memchr(line.at, ' ', line.length);
	end = memrchr(line.at, ' ', line.length);
	if (target != NULL && target < end)
		writer_cut(a->target, sizeof(a->target), target + 1,
		    (size_t)(end - target - 1));
	while (line_take(&rest, &line))
		if (line.length > 0)
			fill_field(a, line);
}

static void
fill_attempt(struct access_record *a, const struct request *r)
{
	const struct attempt *w;

	a->attempts = r->race.started;
	a->queue_ns = a->connect_ns = a->upstream_ns = -1;
	if (r->race.started > 1)
		snprintf(a->trigger, sizeof(a->trigger), "%s",
		    hedge_trigger_name(r->race.attempt[1].trigger));
	if (r->race.started == 0)
		return;
	/* If none won, the first attempt shows where the time went. */
	w = &r->attempt[r->race.winner >= 0 ? r->race.winner : 0];
	a->queue_ns = between(r->received, w->begun);
	a->connect_ns = between(w->begun, w->written);
	a->upstream_ns = between(w->written, w->first_byte);
	if (r->race.winner < 0)
		return;
	a->attempt = (unsigned)r->race.winner + 1;
	a->reused = w->reused;
	snprintf(a->upstream, sizeof(a->upstream), "%s",
	    r->proxy->upstream.server[r->race.attempt[r->race.winner].server]
		.config->name);
}

static void
fill_ends(struct access_record *a, const struct config *c)
{
	a->format = c->access_log.format;
	if (c->access_log.redact & CONFIG_REDACT_QUERY)
		access_redact_query(a);
	if (c->access_log.redact & CONFIG_REDACT_CLIENT)
		access_redact_client(a);
}

void
access_log_request(struct proxy *p, const struct request *r,
    const struct client *c, struct instant now)
{
	struct access_record *a;

	if (*p->config->access_log.path == '\0')
		return;
	a = access_log_begin(p->access_log);
	if (a == NULL)
		return;
	a->wall_ns = instant_wall_ns(r->first_byte);
	a->receive_ns = between(r->first_byte, r->received);
	a->send_ns = c != NULL ? between(r->committed, now) : -1;
	a->total_ns = between(r->first_byte, now);
	a->bytes_in = r->body_bytes;
	a->bytes_out = r->response_bytes;
	a->status = r->status;
	a->minor = !r->minor_zero;
	a->connections = p->clients.count;
	a->inflight = p->table.inflight_count;
	memcpy(a->id, r->external_id, sizeof(a->id));
	memcpy(a->trace_id, r->trace_id, sizeof(a->trace_id));
	memcpy(a->client, r->client_address, sizeof(a->client));
	memcpy(a->method, r->method_text, sizeof(a->method));
	termination_text(r->termination, a->termination);
	request_flags(r, a->flags, sizeof(a->flags));
	fill_attempt(a, r);
	fill_head(a, r);
	fill_ends(a, p->config);
	access_log_commit(p->access_log);
}

void
access_log_local(const struct client *c, const struct access_local *l)
{
	struct proxy *p = client_proxy(c);
	struct access_record *a;

	if (*p->config->access_log.path == '\0')
		return;
	a = access_log_begin(p->access_log);
	if (a == NULL)
		return;
	a->wall_ns = instant_wall_ns(c->first_byte);
	a->receive_ns = a->queue_ns = a->connect_ns = a->upstream_ns =
	    a->send_ns = -1;
	a->total_ns = between(c->first_byte, instant_now());
	a->status = (int)l->status;
	a->minor = -1;
	a->connections = p->clients.count;
	a->inflight = p->table.inflight_count;
	snprintf(a->client, sizeof(a->client), "%s", l->client);
	snprintf(a->method, sizeof(a->method), "%s", l->method);
	snprintf(a->target, sizeof(a->target), "%s", l->target);
	termination_text(
	    termination(termination_of_reason(l->reason), TERMINATION_REQUEST),
	    a->termination);
	snprintf(a->id, sizeof(a->id), "%s", l->id);
	snprintf(a->flags, sizeof(a->flags), "%s", l->reason);
	fill_ends(a, p->config);
	access_log_commit(p->access_log);
}

void
access_log_reopen(struct proxy *p)
{
	int fd, err;

	if (access_log_prepare(&p->access_log, p->config, &fd) < 0)
		return;
	err = access_log_switch(p->access_log, fd);
	if (err < 0)
		log_event(LOG_LEVEL_ERROR, "access_log_not_reopened",
		    "error=\"%s\" advice=\"send SIGUSR1 again\"",
		    strerror(-err));
	else
		log_event(LOG_LEVEL_NOTICE, "access_log_reopened",
		    "path=\"%s\"", p->config->access_log.path);
}
