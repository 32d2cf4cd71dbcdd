/*
 * admin_timeline.c: see admin_timeline.h.
 */
#include "proxy/admin_timeline.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/admin_http.h"
#include "proxy/proxy.h"
#include "proxy/tale_api.h"

/* A timeline asked for and not answered yet. */
struct admin_tale {
	struct tale_query query;
	struct proxy *proxy;
	struct evhttp_request *request; /* owned while asked */
	enum tale_format format;
};

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
	admin_reply(t->request, status, type, text, length);
	free(t);
}

/* By ?format=, else by Accept, else text; -EINVAL for another format. */
static int
wanted_format(struct evhttp_request *r)
{
	const char *accept =
	    evhttp_find_header(evhttp_request_get_input_headers(r), "Accept");
	char name[16];

	if (admin_query_text(r, "format", name, sizeof(name)))
		return tale_format_named(name, strlen(name));
	return accept != NULL && strstr(accept, "application/json") != NULL
		   ? TALE_FORMAT_JSON
		   : TALE_FORMAT_TEXT;
}

void
admin_timeline(struct evhttp_request *r, struct proxy *p, const char *id)
{
	struct admin_tale *t;
	int format;

	format = wanted_format(r);
	if (format < 0) {
		admin_reply_error(r, 406, "format is text or json");
		return;
	}
	if (strlen(id) > 64 || *id == '\0') {
		admin_reply_error(r, 404, "no request had this x-request-id");
		return;
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	t->proxy = p;
	t->request = r;
	t->format = (enum tale_format)format;
	t->query = (struct tale_query){.done = on_admin_tale, .user = t};
	evhttp_connection_set_closecb(
	    evhttp_request_get_connection(r), on_admin_closed, t);
	tale_query(p, &t->query, id, t->format, NULL, false);
}
