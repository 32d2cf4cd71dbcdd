/*
 * tale.h: the inside of a tale, shared by slicing, pauses and renderings.
 *
 * A tale is filled once by tale_slice() and then only read.  Private to this
 * folder.
 */
#ifndef TAILOR_TALECHAIN_TALE_H
#define TAILOR_TALECHAIN_TALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"
#include "talechain/hazard.h"
#include "talechain/timeline.h"

struct tale_entry {
	struct timeline_slot slot;
	struct instant at; /* the event's stamp, or read_ns if doubtful */
	bool doubtful;	   /* its own stamp cannot be true */
};

/* An interval in which a server could not answer. */
struct tale_pause {
	int server;
	enum hazard_kind kind;
	unsigned cause; /* enum talechain_cause, or unknown */
	struct instant begin, end;
	bool begin_seen, end_seen; /* false: bounded by the tale's own */
};

struct tale {
	struct tale_request request; /* every string terminated */
	struct tale_client client;   /* all zero: not given */
	struct tale_entry *entry;    /* owned; in order of at */
	size_t entries, capacity;
	struct tale_pause *pause; /* owned; in order of begin */
	size_t pauses;
	struct instant t0, end; /* what the timeline shows */
	uint64_t lost_stream;	/* slots of the stream, overwritten */
	uint64_t lost_channels; /* events overwritten in their channels */
	uint64_t omitted;	/* beyond TALE_EVENTS_MAX */
	bool stale;		/* the request's beginning was overwritten */
	int64_t blind_ns;	/* of the request: nobody was looking */
	unsigned blinds;
};

/* Length of what the timeline shows, ns, >= 0. */
static inline int64_t
tale_total_ns(const struct tale *t)
{
	return instant_since(t->end, t->t0);
}

/* The moment ns before a, but not before the clock began. */
static inline struct instant
tale_earlier(struct instant a, int64_t ns)
{
	return (struct instant){
	    ns < 0 || a.ns > (uint64_t)ns ? a.ns - (uint64_t)ns : 0};
}

/* Which attempt's server (0 or 1) a server is, or -1. */
int tale_attempt_of(const struct tale *t, int server);

/* The server an event is about, or -1. */
int tale_event_server(const struct timeline_slot *slot);

/* An event's latency_ns argument if it has one and it can be true, or 0. */
int64_t tale_event_latency_ns(const struct talechain_event *e);

/*
 * Decide where the timeline begins and ends: the client's own stamps if its
 * clock is ours and they enclose what we saw, else what the proxy saw.
 */
void tale_bounds_set(struct tale *t);

/* Add up the blind intervals within the request. */
void tale_blinds_sum(struct tale *t);

/* Pair the beginnings and ends of pauses in t->entry.  0 or -ENOMEM. */
int tale_pauses_find(struct tale *t);

/* How much of [from, to] a pause covers, ns. */
int64_t tale_overlap_ns(struct instant begin, struct instant end,
    struct instant from, struct instant to);

/* Which line of the picture an event belongs to. */
enum tale_lane {
	TALE_LANE_CLIENT,
	TALE_LANE_PROXY,
	TALE_LANE_SERVER_A, /* of attempt 0 */
	TALE_LANE_SERVER_B,
	TALE_LANE_JVM_A,
	TALE_LANE_JVM_B,
	TALE_LANE_KERNEL,
	TALE_LANE_OBSERVER,
	TALE_LANE_OTHER, /* an application outside the attempts */
	TALE_LANE_COUNT
};
enum tale_lane tale_lane_of(const struct tale *t, const struct tale_entry *e);
/* "proxy", "A", "A jvm"; out of size bytes is always terminated, inert. */
void tale_lane_name(
    const struct tale *t, enum tale_lane lane, char *out, size_t size);

/* The one sentence of what is known. */
struct tale_verdict {
	const char *code; /* as in the documents: "switched", "work", ... */
	int64_t share_ns; /* of the total, 0: not said */
	char text[400];	  /* inert ASCII */
};
void tale_verdict(const struct tale *t, struct tale_verdict *out);

/* A server's name for people, inert; out is returned. */
char *
tale_server_name(const struct tale *t, int server, char *out, size_t size);

/* Draw the stages to scale. */
struct text;
void tale_waterfall(const struct tale *t, struct text *x);

#endif
