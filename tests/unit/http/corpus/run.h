/*
 * run.h: one message through the gate, as a connection would do it.
 *
 * Used by the unit tests and by the fuzz targets.  The bytes arrive in
 * pieces; what comes out must not depend on where they are cut.  Everything
 * is kept in one struct so that two runs can be compared.
 */
#pragma once

#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN_WRITTEN_MAX 24576 /* the largest head and what we add */
#define RUN_END_MAX 128	      /* of that: framing, Connection */

struct run_input {
	struct http_limits limits;
	bool request;
	enum http_method method; /* that a response answers */
	const char *bytes;
	size_t length;
};

struct run {
	struct http_refusal refusal; /* reason NULL: nothing was refused */
	bool head_done, body_done;
	struct http_head head;
	struct http_body body;
	char *payload; /* owned */
	size_t payload_length;
	size_t used; /* bytes of the message */
	int written_length;
	char written[RUN_WRITTEN_MAX];
};

static inline void
run_free(struct run **r)
{
	free((*r)->payload);
	free(*r);
	*r = NULL;
}

/* Framing, as the proxy adds it, and the lines after it. */
static inline void
run_write_end(struct run *r, const char *last)
{
	char length[64] = "";

	if (r->written_length < 0)
		return;
	if (r->head.framing == HTTP_FRAMING_CHUNKED)
		strcpy(length, "Transfer-Encoding: chunked\r\n");
	else if (r->head.has_content_length)
		snprintf(length, sizeof(length), "Content-Length: %llu\r\n",
		    (unsigned long long)r->head.content_length);
	r->written_length +=
	    sprintf(r->written + r->written_length, "%s%s\r\n", length, last);
}

static inline void
run_write_request(struct run *r)
{
	struct http_forward forward = {
	    .client = "192.0.2.1",
	    .tailor_request = 42,
	};

	r->written_length = http_write_request(
	    &r->head, &forward, r->written, sizeof(r->written) - RUN_END_MAX);
	run_write_end(r, "");
}

static inline void
run_write_response(struct run *r)
{
	r->written_length = http_write_response(
	    &r->head, NULL, r->written, sizeof(r->written) - RUN_END_MAX);
	run_write_end(r, r->head.keep_alive ? "" : "Connection: close\r\n");
}

static inline void
run_head(struct run *r, const struct run_input *in, size_t head_length)
{
	uint64_t max = in->request ? in->limits.body_max : UINT64_MAX;
	int err;

	if (in->request)
		err = http_parse_request(
		    &in->limits, in->bytes, head_length, &r->head, &r->refusal);
	else
		err = http_parse_response(&in->limits, in->method, in->bytes,
		    head_length, &r->head, &r->refusal);
	if (err != 0)
		return;
	r->refusal.reason = NULL;
	r->head_done = true;
	r->used = head_length;
	if (in->request)
		run_write_request(r);
	else
		run_write_response(r);
	http_body_init(&r->body, r->head.framing, r->head.content_length, max);
	r->body.request = in->request;
	r->body_done = r->body.done;
}

/* What has arrived of the body, up to end. */
static inline void
run_body(struct run *r, const struct run_input *in, size_t end)
{
	while (r->used < end && !r->body_done) {
		struct slice data = {NULL, 0};
		size_t used;
		enum http_body_event event =
		    http_body_feed(&r->body, in->bytes + r->used, end - r->used,
			&used, &data, &r->refusal);

		r->used += used;
		if (event == HTTP_BODY_BAD)
			return;
		if (event == HTTP_BODY_DATA) {
			memcpy(r->payload + r->payload_length, data.at,
			    data.length);
			r->payload_length += data.length;
		} else {
			r->refusal.reason = NULL;
		}
		r->body_done = r->body.done;
	}
}

/*
 * Bytes arrive up to first, then step more each time.  The result is freed
 * with run_free.
 */
static inline struct run *
run_message(const struct run_input *in, size_t first, size_t step)
{
	struct run *r = malloc(sizeof(*r));
	size_t scanned = 0, head_length = 0;
	char *payload;

	if (r == NULL || (r->payload = malloc(in->length + 1)) == NULL)
		abort();
	payload = r->payload;
	memset(r, 0, offsetof(struct run, written));
	r->payload = payload;
	for (size_t end = first;; end += step) {
		if (end > in->length)
			end = in->length;
		if (!r->head_done) {
			enum http_scan scan =
			    http_scan(&in->limits, in->request, in->bytes, end,
				&scanned, &head_length, &r->refusal);

			if (scan == HTTP_SCAN_BAD)
				return r;
			r->refusal.reason = NULL;
			if (scan == HTTP_SCAN_HEAD)
				run_head(r, in, head_length);
		}
		if (r->refusal.reason != NULL)
			return r;
		if (r->head_done)
			run_body(r, in, end);
		if (r->refusal.reason != NULL || r->body_done ||
		    end == in->length)
			break;
	}
	if (r->head_done && r->refusal.reason == NULL)
		r->body_done = http_body_eof(&r->body);
	return r;
}

/* NULL if both runs came to the same end, else what differs. */
static inline const char *
run_differs(const struct run *a, const struct run *b)
{
	if ((a->refusal.reason == NULL) != (b->refusal.reason == NULL))
		return "one was refused";
	if (a->refusal.reason != NULL &&
	    (a->refusal.status != b->refusal.status ||
		strcmp(a->refusal.reason, b->refusal.reason) != 0))
		return "refused for another reason";
	if (a->head_done != b->head_done || a->body_done != b->body_done)
		return "one came further";
	if (a->payload_length != b->payload_length ||
	    memcmp(a->payload, b->payload, a->payload_length) != 0)
		return "other payload";
	if (a->refusal.reason == NULL && a->used != b->used)
		return "ends elsewhere";
	if (a->written_length != b->written_length ||
	    (a->written_length > 0 &&
		memcmp(a->written, b->written, (size_t)a->written_length) != 0))
		return "written otherwise";
	return NULL;
}

/*
 * NULL if what was written is itself a message that passes and is written the
 * same again, else what is wrong.
 */
static inline const char *
run_not_fixed(const struct run *r, const struct run_input *in)
{
	struct run_input again = *in;
	const char *wrong = NULL;
	struct run *second;

	if (r->written_length < 0)
		return "does not fit";
	if (in->request && r->head.authority.length == 0)
		return NULL; /* from 1.0: Host is each attempt's */
	again.bytes = r->written;
	again.length = (size_t)r->written_length;
	/* what we add counts too */
	again.limits.head_max += 1024;
	again.limits.fields_max = HTTP_FIELDS_MAX;
	second = run_message(&again, again.length, 1);
	if (!second->head_done)
		wrong = second->refusal.reason != NULL ? second->refusal.reason
						       : "incomplete";
	else if (second->written_length != r->written_length ||
		 memcmp(second->written, r->written, again.length) != 0)
		wrong = "written otherwise the second time";
	run_free(&second);
	return wrong;
}
