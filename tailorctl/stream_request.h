/* stream_request.h: requests assembled from the proxy's events in the stream.
 *
 * Takes events in order and returns a request when its last event came.  A
 * request whose begin was not seen is returned with what is known.  Memory: a
 * table of fixed size; on a collision the older open request is dropped. */
#pragma once

#include "tailorctl/query.h"
#include "talechain/timeline/timeline.h"

#define STREAM_REQUESTS_OPEN 4096 /* a power of two */
#define SEEN_SERVERS 8
#define STREAM_NAME 40

struct stream_request {
	uint64_t id;					  /* 0: none */
	uint64_t first_byte_ns, received_ns, finished_ns; /* 0: not seen */
	uint64_t written_ns, answered_ns; /* of the attempt that won */
	uint64_t attempt_ns[2];
	uint64_t status, bytes, in_flight, attempts;
	bool began; /* its first event was seen */
	int server; /* of the response, -1: none */
};

struct stream_requests {
	struct stream_request open[STREAM_REQUESTS_OPEN];
	unsigned servers;
	char name[SEEN_SERVERS][STREAM_NAME];
};

/* Take an event; true if *out is now a finished request. */
bool stream_requests_take(struct stream_requests *s,
    const struct timeline_slot *slot, struct stream_request *out);

/* From first byte to last, ns; 0 if the beginning was not seen. */
uint64_t stream_request_total_ns(const struct stream_request *r);

/* A server's name, or its number, or "-"; out is returned. */
const char *stream_server_name(
    const struct stream_requests *s, int server, char out[STREAM_NAME]);

/* The state of stream_request_lookup. */
struct stream_request_query {
	const struct stream_requests *table;
	const struct stream_request *request;
	char text[64]; /* of the latest value */
};
query_lookup stream_request_lookup; /* user: struct stream_request_query * */
/* The names of its fields, NULL-terminated. */
extern const char *const stream_request_fields[];
