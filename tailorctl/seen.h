/*
 * seen.h: requests put together from the proxy's events in the stream.
 *
 * One event after the other goes in; when a request's last one has been seen
 * it comes out whole.  Requests that began before the first event that was
 * read, or whose beginning was overtaken, come out with what is known.
 * Memory: a table of fixed size; when too many are open at once the one in
 * the way is forgotten.
 */
#ifndef TAILOR_TAILORCTL_SEEN_H
#define TAILOR_TAILORCTL_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "tailorctl/query.h"
#include "talechain/timeline/timeline.h"

#define SEEN_OPEN 4096 /* a power of two */
#define SEEN_SERVERS 8
#define SEEN_NAME 40

struct seen_request {
	uint64_t id;					  /* 0: none */
	uint64_t first_byte_ns, received_ns, finished_ns; /* 0: not seen */
	uint64_t written_ns, answered_ns; /* of the attempt that won */
	uint64_t attempt_ns[2];
	uint64_t status, bytes, in_flight;
	unsigned attempts, trigger;
	bool began; /* its first event was seen */
	int server; /* that answered, -1: none */
};

struct seen {
	struct seen_request open[SEEN_OPEN];
	uint64_t finished, partial, forgotten;
	unsigned servers;
	char name[SEEN_SERVERS][SEEN_NAME];
};

/* Take an event; true if *out is now a finished request. */
bool seen_take(
    struct seen *s, const struct timeline_slot *slot, struct seen_request *out);

/* From first byte to last, ns; 0 if the beginning was not seen. */
uint64_t seen_total_ns(const struct seen_request *r);

/* A server's name, or its number, or "-"; out is returned. */
const char *seen_server(const struct seen *s, int server, char out[SEEN_NAME]);

/* What a query may ask of a request. */
struct seen_asked {
	const struct seen *seen;
	const struct seen_request *request;
	char text[64]; /* of the latest value */
};
query_lookup seen_lookup; /* user: struct seen_asked * */
/* The names that it knows, NULL-terminated. */
extern const char *const seen_fields[];

#endif
