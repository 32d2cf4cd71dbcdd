/* write.c: writes heads from their parsed parts.
 *
 * No line is copied as it came: each is written from name and value.  The
 * caller adds framing, and fields for one connection only are left out.  Values
 * were checked when they were parsed; texts from the caller (ids, addresses,
 * whole lines) are not checked.
 *
 * Cost: one copy of the head. */
#include "http/http.h"

#include "http/gate.h"
#include "http/writer.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

static void
put(struct writer *w, struct slice s)
{
	writer_put(w, s.at, s.length);
}

static inline __attribute__((always_inline)) void
put_field(struct writer *w, const char *name, struct slice value)
{
	writer_text(w, name);
	writer_text(w, ": ");
	put(w, value);
	writer_text(w, "\r\n");
}

static inline __attribute__((always_inline)) void
put_field_text(struct writer *w, const char *name, const char *value)
{
	put_field(w, name, (struct slice){value, strlen(value)});
}

/* Write a field with the name spelt as it came. */
static void
put_field_again(struct writer *w, const struct http_field *field)
{
	put(w, field->name);
	writer_text(w, ": ");
	put(w, field->value);
	writer_text(w, "\r\n");
}

static int
writer_finish(const struct writer *w)
{
	if (w->full || w->length > INT_MAX)
		return -ENOBUFS;
	return (int)w->length;
}

static void
put_request_line(struct writer *w, const struct http_head *head)
{
	put(w, head->method_text);
	writer_text(w, " ");
	if (head->target.length == 0) /* OPTIONS http://host */
		writer_text(w, "*");
	else if (head->target.at[0] == '?') /* http://host?query */
		writer_text(w, "/");
	put(w, head->target);
	writer_text(w, " HTTP/1.1\r\n");
	/* A 1.0 request may have no host: then each attempt writes Host. */
	if (head->authority.length > 0)
		put_field(w, "Host", head->authority);
}

/* True for a field that is for this connection only, or that the client's
 * Connection names.  The Connection of a trusted peer is ignored: it may come
 * from the peer's client, and must not remove fields that the peer added. */
static bool
is_left_behind(
    const struct http_forward *forward, const struct http_field *field)
{
	return field->drop || (field->named && !forward->trusted);
}

/* True if our field replaces the client's. */
static bool
is_replaced(const struct http_forward *forward, const struct http_field *field)
{
	if (field_is_forwarded(field)) {
		/* our field includes its members */
		if (field->id == HTTP_FIELD_X_FORWARDED_FOR)
			return true;
		return !forward->trusted;
	}
	if (field->id == HTTP_FIELD_REQUEST_ID)
		return forward->request_id != NULL;
	return false;
}

static void
put_forwarded_for(struct writer *w, const struct http_head *head,
    const struct http_forward *forward)
{
	const char *before = "X-Forwarded-For: ";

	for (unsigned i = 0; forward->trusted && i < head->fields; i++) {
		const struct http_field *field = &head->field[i];

		if (field->id != HTTP_FIELD_X_FORWARDED_FOR ||
		    field->value.length == 0)
			continue;
		writer_text(w, before);
		put(w, field->value);
		before = ", ";
	}
	if (forward->client != NULL) {
		writer_text(w, before);
		writer_text(w, forward->client);
		before = ", ";
	}
	if (before[0] == ',')
		writer_text(w, "\r\n");
}

/* Write Forwarded (RFC 7239); the quoted values contain no quotes. */
static void
put_rfc7239(struct writer *w, const struct http_head *head,
    const struct http_forward *forward)
{
	bool v6 =
	    forward->client != NULL && strchr(forward->client, ':') != NULL;

	writer_text(w, "Forwarded: for=");
	if (v6)
		writer_text(w, "\"[");
	writer_text(w, forward->client != NULL ? forward->client : "unknown");
	if (v6)
		writer_text(w, "]\"");
	if (head->authority.length > 0) {
		writer_text(w, ";host=\"");
		put(w, head->authority);
		writer_text(w, "\"");
	}
	writer_text(w, ";proto=http\r\n");
}

/* Write the fields that describe the client and its way here to the server. */
static void
put_forwarded(struct writer *w, const struct http_head *head,
    const struct http_forward *forward)
{
	bool trusted = forward->trusted;

	put_forwarded_for(w, head, forward);
	if (!trusted ||
	    http_field_find(head, HTTP_FIELD_X_FORWARDED_PROTO) == NULL)
		put_field_text(w, "X-Forwarded-Proto", "http");
	if (head->authority.length > 0 &&
	    (!trusted ||
		http_field_find(head, HTTP_FIELD_X_FORWARDED_HOST) == NULL))
		put_field(w, "X-Forwarded-Host", head->authority);
	if (forward->forwarded)
		put_rfc7239(w, head, forward);
	if (forward->via)
		put_field_text(
		    w, "Via", head->minor == 0 ? "1.0 tailor" : "1.1 tailor");
}

static void
put_ids(struct writer *w, const struct http_forward *forward)
{
	if (forward->request_id != NULL)
		put_field_text(w, "X-Request-Id", forward->request_id);
	writer_text(w, "Tailor-Request: ");
	writer_hex(w, forward->tailor_request);
	writer_text(w, "\r\n");
}

int
http_write_request(const struct http_head *head,
    const struct http_forward *forward, char *out, size_t capacity)
{
	struct writer w = {.at = out, .capacity = capacity};

	put_request_line(&w, head);
	for (unsigned i = 0; i < head->fields; i++)
		if (!is_left_behind(forward, &head->field[i]) &&
		    !is_replaced(forward, &head->field[i]))
			put_field_again(&w, &head->field[i]);
	put_forwarded(&w, head, forward);
	put_ids(&w, forward);
	return writer_finish(&w);
}

static void
put_status_line(struct writer *w, const struct http_head *head)
{
	assert(head->status >= 100 && head->status <= 999);
	writer_text(w, "HTTP/1.1 ");
	writer_decimal(w, head->status);
	writer_text(w, " ");
	if (head->reason.length > 0)
		put(w, head->reason);
	else
		writer_text(w, http_reason(head->status));
	writer_text(w, "\r\n");
}

int
http_write_response(const struct http_head *head, const char *request_id,
    char *out, size_t capacity)
{
	struct writer w = {.at = out, .capacity = capacity};

	put_status_line(&w, head);
	for (unsigned i = 0; i < head->fields; i++)
		if (!head->field[i].drop && !head->field[i].named)
			put_field_again(&w, &head->field[i]);
	/* The server's own X-Request-Id has priority. */
	if (request_id != NULL &&
	    http_field_find(head, HTTP_FIELD_REQUEST_ID) == NULL)
		put_field_text(&w, "X-Request-Id", request_id);
	return writer_finish(&w);
}

int
http_write_trailers(struct slice lines, char *out, size_t capacity)
{
	struct writer w = {.at = out, .capacity = capacity};
	struct slice line;

	while (line_take(&lines, &line)) {
		const char *colon = memchr(line.at, ':', line.length);
		size_t n;

		assert(colon != NULL); /* the decoder has checked this */
		n = (size_t)(colon - line.at);
		if (!field_may_trail((struct slice){line.at, n}))
			continue;
		put(&w, (struct slice){line.at, n});
		writer_text(&w, ": ");
		put(&w,
		    slice_trim((struct slice){colon + 1, line.length - n - 1}));
		writer_text(&w, "\r\n");
	}
	return writer_finish(&w);
}
