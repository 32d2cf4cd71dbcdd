/* tale_api.c: TaleChain requests: timeline, pin, analyze.
 *
 * A call is not a request in the table: it is read, answered and forgotten.
 * Everything in it is a stranger's text: bounded, read by analyze.c, echoed
 * nowhere unescaped. */
#include "proxy/admin/tale_api.h"

#include "base/file.h"
#include "base/json.h"
#include "http/writer.h"
#include "proxy/admin/admin_call.h"
#include "proxy/analysis/analyze.h"
#include "proxy/client/client.h"
#include "proxy/client/peer.h"
#include "proxy/request/access_fill.h"
#include "proxy/request/proxy.h"
#include "proxy/request/table.h"

#define PREFIX "/.talechain/"
#define NAMES_MAX 256 /* of requests about that time */

enum call_kind {
	CALL_TIMELINE,
	CALL_PIN,
	CALL_ANALYZE,
	CALL_UNKNOWN,
};

static const struct client_ops call_ops;

struct tale_call {
	struct proxy *proxy;
	struct client *client; /* borrowed; NULL when it left */
	enum call_kind kind;
	enum tale_format format;
	enum http_method method;
	bool allowed; /* by its address or by a token */
	bool close;   /* the client does not stay */
	bool asked;   /* the query is under way */
	bool too_large;
	bool format_unknown;
	char id[65];
	/* for the access log, cut */
	char address[sizeof(((struct peer *)NULL)->address)];
	char method_text[16], target[128];
	struct chain body; /* owned */
	struct tale_query query;
};

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
	/* Its kernel sent some of it when nothing was in flight any more. */
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

static bool
slice_skip(struct slice *s, const char *prefix)
{
	size_t n = strlen(prefix);

	if (s->length < n || memcmp(s->at, prefix, n) != 0)
		return false;
	s->at += n;
	s->length -= n;
	return true;
}

/* By ?format=, else by Accept; a negative errno if it is none of ours. */
static int
call_format(const struct http_head *head, struct slice query,
    enum tale_format preferred)
{
	struct slice name = query_value(query, "format");
	struct negotiation n = {0};

	if (name.length > 0)
		return tale_format_named(name.at, name.length);
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_ACCEPT)
			negotiate_accept(&n, head->field[i].value);
	return negotiate_choose(&n, preferred);
}

static void
call_parse(struct tale_call *call, const struct http_head *head)
{
	struct slice path = head->target, query = {"", 0}, id;
	const char *mark = memchr(path.at, '?', path.length);
	int format;

	if (mark != NULL) {
		query.at = mark + 1;
		query.length = path.length - (size_t)(mark - path.at) - 1;
		path.length = (size_t)(mark - path.at);
	}
	call->kind = CALL_UNKNOWN;
	slice_skip(&path, PREFIX);
	if (slice_skip(&path, "timeline/")) {
		if (analyze_id(path, call->id) == 0)
			call->kind = CALL_TIMELINE;
	} else if (slice_is(path, "pin")) {
		id = query_value(query, "id");
		if (analyze_id(id, call->id) == 0)
			call->kind = CALL_PIN;
	} else if (slice_is(path, "analyze")) {
		call->kind = CALL_ANALYZE;
		call->format = TALE_FORMAT_JSON;
	}
	/* What pinning says is one line, whatever is asked for. */
	if (call->kind == CALL_PIN)
		return;
	format = call_format(head, query, call->format);
	call->format_unknown = format < 0;
	if (format >= 0)
		call->format = (enum tale_format)format;
}

static void
call_reply(struct tale_call *call, unsigned status, const char *type,
    const char *text, size_t length)
{
	char extra[NEGOTIATE_EXTRA_BYTES + 128] =
	    "X-Content-Type-Options: nosniff\r\n";
	size_t plain = strlen(extra);
	struct client *c = call->client;
	struct proxy *p = call->proxy;
	struct client_reply reply = {
	    .status = status, .text = text, .length = length};

	if (type == NULL) {
		type = tale_format_type(call->format);
		negotiate_extra(call->format, call->id, extra + plain);
	}
	if (status == 405)
		snprintf(extra + plain, sizeof(extra) - plain, "Allow: %s\r\n",
		    call->kind == CALL_TIMELINE ? "GET, HEAD" : "POST");
	if (c != NULL)
		access_log_local(
		    c, &(struct access_local){call->address, call->method_text,
			   call->target, "talechain", status});
	reply.type = type;
	reply.extra = extra;
	reply.head_only = call->method == HTTP_METHOD_HEAD;
	chain_clear(&call->body, &p->loop.blocks);
	free(call);
	if (c == NULL)
		return;
	c->ops = NULL;
	client_respond(c, &reply);
	if (!c->closed)
		client_next(c);
}

