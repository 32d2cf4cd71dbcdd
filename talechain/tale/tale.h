/* tale.h: a tale: the events of one request, taken out of the stream.
 *
 * A request remembers the stream positions between which it lived; slicing
 * finds its events there, and those of the servers, sockets and threads that
 * it met.  Pure functions over values: no sockets, no clock. */
#pragma once

#include "talechain/timeline/timeline.h"

/* Everything about one request that the proxy's table knows. */
#define TALE_ATTEMPTS 2
#define TALE_TEXT 128
#define STORY_TEXT 400 /* bytes of a line about a tale */

struct tale_attempt {
	int server;	     /* -1: no such attempt */
	uint32_t server_pid; /* 0: not known */
	uint64_t cookie;     /* SO_COOKIE of our socket to it, 0: not known */
	char server_name[32];
	char trigger[16]; /* "first", "gc", "exit", "failure", ... */
	char outcome[16]; /* "won", "lost", "failed", "running" */
	struct instant written, first_byte, complete;
	int status; /* 0: none yet */
};

struct tale_request {
	uint64_t id;
	char external_id[65]; /* x-request-id as the client sees it */
	char method[16];
	char target[TALE_TEXT]; /* cut with "..." if longer */
	int status;
	/* Of the first request of a connection, only if it waited: since when
	 * the kernel sent its client SYN-ACKs, and how many it sent again (0:
	 * Tailor's accept queue was full); when it came into that queue. */
	struct instant connecting;
	uint32_t synacks;
	struct instant arrived;
	struct instant accepted;   /* if it was the first of its connection */
	struct instant first_byte; /* of the request, from the client */
	struct instant received;   /* complete, entered the table */
	struct instant committed;  /* first byte of the response written */
	struct instant finished;   /* last byte given to the kernel */
	/* If that was late: when the client had acknowledged all, and how many
	 * segments were sent again (0: its window was full). */
	struct instant acknowledged;
	uint32_t resent;
	uint64_t stream_begin, stream_end; /* positions */
	uint64_t cookie; /* SO_COOKIE of the client's socket, 0: not known */
	struct tale_attempt attempt[TALE_ATTEMPTS];
	uint8_t termination; /* how it ended (termination.h) */
	char reason[32];     /* why it failed, "reset"; "": it did not */
	char refusal[20];    /* why not sent twice, "method"; "": none */
};

/* The first moment of a request, for its client, and the last; not set: it is
 * not known. */
struct instant tale_request_begin(const struct tale_request *r);
struct instant tale_request_end(const struct tale_request *r);

/* tale_flags writes why a request failed and was not sent twice,
 * "reset,method"; tale_ending " SH" if it did not end normally, else "".  Both
 * return out. */
#define TALE_FLAGS 56
#define TALE_ENDING 4
char *tale_flags(const struct tale_request *r, char out[TALE_FLAGS]);
char *tale_ending(const struct tale_request *r, char out[TALE_ENDING]);

/* The client's own stamps, from an analyze request; 0 = not given. */
struct tale_client {
	struct instant scheduled, sent, received;
	bool same_host; /* boot ids equal: clocks are one */
};

/* A request's events in order of time: what happened to the request itself, and
 * meanwhile to the servers that worked on it.
 *
 * An event's stamp comes from its writer.  A stamp that cannot be true (later
 * than its reading, or a minute earlier) is marked doubtful, and the event is
 * sorted by the moment at which the observer read it. */
struct tale;		 /* opaque */
struct tale_checkpoints; /* opaque */

/*
 * tale_slice(out, reader, request, client, slack_ns):
 * Copy the events of one request out of the stream, from its first instant to
 * its last, widened by slack_ns because events are read a little after they
 * happen: events with its id; of its servers (collections, safepoints, exits,
 * hazards); swaps, losses and blind intervals; and of the kernel about its
 * sockets and their other ends on this machine, about Tailor's thread and the
 * servers' threads that had the request, and about softirqs and idle CPUs that
 * delayed these threads.
 * A pause that began earlier (up to TALE_LOOKBACK_SLOTS before) and was not
 * over is found too.
 *   reader  its position changes
 *   client  may be NULL
 * Returns 0, -ENOMEM, or -ESTALE when the stream has already overwritten the
 * request's beginning (a tale is still made of what is left, and marked
 * stale).  Free with tale_free.
 * Cost: reads every slot between the positions, three times if there are
 * events of the kernel; bounded by the stream; and TALE_LOOKBACK_SLOTS before,
 * once.  Keeps at most TALE_EVENTS_MAX events, at most half of them from
 * applications and three quarters from the kernel; the number left out is
 * counted.
 *
 * tale_slice_next(out, checkpoints, request, client, slack_ns):
 * The same for many tales, made in about the order of their requests: the slots
 * before a request are read once for all tales.
 */
#define TALE_LOOKBACK_SLOTS 16384
#define TALE_EVENTS_MAX 16384
int tale_slice(struct tale **out, struct timeline_reader *reader,
    const struct tale_request *request, const struct tale_client *client,
    int64_t slack_ns);
int tale_slice_next(struct tale **out, struct tale_checkpoints *checkpoints,
    const struct tale_request *request, const struct tale_client *client,
    int64_t slack_ns);
void tale_free(struct tale **tp);

/* Memory of tale_slice_next about a stream.  The reader is borrowed, and no
 * other code may use it.  0 or -ENOMEM; 4.5 MiB.  One thread. */
int tale_checkpoints_new(
    struct tale_checkpoints **out, struct timeline_reader *reader);
void tale_checkpoints_free(struct tale_checkpoints **cp);
size_t tale_checkpoints_bytes(void); /* of memory */

/* The request of a tale; the pointer is valid as long as the tale. */
const struct tale_request *tale_request(const struct tale *t);
uint64_t tale_lost(const struct tale *t); /* events known to be missing */
struct instant tale_begun(const struct tale *t); /* begin of the timeline */
/* True if a tale has the last event of its request, or the request has not
 * finished.  False: the observer was late; slice again a little later. */
bool tale_whole(const struct tale *t);
/* True if the client has read the response, or no event can show that.  False:
 * slice again later. */
bool tale_read(const struct tale *t);
