#include "loadgen/send/response.h"

#include <math.h>
#include <string.h>

#include "loadgen/send/request.h"

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

/* Read metrics in trailers, which a server sends after the body. */
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

/* Parse a whole head and prepare for the body.  False: malformed. */
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

/* Take bytes of a head; returns how many belong to it.  Most heads come whole
 * and are parsed without a copy. */
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

/* --- Server-Timing -------------------------------------------------------- */

#define RANK_NONE 3
#define DAY_MS 86400000.0

void
server_timing_init(struct server_timing *t)
{
	*t = (struct server_timing){.duration_ns = -1, .rank = RANK_NONE};
}

static void
skip(struct slice *rest, size_t n)
{
	rest->at += n;
	rest->length -= n;
}

/* Skip a given character and the space around it; false: not there. */
static bool
take(struct slice *rest, char wanted)
{
	*rest = slice_trim(*rest);
	if (rest->length == 0 || *rest->at != wanted)
		return false;
	skip(rest, 1);
	*rest = slice_trim(*rest);
	return true;
}

static struct slice
take_token(struct slice *rest)
{
	struct slice t = {rest->at, 0};

	while (t.length < rest->length && token_char(t.at[t.length]))
		t.length++;
	skip(rest, t.length);
	return t;
}

/* Take a token, or the text of a quoted string. */
static bool
take_value(struct slice *rest, struct slice *out)
{
	size_t n = 0;

	if (!take(rest, '"')) {
		*out = take_token(rest);
		return out->length > 0;
	}
	while (n < rest->length && rest->at[n] != '"')
		n += rest->at[n] == '\\' ? 2 : 1;
	if (n >= rest->length)
		return false;
	*out = (struct slice){rest->at, n};
	skip(rest, n + 1);
	return true;
}

/* Convert decimal milliseconds to ns; -1 if t is anything else. */
static int64_t
parse_milliseconds(struct slice t)
{
	double value = 0;
	double scale = 0;
	size_t digits = 0;

	for (size_t i = 0; i < t.length; i++) {
		if (t.at[i] == '.' && scale == 0.0) {
			scale = 1;
		} else if (t.at[i] >= '0' && t.at[i] <= '9') {
			value = value * 10 + (t.at[i] - '0');
			scale *= 10;
			digits++;
		} else {
			return -1;
		}
	}
	if (digits == 0 || digits > 18)
		return -1;
	if (scale > 0)
		value /= scale;
	return value > DAY_MS ? -1 : llround(value * 1e6);
}

static unsigned
metric_rank(struct slice name)
{
	if (slice_is(name, "app"))
		return 0;
	return slice_is(name, "upstream") ? 1 : 2;
}

/* Read a metric: name *( ";" parameter [ "=" value ] ). */
static bool
read_metric(struct slice *rest, struct slice *name, int64_t *duration_ns)
{
	struct slice parameter, value;

	*duration_ns = -1;
	*name = take_token(rest);
	if (name->length == 0)
		return false;
	while (take(rest, ';')) {
		parameter = take_token(rest);
		if (!take(rest, '='))
			continue;
		if (!take_value(rest, &value))
			return false;
		/* By the standard, the first "dur" counts. */
		if (slice_is(parameter, "dur") && *duration_ns < 0)
			*duration_ns = parse_milliseconds(value);
	}
	return true;
}

void
server_timing_read(struct server_timing *t, struct slice value)
{
	struct slice rest = slice_trim(value), name;
	int64_t duration_ns;

	do {
		if (!read_metric(&rest, &name, &duration_ns))
			return;
		if (slice_is(name, "tailor"))
			t->tailor = true;
		unsigned rank = metric_rank(name);
		if (duration_ns >= 0 && rank < t->rank) {
			t->rank = rank;
			t->duration_ns = duration_ns;
		}
	} while (take(&rest, ','));
}
