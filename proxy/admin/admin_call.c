/* admin_call.c: reads requests that Tailor itself serves, and responds. */
#include "proxy/admin/admin_call.h"

#include <arpa/inet.h>
#include <ctype.h>

#include "proxy/analysis/analyze.h"
#include "proxy/client/client.h"
#include "proxy/request/access_fill.h"

/* A long response is written in pieces of this size (ADMIN_CLIENT_BLOCKS). */
#define PIECE (2 * BLOCK_BYTES)

/* True if a valid Host names this machine.  The whole name is compared:
 * 127.0.0.1.example.com may be any machine. */
static bool
is_local(struct slice host)
{
	const char *end =
	    memchr(host.at, *host.at == '[' ? ']' : ':', host.length);
	char name[64];
	struct in_addr v4;

	if (end != NULL)
		host.length = (size_t)(end - host.at);
	if (slice_is(host, "localhost") || slice_is(host, "[::1"))
		return true;
	return snprintf(name, sizeof(name), "%.*s", (int)host.length, host.at) <
		   (int)sizeof(name) &&
	       inet_pton(AF_INET, name, &v4) == 1 &&
	       ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* True if a page of another site may have made the browser send the request. */
static bool
is_foreign(const struct client *c, const struct http_head *head)
{
	for (unsigned i = 0; i < head->fields; i++)
		if (slice_is(head->field[i].name, "origin"))
			return true;
	/* No page reaches a Unix socket, whatever Host it names. */
	return !c->peer.local && head->authority.length > 0 &&
	       !is_local(head->authority);
}

static void
read_accept(struct admin_call *call, struct slice accept)
{
	static const char name[] = "application/openmetrics-text";

	/* Collectors that accept OpenMetrics prefer it. */
	call->openmetrics |=
	    memmem(accept.at, accept.length, name, sizeof(name) - 1) != NULL;
	negotiate_accept(&call->accept, accept);
}

/* --- a call's life -------------------------------------------------------- */

static void
call_free(struct admin_call *call)
{
	chain_clear(&call->body, call->client->clients->blocks);
	free(call->text);
	free(call);
}

static bool
route_fits(const struct admin_route *r, const char *path)
{
	size_t n = strcspn(r->path, "*");

	return strncmp(path, r->path, n) == 0 &&
	       (r->path[n] == '*' || path[n] == '\0');
}

/* The request is whole: have its handler respond. */
static void
call_serve(struct admin_call *call)
{
	const struct admin_route *r = call->routes;
	bool post, allowed;

	while (!route_fits(r, call->path))
		r++;
	post = r->method != NULL && strcmp(r->method, "POST") == 0;
	allowed =
	    r->method == NULL || (post ? call->method == HTTP_METHOD_POST
				       : call->method == HTTP_METHOD_GET ||
					     call->method == HTTP_METHOD_HEAD);
	if (call->refused != NULL) {
		admin_reply_error(call, 403, call->refused);
	} else if (call->too_large) {
		admin_reply_error(call, 413, "the body is larger than 16 KiB");
	} else if (!allowed) {
		snprintf(call->extra, sizeof(call->extra), "Allow: %s\r\n",
		    post ? "POST" : "GET, HEAD");
		admin_reply_error(
		    call, 405, post ? "this wants POST" : "this wants GET");
	} else if (r->report != NULL) {
		admin_reply_report(call, r->report);
	} else {
		r->handler(call);
	}
}

static void
on_body(struct client *c, struct chain *data, bool whole)
{
	struct admin_call *call = c->user;

	if (call->admin == NULL)
		call->too_large |=
		    call->body.bytes + data->bytes > ANALYZE_BODY_MAX;
	if (call->admin != NULL || call->refused != NULL || call->too_large)
		chain_clear(data, c->clients->blocks);
	chain_merge(&call->body, data, c->clients->blocks);
	if (whole)
		call_serve(call);
}

static void
on_gone(struct client *c)
{
	struct admin_call *call = c->user;

	if (call->asked)
		tale_query_cancel(call->proxy, &call->question);
	call_free(call);
}

/* The client has received the last piece: write the next one, or end. */
static void
on_written(struct client *c)
{
	struct admin_call *call = c->user;
	size_t n = call->length - call->given;

	if (n == 0) {
		call_free(call);
		client_next(c);
		return;
	}
	if (n > PIECE)
		n = PIECE;
	if (chain_add(
		&c->out, c->clients->blocks, call->text + call->given, n) < 0) {
		client_close(c);
		return;
	}
	call->given += n;
	client_write_later(c);
}

static const struct client_ops reading_ops = {
    .body = on_body,
    .gone = on_gone,
};

static const struct client_ops writing_ops = {
    .written = on_written,
    .gone = on_gone,
};

struct admin_call *
admin_call_new(struct client *c, struct proxy *p,
    const struct admin_route *routes, const struct http_head *head,
    struct http_refusal *refusal)
{
	struct admin_call *call =
	    calloc(1, sizeof(*call) + head->target.length + 1);
	char *mark;

	if (call == NULL) {
		*refusal = (struct http_refusal){503, "overloaded"};
		return NULL;
	}
	call->proxy = p;
	call->routes = routes;
	call->client = c;
	call->method = head->method;
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_ACCEPT)
			read_accept(call, head->field[i].value);
	memcpy(call->path, head->target.at, head->target.length);
	mark = strchr(call->path, '?');
	if (mark != NULL) {
		*mark = '\0';
		call->query = (struct slice){mark + 1, strlen(mark + 1)};
	}
	c->close = !head->keep_alive;
	c->ops = &reading_ops;
	c->user = call;
	return call;
}

