/* story.h: what a tale means, ready to be drawn.
 *
 * Three folders fill it in: claims/ the segments, the sums of causes and the
 * other requests; words/ the verdict, and the name of each segment (who);
 * render/ what is drawn: lanes, bars, arrows, curves, threads.  tale_explain()
 * makes one (render/render.h). */
#pragma once

#include "talechain/events/cause.h"
#include "talechain/tale/tale.h"

/* How sure a sentence or a piece is, from the surest. */
enum story_confidence {
	STORY_OBSERVED,	    /* events show its begin, its end and its cause */
	STORY_LIKELY,	    /* its begin, end or cause is inferred */
	STORY_NOT_OBSERVED, /* nothing shows what it was */
};

#define STORY_THREAD_NAME 72 /* Java's are long */
#define STORY_NAME 48	     /* bytes of a name, inert printable ASCII */
#define STORY_LINES 5	     /* of evidence, of advice; last: another request */
/* If there are more, the shortest segments are joined to the one before. */
#define STORY_SEGMENTS_MAX 2048
#define STORY_BARS_MAX 800
#define STORY_ARROWS_MAX 400

/* All times of a story are ns since its beginning, 0 .. total_ns. */
enum story_lane_kind {
	STORY_LANE_CLIENT,
	STORY_LANE_PROXY,  /* Tailor's own thread */
	STORY_LANE_SERVER, /* a server, or one thread of it */
	STORY_LANE_HOLDER, /* a thread that was waited for */
	STORY_LANE_JVM,	   /* a server's JVM: its pauses */
	STORY_LANE_CPU,	   /* a CPU the request touched */
	STORY_LANE_KERNEL, /* kernel work whose CPU is not known */
	STORY_LANE_OBSERVER,
};

struct story_lane {
	enum story_lane_kind kind;
	int number; /* CPU or server index, -1: none */
	uint32_t tid;
	char name[STORY_NAME];	/* "a: qtp-12", "CPU 1" */
	char owner[STORY_NAME]; /* of the thread: "a"; "": not known */
};

enum story_bar_kind {
	STORY_BAR_STAGE,   /* the request is here; details lie within it */
	STORY_BAR_WORK,	   /* the request is being worked on */
	STORY_BAR_DELAY,   /* the request waits; cause says for what */
	STORY_BAR_REQUEST, /* another request is being worked on */
	STORY_BAR_HOLDER,  /* a thread waited for; cause: what it does */
	STORY_BAR_OTHER,   /* other work on that CPU */
	STORY_BAR_BLIND,   /* not observed; cause says why */
};

/* Bars of one lane do not overlap unless one holds the other. */
struct story_bar {
	enum story_bar_kind kind;
	enum tale_cause cause;
	unsigned lane;
	int cpu;	  /* -1: not known */
	uint32_t tid;	  /* 0: not known */
	uint64_t request; /* REQUEST: its id; else 0 */
	int64_t begin_ns, end_ns;
	char name[STORY_NAME];
};

enum story_arrow_kind {
	STORY_ARROW_FLOW, /* the request's bytes */
	STORY_ARROW_WAKE, /* what made a thread runnable */
};

struct story_arrow {
	enum story_arrow_kind kind;
	unsigned from_lane, to_lane;
	int64_t from_ns, to_ns;
	char name[2 * STORY_NAME]; /* "woken by softirq NET_RX" */
};

#define STORY_PEER 56 /* "[2001:db8::1]:5432" */

/* A piece of the request's wall time.  Segments tile [0, total_ns]: the first
 * begins at 0, each begins where the one before ended, none is empty, the last
 * ends at total_ns. */
struct story_segment {
	int64_t begin_ns, end_ns;
	enum tale_cause cause;
	enum story_confidence confidence;
	unsigned lane;		  /* where the request waited or ran */
	char who[2 * STORY_NAME]; /* "a: qtp-12 behind stress-ng" */
	unsigned call;		  /* the system call waited in, plus 1; or 0 */
	char peer[STORY_PEER];	  /* address waited for, or "" */
	uint64_t peer_request;	  /* request at peer, if peer is Tailor */
	size_t stack;		  /* of a wait: the tale's entry + 1; 0: none */
};