static void
call_refuse(struct tale_call *call, unsigned status, const char *text)
{
	char json[256];
	int n = snprintf(json, sizeof(json), "{\"error\":\"%s\"}\n", text);

	call_reply(call, status, "application/json", json, (size_t)n);
}

bool
tale_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal)
{
	struct proxy *p = client_proxy(c);
	struct tale_call *call = calloc(1, sizeof(*call));
	struct peer origin;

	if (call == NULL) {
		*refusal = (struct http_refusal){503, "overloaded"};
		return false;
	}
	call->proxy = p;
	call->client = c;
	call->method = head->method;
	call->close = !head->keep_alive;
	origin_find(p->config, &c->peer, head, &origin);
	call->allowed =
	    origin.tale_allowed || token_is_in(&p->tales->token, head);
	writer_copy(call->address, sizeof(call->address), origin.address);
	writer_cut(call->method_text, sizeof(call->method_text),
	    head->method_text.at, head->method_text.length);
	writer_cut(call->target, sizeof(call->target), head->target.at,
	    head->target.length);
	call_parse(call, head);
	c->ops = &call_ops;
	c->user = call;
	return true;
}

/* Its client has left. */
static void
on_call_gone(struct client *c)
{
	struct tale_call *call = c->user;

	call->client = NULL;
	chain_clear(&call->body, &call->proxy->loop.blocks);
	if (call->asked)
		tale_query_cancel(call->proxy, &call->query);
	free(call);
}

static void
on_tale(struct tale_query *q, int status, const char *type, const char *text,
    size_t length)
{
	struct tale_call *call = q->user;

	call->asked = false;
	if (call->kind == CALL_PIN && status == 200) {
		call_reply(
		    call, 200, "application/json", "{\"pinned\":true}\n", 16);
		return;
	}
	call_reply(call, (unsigned)status, type, text, length);
}

static void
call_ask(struct tale_call *call, const struct tale_client *stamps)
{
	call->query = (struct tale_query){.done = on_tale, .user = call};
	call->asked = true;
	call->proxy->metrics.analyze++;
	tale_query(call->proxy, &call->query, call->id, call->format, stamps,
	    call->kind != CALL_TIMELINE);
}

static void
call_analyze(struct tale_call *call)
{
	char text[ANALYZE_BODY_MAX], boot_id[37];
	struct tale_client stamps;
	struct iovec iov[CHAIN_IOV];
	size_t length = 0;
	int n = chain_iov(&call->body, iov, CHAIN_IOV);

	for (int i = 0; i < n && length + iov[i].iov_len <= sizeof(text); i++) {
		memcpy(text + length, iov[i].iov_base, iov[i].iov_len);
		length += iov[i].iov_len;
	}
	file_read_line(
	    boot_id, sizeof(boot_id), "/proc/sys/kernel/random/boot_id");
	if (analyze_parse(text, length, boot_id, call->id, &stamps) < 0)
		call_refuse(call, 400,
		    "the body must be JSON with an id: the x-request-id");
	else
		call_ask(call, &stamps);
}

static void
call_answer(struct tale_call *call)
{
	struct proxy *p = call->proxy;
	bool get =
	    call->method == HTTP_METHOD_GET || call->method == HTTP_METHOD_HEAD;
	bool post = call->method == HTTP_METHOD_POST;

	if (call->close)
		call->client->close = true;
	if (!call->allowed) {
		p->metrics.local_denied++;
		call_refuse(call, 403,
		    "timelines are for clients that talechain.allow names, "
		    "and for the token in talechain.token_file");
	} else if (call->too_large) {
		call_refuse(call, 413, "the body is larger than 16 KiB");
	} else if (call->format_unknown) {
		call_refuse(call, 406, "the formats are " TALE_FORMATS_TEXT);
	} else if (call->kind == CALL_UNKNOWN) {
		call_refuse(call, 404,
		    "try GET timeline/ID, POST pin?id=ID, POST analyze");
	} else if (call->kind == CALL_TIMELINE ? !get : !post) {
		call_refuse(call, 405,
		    "GET reads a timeline; pin and analyze want POST");
	} else if (call->kind == CALL_ANALYZE) {
		call_analyze(call);
	} else {
		call_ask(call, NULL);
	}
}

static void
on_call_body(struct client *c, struct chain *data, bool whole)
{
	struct tale_call *call = c->user;
	struct block_pool *pool = &call->proxy->loop.blocks;

	if (call->body.bytes + data->bytes > ANALYZE_BODY_MAX) {
		call->too_large = true;
		chain_clear(data, pool);
	}
	chain_merge(&call->body, data, pool);
	if (whole)
		call_answer(call);
}

static const struct client_ops call_ops = {
    .body = on_call_body,
    .gone = on_call_gone,
};
