/*
 * admin_http.c: see admin_http.h.
 */
#include "proxy/admin/admin_http.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <sys/queue.h> /* first: libevent would undefine its macros */

#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

void
admin_reply(struct evhttp_request *r, int status, const char *type,
    const char *text, size_t length)
{
	struct evbuffer *body = evbuffer_new();
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r);

	if (body == NULL || evbuffer_add(body, text, length) < 0) {
		if (body != NULL)
			evbuffer_free(body);
		evhttp_send_error(r, 500, NULL);
		return;
	}
	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	evhttp_send_reply(r, status, http_reason((unsigned)status), body);
	evbuffer_free(body);
}

void
admin_reply_error(struct evhttp_request *r, int status, const char *text)
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
	admin_reply(r, status, "application/json", out, length);
	free(out);
}

void
admin_reply_json(struct evhttp_request *r, struct json *j)
{
	char *out;
	size_t length;

	if (json_take(j, &out, &length) < 0) {
		evhttp_send_error(r, 500, NULL);
		return;
	}
	admin_reply(r, 200, "application/json", out, length);
	free(out);
}

/* Whether a Host names this machine, and is not merely a name that begins so:
 * 127.0.0.1.example.com leads wherever its owner likes. */
static bool
host_is_local(const char *host)
{
	char name[64];
	struct in_addr v4;
	size_t n = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");

	if (n >= sizeof(name) || n > strlen(host) ||
	    strspn(host + n, ":0123456789") != strlen(host + n))
		return false;
	memcpy(name, host, n);
	name[n] = '\0';
	if (strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, name, &v4) == 1 &&
	       ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* A page in a browser must not be able to reach us through its user. */
static bool
foreign(bool unix_socket, struct evhttp_request *r)
{
	struct evkeyvalq *in = evhttp_request_get_input_headers(r);
	const char *host = evhttp_find_header(in, "Host");

	if (evhttp_find_header(in, "Origin") != NULL)
		return true;
	/* No page reaches a Unix socket, whatever Host it names. */
	return !unix_socket && host != NULL && *host != '\0' &&
	       !host_is_local(host);
}

bool
admin_admit(const struct admin *a, struct evhttp_request *r,
    enum evhttp_cmd_type wanted)
{
	enum evhttp_cmd_type got = evhttp_request_get_command(r);

	if (foreign((a->path[0] != '\0'), r)) {
		admin_reply_error(r, 403, "foreign Host or Origin");
		return false;
	}
	if (got != wanted &&
	    !(wanted == EVHTTP_REQ_GET && got == EVHTTP_REQ_HEAD)) {
		evhttp_add_header(evhttp_request_get_output_headers(r), "Allow",
		    wanted == EVHTTP_REQ_POST ? "POST" : "GET, HEAD");
		admin_reply_error(r, 405,
		    wanted == EVHTTP_REQ_POST ? "this wants POST"
					      : "this wants GET");
		return false;
	}
	return true;
}

unsigned
admin_query_number(
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

bool
admin_query_text(
    struct evhttp_request *r, const char *name, char *out, size_t size)
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
