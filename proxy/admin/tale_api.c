/* tale_api.c: questions to the analysis thread; and timeline, pin and analyze
 * on the ordinary listeners, with their access check. */
#include "proxy/admin/tale_api.h"

#include "http/writer.h"
#include "proxy/admin/admin_handlers.h"
#include "proxy/client/client.h"
#include "proxy/request/proxy.h"
#include "proxy/request/table.h"

#define PREFIX "/.talechain/"
#define NAMES_MAX 256 /* requests of about that time */

void
tale_api_init(struct tale_api *t)
{
	*t = (struct tale_api){0};
	TAILQ_INIT(&t->queries);
}

static void
refuse(struct tale_query *q, int status)
{
	const char *text;

	switch (status) {
	case 429:
		text = "{\"error\":\"busy\",\"advice\":\"ask again later\"}\n";
		break;
	case 500:
		text = "{\"error\":\"out of memory\"}\n";
		break;
	case 409:
		text = "{\"error\":\"in flight\",\"advice\":\"the request "
		       "has not finished: ask again later\"}\n";
		break;
	case 410:
		text = "{\"error\":\"expired\",\"advice\":\"the request was "
		       "known but its events are gone: raise slow.history "
		       "or profiler.stream_slots, or pin it sooner\"}\n";
		break;
	default:
		text = "{\"error\":\"unknown\",\"advice\":\"no request had "
		       "this x-request-id\"}\n";
		break;
	}
	q->done(q, status, "application/json", text, strlen(text));
}

void
tale_ask(
    struct proxy *p, struct tale_query *q, struct analysis_question *question)
{
	q->cookie = question->cookie = ++p->tales->cookie;
	if (!analysis_ask(p->analysis, question)) {
		if (question->report != NULL)
			question->report->free(question->report);
		free(question->name);
		refuse(q, 429);
		return;
	}
	TAILQ_INSERT_TAIL(&p->tales->queries, q, link);
}

void
tale_query(struct proxy *p, struct tale_query *q, const char *id,
    enum tale_format format, const struct tale_client *client, bool keep)
{
	struct analysis_question question = {.kind = ANALYSIS_TALE,
	    .asked = instant_now(),
	    .format = format,
	    .keep = keep,
	    .reason = client != NULL ? TALE_REASON_ASKED : TALE_REASON_PINNED};
	const struct tale_request *found = NULL;

	switch (table_find(&p->table, id, &found)) {
	case TABLE_FOUND:
		question.known = true;
		question.request = *found;
		question.name = calloc(NAMES_MAX, sizeof(question.name[0]));
		if (question.name != NULL)
			question.names = table_about(
			    &p->table, found, question.name, NAMES_MAX);
		q->missing = 410;
		break;
	case TABLE_EXPIRED:
		q->missing = 410;
		break;
	case TABLE_IN_FLIGHT:
		q->missing = 409;
		break;
	case TABLE_UNKNOWN:
		q->missing = 404;
		break;
	}
	if (!question.known)
		snprintf(question.request.external_id,
		    sizeof(question.request.external_id), "%s", id);
	/* Kernel events may arrive after the last request has finished, when
	 * the observer rests: wake it to read them. */
	profiler_wake(p->profiler);
	if (client != NULL) {
		question.has_client = true;
		question.client = *client;
	}
	tale_ask(p, q, &question);
}

void
tale_query_cancel(struct proxy *p, struct tale_query *q)
{
	TAILQ_REMOVE(&p->tales->queries, q, link);
}

void
tale_answers(struct proxy *p)
{
	struct analysis_answer a;
	struct tale_query *q;

	while (analysis_take(p->analysis, &a)) {
		TAILQ_FOREACH(q, &p->tales->queries, link)
		if (q->cookie == a.cookie)
			break;
		if (q != NULL) {
			TAILQ_REMOVE(&p->tales->queries, q, link);
			if (a.status == 200)
				q->done(q, 200, NULL, a.text, a.length);
			else
				refuse(
				    q, a.status == 404 ? q->missing : a.status);
		}
		free(a.text);
	}
}

bool
tale_call_wanted(const struct http_head *head)
{
	return head->target.length >= sizeof(PREFIX) - 1 &&
	       memcmp(head->target.at, PREFIX, sizeof(PREFIX) - 1) == 0;
}

static void
on_tale_unknown(struct admin_call *call)
{
	admin_reply_error(
	    call, 404, "try GET timeline/ID, POST pin?id=ID, POST analyze");
}

/* Under /.talechain/ on the ordinary listeners. */
static const struct admin_route tale_routes[] = {
    {"GET", PREFIX "timeline/*", .handler = admin_timeline},
    {"POST", PREFIX "pin", .handler = admin_pin},
    {"POST", PREFIX "analyze", .handler = admin_analyze},
    {NULL, "*", .handler = on_tale_unknown},
};

bool
tale_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal)
{
	struct proxy *p = client_proxy(c);
	struct admin_call *call =
	    admin_call_new(c, p, tale_routes, head, refusal);
	struct peer origin;

	if (call == NULL)
		return false;
	origin_find(p->config, &c->peer, head, &origin);
	if (!origin.tale_allowed && !token_is_in(&p->tales->token, head)) {
		p->metrics.local_denied++;
		call->refused =
		    "timelines are for clients that talechain.allow names, and "
		    "for the token in talechain.token_file";
	}
	writer_copy(
	    call->logged.address, sizeof(call->logged.address), origin.address);
	writer_cut(call->logged.method, sizeof(call->logged.method),
	    head->method_text.at, head->method_text.length);
	writer_cut(call->logged.target, sizeof(call->logged.target),
	    head->target.at, head->target.length);
	return true;
}