/* Length of a piece, ns, > 0. */
static inline int64_t
segment_ns(const struct story_segment *g)
{
	return g->end_ns - g->begin_ns;
}

/* A thread that the story names. */
struct story_thread {
	uint32_t tid, pid;	      /* 0: not known */
	char name[STORY_THREAD_NAME]; /* "": not known */
	char owner[STORY_NAME]; /* "a", "Tailor", "make[30]"; "": not known */
};

/* A request that a server's thread had while this one waited. */
struct story_request {
	uint64_t id;
	int64_t waited_ns;
	/* As in tale_request; "" until story_request_name is called. */
	char external_id[65], method[16], target[TALE_TEXT];
};

/* One rate over one period; the periods of a series do not overlap. */
struct story_point {
	int64_t begin_ns, end_ns;
	double value;
};

#define STORY_SERIES_MAX 32

/* A curve under a lane: how fast something went, in order of time, with
 * gaps. */
struct story_series {
	unsigned signal;  /* enum talechain_rate */
	const char *name; /* static: "ipc" */
	const char *unit; /* static: "instructions per cycle" */
	unsigned lane;
	double most;		   /* the largest value */
	double usual;		   /* 0: not known */
	struct story_point *point; /* owned */
	size_t points;
};

/* The sentences that come before the picture. */
struct story_verdict {
	enum tale_cause cause;			/* of the largest part */
	int64_t share_ns;			/* of the whole time */
	enum story_confidence confidence;	/* of the first sentence */
	char text[STORY_TEXT];			/* one or two sentences */
	char evidence[STORY_LINES][STORY_TEXT]; /* "" = no more */
	char advice[STORY_LINES][STORY_TEXT];
};

/* Where and when a story happened, for people; the caller fills it in. */
struct story_origin {
	int64_t begun_wall_ns; /* CLOCK_REALTIME of its begin, 0: not known */
	char host[65];	       /* "": not known */
	const char *version;   /* of Tailor, static; NULL: not known */
};

#define STORY_REQUESTS 8 /* other requests that are listed */

struct story {
	const struct tale *tale; /* borrowed */
	struct story_origin origin;
	int64_t total_ns;
	int64_t cause_ns[TALE_CAUSE_COUNT]; /* sums before any joining */
	double coverage;	 /* explained by what was observed, 0 .. 1 */
	double known;		 /* coverage plus the likely part, 0 .. 1 */
	unsigned contradictions; /* pieces whose events disagree */
	bool kernel;		 /* the scheduler's events are there */
	uint32_t in_flight;	 /* when the request came; 0: not known */
	struct story_verdict verdict;
	struct story_lane *lane; /* owned, as are the next three */
	struct story_bar *bar;
	struct story_arrow *arrow;
	struct story_segment *segment;
	struct story_thread *thread; /* owned; in order of tid */
	size_t lanes, bars, arrows, segments, threads;
	struct story_request request[STORY_REQUESTS]; /* longest first */
	unsigned requests;
	struct story_series *series; /* owned; curves is its length */
	size_t curves;
	unsigned *event_lane; /* owned; lane of each event of the tale */
};

#define STORY_FRAME 80
/* Name of the n-th frame, 0 the innermost, of the stack in which a segment
 * waited: "?" if not known; may hold any bytes.  *kernel: true for a function
 * of the kernel.  False: the stack has fewer frames. */
bool story_frame(const struct story *s, size_t segment, unsigned n,
    char out[STORY_FRAME], bool *kernel);

/* The cause with most time (cause_ns) among those not done; COUNT: none. */
enum tale_cause
story_cause_largest(const struct story *s, const bool done[TALE_CAUSE_COUNT]);
