#include "loadgen/send/response.h"

#include <string.h>

static const struct http_limits limits = {.head_max = RESPONSE_HEAD_MAX,
    .fields_max = HTTP_FIELDS_MAX,
    .body_max = UINT64_MAX};

void
response_init(struct load_response *r, char *kept, bool to_head)
{
	*r = (struct load_response){.to_head = to_head, .kept = kept};
	server_timing_init(&r->timing);
}

static void
read_field(struct load_response *r, struct slice name, struct slice value)
{
	if (slice_is(name, "server-timing"))
		server_timing_read(&r->timing, value);
}

/* Metrics that the server knew only after the body. */
static void
read_trailers(struct load_response *r)
{
	struct slice rest = {r->kept, r->body.kept}, line;

	while (line_take(&rest, &line)) {
		const char *colon = memchr(line.at, ':', line.length);
		size_t n = (size_t)(colon - line.at);

		read_field(r, (struct slice){line.at, n},
		    (struct slice){colon + 1, line.length - n - 1});
	}
}

static void
complete(struct load_response *r)
{
	r->body_bytes = r->body.total;
	r->state = RESPONSE_COMPLETE;
	read_trailers(r);
}

/* A whole head: what follows?  False: it is malformed. */
static bool
take_head(struct load_response *r, const char *bytes, size_t length)
{
	struct http_head head;
	struct http_refusal refusal;

	if (http_parse_response(&limits,
		r->to_head ? HTTP_METHOD_HEAD : HTTP_METHOD_GET, bytes, length,
		&head, &refusal) < 0)
		return false;
	r->scanned = 0;
	r->kept_bytes = 0;
	if (head.status < 200) {
		r->interim_bytes += length;
		return r->interim_bytes <= RESPONSE_HEAD_MAX;
	}
	r->status = (uint16_t)head.status;
	r->keep_alive = head.keep_alive;
	for (unsigned i = 0; i < head.fields; i++)
		read_field(r, head.field[i].name, head.field[i].value);
	http_body_init(
	    &r->body, head.framing, head.content_length, limits.body_max);
	http_body_keep_trailers(&r->body, r->kept);
	r->state = RESPONSE_BODY;
	if (r->body.done)
		complete(r);
	return true;
}

/* Bytes of a head; returns how many belong to it.  Most heads come whole and
 * are read where they are. */
static size_t
feed_head(struct load_response *r, const char *bytes, size_t n)
{
	const size_t before = r->kept_bytes;
	struct http_refusal refusal;
	size_t length = 0;

	if (before > 0) {
		if (n > RESPONSE_HEAD_MAX - before)
			n = RESPONSE_HEAD_MAX - before;
		memcpy(r->kept + before, bytes, n);
		bytes = r->kept;
	}
	switch (http_scan(&limits, false, bytes, before + n, &r->scanned,
	    &length, &refusal)) {
	case HTTP_SCAN_HEAD:
		if (take_head(r, bytes, length))
			return length - before;
		break;
	case HTTP_SCAN_MORE:
		if (before + n >= RESPONSE_HEAD_MAX)
			break;
		if (before == 0)
			memcpy(r->kept, bytes, n);
		r->kept_bytes = before + n;
		return n;
	case HTTP_SCAN_BAD:
		break;
	}
	r->state = RESPONSE_MALFORMED;
	return 0;
}

static size_t
feed_body(struct load_response *r, const char *bytes, size_t n)
{
	struct http_refusal refusal;
	struct slice data;
	size_t used = 0;

	if (http_body_feed(&r->body, bytes, n, &used, &data, &refusal) ==
	    HTTP_BODY_BAD)
		r->state = RESPONSE_MALFORMED;
	r->body_bytes = r->body.total;
	if (r->body.done)
		complete(r);
	return used;
}

size_t
response_feed(struct load_response *r, const char *bytes, size_t n)
{
	size_t used = 0;

	while (used < n && !response_is_over(r))
		used += r->state == RESPONSE_HEAD
			    ? feed_head(r, bytes + used, n - used)
			    : feed_body(r, bytes + used, n - used);
	return used;
}

void
response_end(struct load_response *r)
{
	if (r->state == RESPONSE_BODY && http_body_eof(&r->body))
		complete(r);
}
