/* pause.h: from counters of a JVM to begins and ends of its pauses.
 *
 * A pure state machine: one sample of counters in, the edges since the last
 * sample out.  It reads neither the JVM's memory nor a clock.  The present
 * state is derived from each sample anew, so a missed change can never leave a
 * pause open:
 *
 *   safepoint   begun when sun.rt.safepoints has grown, ended when
 *               sun.rt.safepointTime has
 *   collection  in force while sun.gc.cause is not "No GC" or a collector's
 *               last entry is younger than its last exit; one collection per
 *               safepoint, so a new safepoint means a new one
 *   stall       of a concurrent collector (ZGC, Shenandoah), whose cause
 *               stands for a whole cycle beside the running program: in
 *               force only while threads wait for memory
 *
 * A pause that began and ended between two samples shows as a changed counter;
 * it is reported as a pulse, a begin and an end.  When several safepoints fall
 * between two samples and the last may still be open, it is taken as ended: a
 * late report is better than a hazard without end. */
#pragma once

#include "base/instant.h"
#include "profiler/jvm/hsperf_format.h"
#include "talechain/talechain.h"

#define PAUSE_PULSES_MAX 16 /* more between two samples are only counted */
#define PAUSE_EDGES (4 * PAUSE_PULSES_MAX + 6)

enum collector {
	COLLECTOR_UNKNOWN, /* only safepoints are reported */
	COLLECTOR_SERIAL,
	COLLECTOR_PARALLEL,
	COLLECTOR_G1,
	COLLECTOR_Z,
	COLLECTOR_SHENANDOAH,
	COLLECTOR_EPSILON,
};
/* "G1".  Static text. */
const char *collector_name(enum collector c);
/* True for a concurrent collector: its cause alone is no pause. */
bool collector_concurrent(enum collector c);
/* True if collections are pauses, each within a safepoint. */
bool collector_stops_world(enum collector c);

/* Counters read in one sweep, all within one value of safepoints. */
struct pause_sample {
	bool has_safepoints; /* the next two are valid */
	uint64_t safepoints;
	uint64_t safepoint_ticks;
	bool in_cause;		    /* the cause is not "No GC" */
	enum talechain_cause cause; /* valid if in_cause */
	enum talechain_cause last_cause;
	unsigned collectors;
	struct {
		uint64_t count, entry, exit;
	} collector[HSPERF_COLLECTORS];
};

struct pause {
	enum collector kind;
	uint64_t frequency; /* ticks per second, 0: unknown */
	bool known;	    /* last is valid */
	struct pause_sample last;
	/* The JVM's start on our clock, learnt; see pause_learn. */
	bool start_known;
	int64_t start_ns;
	/* the collection in force */
	bool gc;
	bool gc_counted;       /* the collector's count includes it */
	uint64_t gc_safepoint; /* number of its safepoint */
	enum talechain_cause gc_cause;
	struct instant gc_since;
	/* the newest safepoint */
	bool safepoint;
	bool gc_in_safepoint; /* a collection was seen in this one */
	bool spare;	      /* this one may have an unseen collection */
	struct instant safepoint_since;
};

struct pause_edge {
	bool gc; /* true: a collection; false: a safepoint */
	bool begin;
	bool pulse; /* begin or end of a pause that is over */
	enum talechain_cause cause;
	struct instant at;
	uint64_t count;	    /* collections or safepoints of this JVM so far */
	int64_t latency_ns; /* length of the pause, at its end */
};

struct pause_edges {
	unsigned count;
	unsigned unreported; /* pulses beyond PAUSE_PULSES_MAX */
	struct pause_edge edge[PAUSE_EDGES];
};

/* Initialize, with no pause in force.  The first sample only sets the counters'
 * starting values, but a pause in force then is reported. */
void pause_init(struct pause *p, enum collector kind, uint64_t frequency);

/* True if no pause is in force: then a sample can be skipped while neither
 * counters nor cause move. */
bool pause_idle(const struct pause *p);

/* Compare a sample with the last one; *out gets the edges in between.
 *   before  when reading the previous sample began
 *   seen    when reading this one was complete
 * Every time in *out lies within before .. seen, even if the page is wrong. */
void pause_step(struct pause *p, const struct pause_sample *s,
    struct instant before, struct instant seen, struct pause_edges *out);

/* End the pauses in force, because the source is gone. */
void pause_end(struct pause *p, struct instant seen, struct pause_edges *out);
