/* sampling.h: how many events the kernel's programs may write.
 *
 * An event costs the thread that it is about some 0.3 us.  Up to
 * SAMPLING_EVENTS_PER_S for each CPU, or as configured, on the average of some
 * seconds, all are written.  Above, the programs pause for a second each time
 * the credit is used up: so requests have all their events, or none, but for
 * those at the ends of a pause.  What is written in a pause has bounds of its
 * own (sums.bpf.h) and uses no credit.
 *
 * Pure: values in, a decision out.  The observer. */
#pragma once

#include "base/instant.h"

/* For each CPU, 3 % of its time if all are about what it runs; and the most
 * that the observer is to read. */
#define SAMPLING_EVENTS_PER_S 50000
#define SAMPLING_EVENTS_MOST 400000
#define SAMPLING_BURST_S 5 /* so many seconds' events can be saved */
#define SAMPLING_PERIOD_NS (10 * NS_PER_MS)
#define SAMPLING_PAUSE_NS NS_PER_S
#define SAMPLING_LATE_NS (50 * NS_PER_MS) /* a pause is prolonged by this */

enum sampling_step {
	SAMPLING_SAME,
	SAMPLING_PAUSE,	 /* until paused_until */
	SAMPLING_RESUME, /* the pause was longer than planned, if at all */
};

struct sampling {
	double per_s;	   /* events */
	double credit;	   /* events; < 0: more were written */
	uint64_t written;  /* events so far, as last seen */
	struct instant at; /* of the last step */
	bool paused;
	/* Of the present or last pause.  As it ends, paused_from is when it was
	 * to end: what is new is what follows. */
	struct instant paused_from, paused_until;
};

/* With half of the most credit.  each: events/s of each CPU, 0: the default. */
void sampling_init(
    struct sampling *s, unsigned cpus, unsigned each, struct instant now);

/* True when a step is due. */
static inline bool
sampling_due(const struct sampling *s, struct instant now)
{
	return instant_since(now, s->at) >= SAMPLING_PERIOD_NS;
}

/* The step to take, when so many events had been written in all. */
enum sampling_step
sampling_step(struct sampling *s, struct instant now, uint64_t written);

/* The pause was to end, and it cannot yet: SAMPLING_PAUSE, of what follows. */
enum sampling_step sampling_prolong(struct sampling *s, struct instant now);
