/* follow.h: the timeline stream in shared memory, for log and top.
 *
 * A reader cannot delay the observer: if it is too slow, events are overwritten
 * before it reads them, and it counts them as lost. */
#pragma once

#include "tailorctl/options.h"
#include "tailorctl/query.h"
#include "talechain/timeline/timeline.h"

/* Requests assembled from the proxy's events in the stream.
 *
 * Takes events in order and returns a request at its last event.  If its begin
 * was not seen, the missing fields are 0.  Memory: a table of fixed size; on a
 * collision the older open request is dropped. */
#define STREAM_REQUESTS_OPEN 4096 /* a power of two */
#define SEEN_SERVERS 8
#define STREAM_NAME 40

struct stream_request {
	uint64_t id;					  /* 0: none */
	uint64_t first_byte_ns, received_ns, finished_ns; /* 0: not seen */
	uint64_t written_ns, answered_ns; /* of the attempt that won */
	uint64_t attempt_ns[2];
	uint64_t status, bytes, in_flight, attempts;
	unsigned termination; /* how it ended (termination.h) */
	bool began;	      /* its first event was seen */
	int server;	      /* of the response, -1: none */
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

/* Write a server's name, or its number, or "-"; returns out. */
const char *stream_server_name(
    const struct stream_requests *s, int server, char out[STREAM_NAME]);

/* The state of stream_request_lookup. */
struct stream_request_query {
	const struct stream_requests *table;
	const struct stream_request *request;
	char text[64]; /* buffer for the latest value */
};
query_lookup stream_request_lookup; /* user: struct stream_request_query * */
/* The fields of a request in a query, NULL-terminated. */
extern const char *const stream_request_fields[];

struct follow {
	const struct ctl_options *options; /* borrowed */
	char *path;			   /* owned */
	struct timeline_reader *reader;	   /* owned */
	int64_t wall_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t end;	 /* --dump: position to stop at */
	uint64_t lost;
	unsigned idle;
};

/* Find the stream and open it: at its end, or with --dump at its beginning.
 * After this, SIGINT and SIGTERM make follow_next return FOLLOW_END.  0, or -1
 * after a message. */
int follow_open(struct follow *f, const struct ctl_options *options);
void follow_close(struct follow *f);

enum follow_event {
	FOLLOW_SLOT, /* *out is the next event */
	FOLLOW_LOST, /* *lost events were overwritten unread */
	FOLLOW_IDLE, /* no new event for some milliseconds */
	FOLLOW_END,  /* --dump is done, or a signal came */
	FOLLOW_GONE, /* the tailor has stopped; a message was printed */
};
/* Take the next event of the stream; waits 10 ms at most. */
enum follow_event
follow_next(struct follow *f, struct timeline_slot *out, uint64_t *lost);

/* Get the servers' names from the running tailor, if there is one. */
void follow_names(const struct ctl_options *options, struct stream_requests *s);

/* Write a stamp as "15:04:05.123456789"; returns out. */
#define FOLLOW_CLOCK 32
char *follow_clock(const struct follow *f, uint64_t ns, char out[FOLLOW_CLOCK]);
