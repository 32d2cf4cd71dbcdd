/* tale_struct.h: the inside of a tale, shared by the folders of talechain/.
 *
 * A tale is filled once, by tale_slice() or tale_unpack(), and then only
 * read.  Private to talechain/. */
#pragma once

#include "talechain/events/hazard.h"
#include "talechain/tale/tale.h"

/* Limits within TALE_EVENTS_MAX: on switches, and on all events of the
 * kernel. */
#define TALE_SWITCHES_MAX ((size_t)TALE_EVENTS_MAX / 2)
#define TALE_KERNELS_MAX ((size_t)TALE_EVENTS_MAX / 4 * 3)
/* Most entries once names were added: the reader of a store refuses more. */
#define TALE_ENTRIES_MAX ((size_t)TALE_EVENTS_MAX + 2048)

#define NEVER (-(INT64_C(1) << 62))
#define FAR (INT64_C(1) << 61) /* no moment lies further off */

/* Fault entry, exit and tracing overhead are not recorded by any event.  The
 * time between two faults closer than EDGE counts as fault; faults shorter than
 * SMALL, in a row, become one event. */
#define TALE_FAULT_EDGE_NS (2 * NS_PER_US)
#define TALE_FAULT_SMALL_NS (50 * NS_PER_US)

#define FLAG_FIN 1 /* of TCP's flags byte */

struct tale_entry {
	struct timeline_slot slot;
	struct instant at; /* the event's stamp, or read_ns if doubtful */
	bool doubtful;	   /* its own stamp cannot be true */
};

/* An interval in which a server could not respond. */
struct tale_pause {
	int server;
	enum hazard_kind kind;
	unsigned cause; /* enum talechain_cause, or unknown */
	struct instant begin, end;
	bool begin_seen, end_seen; /* false: the tale's bound instead */
};

/* The sockets a request went through; a peer is the other end, if that is on
 * this machine. */
enum tale_socket {
	TALE_SOCKET_CLIENT, /* Tailor's to the client */
	TALE_SOCKET_CLIENT_PEER,
	TALE_SOCKET_A, /* Tailor's to the first attempt's server */
	TALE_SOCKET_A_PEER,
	TALE_SOCKET_B,
	TALE_SOCKET_B_PEER,
	TALE_SOCKETS
};

/* A thread that took part in the request. */
struct tale_thread {
	uint32_t tid, pid;
	int attempt; /* 0, 1: its server's; -1: Tailor's or the client's */
};
/* The attempt of a thread of another process that a server waited for: only its
 * switches and wake-ups are recorded, and only for a time (PEER). */
#define TALE_PEER (-2)
#define TALE_THREADS 64

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
	int64_t blind_ns;	/* time that was not observed */
	unsigned blinds;
	uint64_t cookie[TALE_SOCKETS]; /* 0: not known */
	struct tale_thread thread[TALE_THREADS];
	unsigned threads;
};

/* Upper one of two 32-bit numbers packed into an argument. */
static inline uint32_t
tale_high(uint64_t packed)
{
	return (uint32_t)(packed >> 32);
}

/* Lower one of two 32-bit numbers packed into an argument. */
static inline uint32_t
tale_low(uint64_t packed)
{
	return (uint32_t)packed;
}

/* A field of an argument: bits wide, its lowest bit is bit low. */
static inline uint64_t
tale_field(uint64_t packed, unsigned low, unsigned bits)
{
	return packed >> low & ((UINT64_C(1) << bits) - 1);
}

/* The two ports of an event of a flow: local << 16 | remote. */
static inline uint32_t
event_ports(const struct talechain_event *e)
{
	return tale_high(e->arg[3]);
}

/* Local port of an event of a flow. */
static inline uint16_t
event_local(const struct talechain_event *e)
{
	return (uint16_t)(e->arg[3] >> 48);
}

/* Remote port of an event of a flow. */
static inline uint16_t
event_remote(const struct talechain_event *e)
{
	return (uint16_t)(e->arg[3] >> 32);
}

/* The two ports of a PEER event: its own << 16 | the server's; 0: the event is
 * of a wake-up. */
static inline uint32_t
peer_ports(const struct talechain_event *e)
{
	return tale_high(e->arg[1]);
}

/* A flow's two ports as seen from its other end. */
static inline uint32_t
ports_other_end(uint32_t ports)
{
	return ports << 16 | ports >> 16;
}

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

/* Bytes of a flow by TCP's numbers, which wrap: [begin, end). */
struct byte_range {
	bool set;
	uint32_t begin, end;
};

