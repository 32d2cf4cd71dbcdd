/*
 * admin_timeline.c: see admin_timeline.h.
 */
#include "proxy/admin/admin_timeline.h"

#include <sys/queue.h> /* first: libevent would undefine its macros */

#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embed.h"
#include "proxy/admin/admin_http.h"
#include "proxy/admin/live_report.h"
#include "proxy/admin/tale_api.h"
#include "proxy/request/proxy.h"

#define SLOW_DEFAULT 20
#define SLOW_MAX 1000
#define SINCE_MAX_S (10 * 366 * 86400u)

/* Asked for and not answered yet. */
struct admin_wait {
	struct tale_query query;
	struct proxy *proxy;
	struct evhttp_request *request; /* owned while asked */
	const char *type;		/* of the answer; static */
	bool pinning;
	char extra[NEGOTIATE_EXTRA_BYTES]; /* further header lines */
};

static void
on_closed(struct evhttp_connection *connection, void *user)
{
	struct admin_wait *w = user;

	(void)connection;
	tale_query_cancel(w->proxy, &w->query);
	free(w);
}

/* Whole header lines, each ended by CRLF, into a reply. */
static void
add_lines(struct evhttp_request *r, char *lines)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r);
	char *next, *colon;

	for (; *lines != '\0'; lines = next) {
		next = strstr(lines, "\r\n");
		colon = strchr(lines, ':');
		if (next == NULL || colon == NULL || colon > next)
			return;
		*next = *colon = '\0';
		evhttp_add_header(headers, lines, colon + 2);
		next += 2;
	}
}

static void
on_answer(struct tale_query *q, int status, const char *type, const char *text,
    size_t length)
{
	static const char pinned[] = "{\"pinned\":true}\n";
	struct admin_wait *w = q->user;
	struct evhttp_connection *connection =
	    evhttp_request_get_connection(w->request);

	if (connection != NULL)
		evhttp_connection_set_closecb(connection, NULL, NULL);
	if (status == 200 && w->pinning) {
		text = pinned;
		length = sizeof(pinned) - 1;
	}
	if (type == NULL) {
		type = w->type;
		add_lines(w->request, w->extra);
	}
	admin_reply(w->request, status, type, text, length);
	free(w);
}

/* Begin to wait for an answer; NULL: answered with 500. */
static struct admin_wait *
wait_new(struct evhttp_request *r, struct proxy *p, const char *type)
{
	struct admin_wait *w = calloc(1, sizeof(*w));

	if (w == NULL) {
		evhttp_send_error(r, 500, NULL);
		return NULL;
	}
	w->proxy = p;
	w->request = r;
	w->type = type;
	w->query =
	    (struct tale_query){.done = on_answer, .user = w, .missing = 500};
	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(r), on_closed, w);
	return w;
}

/* By ?format=, else by Accept, else text; a negative errno: none of ours. */
static int
wanted_format(struct evhttp_request *r)
{
	struct evkeyvalq *in = evhttp_request_get_input_headers(r);
	struct negotiation n = {0};
	struct evkeyval *one;
	char name[16];

	if (admin_query_text(r, "format", name, sizeof(name)))
		return tale_format_named(name, strlen(name));
	TAILQ_FOREACH(one, in, next)
	if (strcasecmp(one->key, "Accept") == 0)
		negotiate_accept(
		    &n, (struct slice){one->value, strlen(one->value)});
	return negotiate_choose(&n, TALE_FORMAT_TEXT);
}

bool
admin_wants_page(struct evhttp_request *r)
{
	return wanted_format(r) == TALE_FORMAT_HTML;
}

void
admin_timeline(struct evhttp_request *r, struct proxy *p, const char *id)
{
	int format = wanted_format(r);
	struct admin_wait *w;

	if (format < 0) {
		admin_reply_error(r, 406, "the formats are " TALE_FORMATS_TEXT);
		return;
	}
	if (strlen(id) > 64 || *id == '\0') {
		admin_reply_error(r, 404, "no request had this x-request-id");
		return;
	}
	w = wait_new(r, p, tale_format_type((enum tale_format)format));
	if (w == NULL)
		return;
	negotiate_extra((enum tale_format)format, id, w->extra);
	tale_query(p, &w->query, id, (enum tale_format)format, NULL, false);
}

void
admin_pin(struct evhttp_request *r, struct proxy *p)
{
	struct admin_wait *w;
	char id[65];

	if (!admin_query_text(r, "id", id, sizeof(id)) || id[0] == '\0') {
		admin_reply_error(r, 400, "wants ?id=ID");
		return;
	}
	w = wait_new(r, p, "application/json");
	if (w == NULL)
		return;
	w->pinning = true;
	tale_query(p, &w->query, id, TALE_FORMAT_JSON, NULL, true);
}

void
admin_slow(struct evhttp_request *r, struct proxy *p)
{
	struct analysis_question q = {.kind = ANALYSIS_SLOW};
	struct admin_wait *w;
	char cause[32], since[24];

	q.list.n = admin_query_number(r, "n", SLOW_DEFAULT, SLOW_MAX);
	if (admin_query_text(r, "since", since, sizeof(since)))
		q.list.since_ns =
		    NS_PER_S * admin_query_number(r, "since", 1, SINCE_MAX_S);
	q.list.target_ns = p->config->slow.target_ns;
	q.list.cause = -1;
	if (admin_query_text(r, "cause", cause, sizeof(cause))) {
		q.list.cause = tale_cause_find(cause);
		if (q.list.cause < 0) {
			admin_reply_error(r, 400, "no cause has that code");
			return;
		}
	}
	admin_query_text(r, "path", q.list.path, sizeof(q.list.path));
	w = wait_new(r, p, "application/json");
	if (w != NULL)
		tale_ask(p, &w->query, &q);
}

void
admin_live(struct evhttp_request *r, struct proxy *p)
{
	struct analysis_question q = {
	    .kind = ANALYSIS_REPORT, .list = {.n = SLOW_MAX, .cause = -1}};
	struct admin_wait *w;

	q.report = live_report_new(p);
	if (q.report == NULL) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	w = wait_new(r, p, "application/json");
	if (w == NULL)
		q.report->free(q.report);
	else
		tale_ask(p, &w->query, &q);
}

EMBED(live_html, "proxy/admin/page/live.html");

void
admin_live_page(struct evhttp_request *r)
{
	/* The page has its policy in it, but for this. */
	evhttp_add_header(evhttp_request_get_output_headers(r),
	    "Content-Security-Policy", "frame-ancestors 'none'");
	admin_reply(r, 200, tale_format_type(TALE_FORMAT_HTML), live_html,
	    (size_t)(live_html_end - live_html));
}