bool
admin_call_begin(struct client *c, const struct http_head *head,
    struct http_refusal *refusal)
{
	struct admin *a = c->clients->user;
	struct admin_call *call =
	    admin_call_new(c, a->proxy, a->routes, head, refusal);

	if (call == NULL)
		return false;
	call->admin = a;
	/* The metrics listener allows any Host, as it only reads. */
	if (a->metrics_only && !c->peer.tale_allowed) {
		a->proxy->metrics.collectors_refused++;
		call->refused = "your address is not in metrics.allow";
	} else if (!a->metrics_only && is_foreign(c, head)) {
		call->refused = "foreign Host or Origin";
	}
	return true;
}

/* --- responses ------------------------------------------------------------ */

void
admin_reply(struct admin_call *call, unsigned status, const char *type,
    const char *text, size_t length)
{
	struct client *c = call->client;
	bool head_only = call->method == HTTP_METHOD_HEAD;
	char extra[sizeof(call->extra) + 64];
	struct client_reply reply = {.status = status,
	    .type = type,
	    .extra = extra,
	    .text = text,
	    .length = length,
	    .head_only = head_only || length > PIECE};

	if (call->admin == NULL)
		access_log_local(
		    c, &(struct access_local){call->logged.address,
			   call->logged.method, call->logged.target, "",
			   "talechain", status});
	snprintf(extra, sizeof(extra), "X-Content-Type-Options: nosniff\r\n%s",
	    call->extra);
	if (!head_only && length > PIECE) {
		call->text = malloc(length);
		if (call->text == NULL) {
			client_close(c);
			return;
		}
		memcpy(call->text, text, length);
		call->length = length;
	}
	c->ops = &writing_ops;
	c->response = CLIENT_RESPONSE_WHOLE;
	client_respond(c, &reply);
}

void
admin_reply_text(struct admin_call *call, unsigned status, const char *text)
{
	admin_reply(call, status, "text/plain", text, strlen(text));
}

void
admin_reply_error(struct admin_call *call, unsigned status, const char *text)
{
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "error", text);
	json_object_end(&j);
	admin_reply_json(call, status, &j);
}

void
admin_reply_json(struct admin_call *call, unsigned status, struct json *j)
{
	char *text;
	size_t length;

	if (json_take(j, &text, &length) < 0) {
		admin_reply_text(call, 500, "out of memory\n");
		return;
	}
	admin_reply(call, status, "application/json", text, length);
	free(text);
}

/* --- parameters ----------------------------------------------------------- */

void
admin_reply_report(
    struct admin_call *call, void (*write)(struct proxy *p, struct json *j))
{
	struct json j;

	json_init(&j, false);
	write(call->proxy, &j);
	admin_reply_json(call, 200, &j);
}

/* Return the value of a query parameter, not decoded, or an empty slice. */
static struct slice
query_value(struct slice query, const char *name)
{
	size_t n = strlen(name);
	struct slice value = {query.at, 0};

	while (query.length > 0) {
		const char *end = memchr(query.at, '&', query.length);
		size_t part =
		    end != NULL ? (size_t)(end - query.at) : query.length;

		if (part > n && memcmp(query.at, name, n) == 0 &&
		    query.at[n] == '=') {
			value.at = query.at + n + 1;
			value.length = part - n - 1;
			return value;
		}
		query.at += part + (end != NULL);
		query.length -= part + (end != NULL);
	}
	return value;
}

bool
admin_query_text(
    const struct admin_call *call, const char *name, char *out, size_t size)
{
	struct slice value = query_value(call->query, name);
	size_t n = 0;

	for (size_t i = 0; i < value.length && n < size; n++) {
		char c = value.at[i++];

		out[n] = c == '+' ? ' ' : c;
		if (c == '%' && value.length - i >= 2 &&
		    isxdigit((unsigned char)value.at[i]) &&
		    isxdigit((unsigned char)value.at[i + 1])) {
			const char digits[] = {
			    value.at[i], value.at[i + 1], '\0'};

			out[n] = (char)strtoul(digits, NULL, 16);
			i += 2;
		}
	}
	out[n < size ? n : 0] = '\0';
	return n > 0 && n < size;
}

unsigned
admin_query_number(const struct admin_call *call, const char *name,
    unsigned fallback, unsigned max)
{
	char text[24];
	unsigned long n = fallback;

	if (admin_query_text(call, name, text, sizeof(text)))
		n = strtoul(text, NULL, 10);
	return n < 1 ? 1 : n > max ? max : (unsigned)n;
}
