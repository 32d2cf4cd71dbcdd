/* request.h: the bytes of all requests, made before the first is sent.
 *
 * All requests for one path differ only in their id and trace id, which have
 * the same length in all of them.  So there is one text per path, and sending
 * request n means writing 16 + 32 digits into it.  The text is the sender
 * thread's scratch: a request that could be sent only in part writes its own
 * digits again before it goes on, which costs less than a copy of the text.
 *
 *   id     <run>-<iteration>-<number>    7f3a2c11-01-0412
 *   trace  00-<trace id>-<parent id>-01  (W3C Trace Context, version 00)
 *
 * Warm-up requests have a "w" in place of the number's first digit. */
#pragma once

#include "http/slice.h"
#include "loadgen/send/plan.h"
#include "loadgen/send/target.h"

#define REQUEST_ID_MAX 40
#define REQUEST_TRACE_LENGTH 55 /* of traceparent's value */

/* How ids are written; the same for a whole run. */
struct request_ids {
	uint64_t run; /* random; its upper half is shown in ids */
	int iteration_digits;
	int number_digits;
};

/* Identifies a request: iteration from 1, number from 1 (warm-up requests are
 * numbered separately). */
struct request_name {
	unsigned iteration;
	uint32_t number;
	bool warmup;
};

/* Fill in widths for the run; run should be random. */
void request_ids_init(
    struct request_ids *ids, uint64_t run, const struct plan *plan);

/* Write the id; returns its length, the same for all names of a run. */
size_t request_id_format(const struct request_ids *ids,
    const struct request_name *name, char out[REQUEST_ID_MAX]);

/* Write traceparent's value, REQUEST_TRACE_LENGTH characters and a NUL. */
void request_trace_format(const struct request_ids *ids,
    const struct request_name *name, char out[REQUEST_TRACE_LENGTH + 1]);

struct request_text {
	char *bytes; /* owned */
	size_t length;
	size_t id_at;	 /* where the id's first character is */
	size_t trace_at; /* where traceparent's value is */
};

struct request_texts {
	struct request_ids ids;
	const char *method;
	bool is_head;
	size_t count; /* one per path */
	struct request_text *texts;
};

/* Make the texts.  Checks the headers of the command line: names must be
 * tokens; those that would break framing or ids are refused.
 *   run  random number that names this run
 *   why  receives a message for the person on error
 * Returns 0, -EINVAL (usage) or another negative errno. */
int request_texts_open(struct request_texts *r, const struct plan *plan,
    const struct target *t, uint64_t run, char *why, size_t why_size);
void request_texts_close(struct request_texts *r);

/* The text of a request, with its ids in place; valid until the next call.
 * Paths are taken in turn by number.  No allocation; sender thread. */
const struct request_text *
request_fill(struct request_texts *r, const struct request_name *name);

/* True if c may stand in a method, a header name or another token. */
static inline bool
token_char(char c)
{
	return (http_chars[(unsigned char)c] & HTTP_CHAR_TOKEN) != 0;
}
