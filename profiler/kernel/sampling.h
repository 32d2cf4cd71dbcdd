/* sampling.h: how many events the kernel's programs may write.
 *
 * An event costs the thread that it is about some 0.3 us.  Up to
 * SAMPLING_EVENTS_PER_S for each CPU, or as configured, on the average of some
 * seconds, all are written.  Beyond that, the programs pause for a second each
 * time the credit is used up: so requests have all their events, or none, but
 * for those at the ends of a pause.  What is written in a pause has bounds of
 * its own (sums.bpf.h) and uses no credit.
 *
 * Pure: values in, a decision out.  The observer. */
#pragma once

#include "base/instant.h"

/* For each CPU: 3 % of its time if all events are about its threads.  For all
 * CPUs: the most that the observer is to read. */
#define SAMPLING_EVENTS_PER_S 50000
#define SAMPLING_EVENTS_MOST 400000
#define SAMPLING_BURST_S 5 /* most credit, in seconds of events */
#define SAMPLING_PERIOD_NS (10 * NS_PER_MS)
#define SAMPLING_PAUSE_NS NS_PER_S
#define SAMPLING_LATE_NS (50 * NS_PER_MS) /* a pause is prolonged by this */

enum sampling_step {
	SAMPLING_SAME,
	SAMPLING_PAUSE,	 /* until paused_until */
	SAMPLING_RESUME, /* the pause ended, perhaps late */
};

struct sampling {
	double per_s;	   /* events */
	double credit;	   /* events still allowed; < 0: too many were */
	uint64_t written;  /* events so far, as last seen */
	struct instant at; /* time of the last step */
	bool paused;
	/* The present or last pause.  When a pause ends, paused_from becomes
	 * its planned end: only the time after that is new. */
	struct instant paused_from, paused_until;
};

/* Initialize with half of the most credit.  each: events/s of each CPU; 0: the
 * default. */
void sampling_init(
    struct sampling *s, unsigned cpus, unsigned each, struct instant now);

/* True when a step is due. */
static inline bool
sampling_due(const struct sampling *s, struct instant now)
{
	return instant_since(now, s->at) >= SAMPLING_PERIOD_NS;
}

/* The step to take now.  written: events written so far in all. */
enum sampling_step
sampling_step(struct sampling *s, struct instant now, uint64_t written);

/* Prolong a pause that cannot end yet.  Returns SAMPLING_PAUSE; paused_from and
 * paused_until are those of the added time. */
enum sampling_step sampling_prolong(struct sampling *s, struct instant now);