#define COOKIE_ANY UINT64_MAX

/* Conditions on a tale's events; an event with a doubtful stamp meets none. */
struct event_query {
	uint64_t cookie; /* arg[0]; 0: finds nothing */
	enum talechain_type type;
	enum talechain_type also;	/* a second type, or 0 */
	uint32_t tid;			/* 0: any */
	uint32_t ports;			/* local << 16 | remote; 0: any */
	int64_t from, to;		/* ns since t0; NEVER: without bound */
	bool carries;			/* only events with bytes */
	const struct byte_range *range; /* overlaps the bytes; NULL: any */
};

/* Find the first event after an entry (NULL: of all), or the last of all, that
 * meets the conditions; NULL: none.  O(events between from and the result). */
const struct tale_entry *query_next(const struct tale *t,
    const struct event_query *q, const struct tale_entry *after);
const struct tale_entry *
query_last(const struct tale *t, const struct event_query *q);
/* How many bytes an event of a flow carries. */
uint32_t event_bytes(const struct talechain_event *e);
/* True if sequence number a lies before b. */
static inline bool
sequence_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* A thread that took part, or NULL. */
const struct tale_thread *tale_thread_find(const struct tale *t, uint64_t tid);

/* The process that had an attempt: that of one of its threads, else the program
 * that Tailor started; 0: not known. */
uint32_t tale_attempt_pid(const struct tale *t, int attempt);

/* Add an entry, which the caller fills in and puts in order.  NULL: out of
 * memory. */
struct tale_entry *tale_entry_push(struct tale *t);

/* The attempt (0, 1) that was sent to a server, or -1. */
int tale_attempt_of(const struct tale *t, int server);

/* The server an event is about, or -1. */
int tale_event_server(const struct timeline_slot *slot);

/* An event's latency_ns argument, or 0 if there is none or it cannot be
 * true. */
int64_t tale_event_latency_ns(const struct talechain_event *e);

/* Decide where the timeline begins and ends: the client's own stamps if its
 * clock is ours and they enclose what we saw, else what the proxy saw. */
void tale_bounds_set(struct tale *t);

/* Find the sockets and threads of a stored tale from its events, and widen its
 * bounds as slicing does.  0 or -ENOMEM. */
int tale_relearn(struct tale *t);

/* Add up the blind intervals within the request. */
void tale_blinds_sum(struct tale *t);

/* Sources of the beginnings and ends of pauses. */
enum pause_source { SOURCE_JVM, SOURCE_HAZARD, SOURCE_PROCESS, SOURCES };

/* The beginning or end of a pause. */
struct tale_mark {
	bool begins;
	enum hazard_kind kind;
	enum pause_source source;
	unsigned cause;
	int64_t latency_ns; /* of an end: how long it was, 0 unknown */
	uint32_t pid; /* of an end: it stopped this process alone, 0: all */
};

/* True if an event is the beginning or end of a pause, which *m describes. */
bool tale_mark_of(const struct talechain_event *e, struct tale_mark *m);

/* Pair the beginnings and ends of pauses in t->entry.  0 or -ENOMEM. */
int tale_pauses_find(struct tale *t);

/* How much of [from, to] a pause covers, ns. */
int64_t tale_overlap_ns(struct instant begin, struct instant end,
    struct instant from, struct instant to);

/* A server's name, safe to print; returns out. */
char *
tale_server_name(const struct tale *t, int server, char *out, size_t size);

/* A moment as ns since t0, NEVER if it did not happen; at most FAR off. */
int64_t moment_at(const struct tale *t, struct instant at);

/* The first of the tale's entries at a moment or later; O(log n). */
size_t entry_from(const struct tale *t, int64_t ns);

/* ns cut to [0, total]. */
int64_t moment_cut(const struct tale *t, int64_t ns);

/* True if both moments happened, and a is not after b. */
static inline bool
moment_ordered(int64_t a, int64_t b)
{
	return a != NEVER && b != NEVER && a <= b;
}

/* Least room of a growing array, which has room for a power of two. */
#define ARRAY_LEAST 32
/* Make room for one more than count in an array, and return it.  Sets *failed
 * if memory runs out. */
void *array_grow(bool *failed, void *array, size_t count, size_t size);
/* Append to a growing array that begins as NULL; not if *failed. */
#define ARRAY_ADD(failed, array, count, ...)                                  \
	do {                                                                  \
		(array) = array_grow(failed, array, count, sizeof(*(array))); \
		if (!*(failed))                                               \
			(array)[(count)++] = __VA_ARGS__;                     \
	} while (0)
