/* sampling.c: a bucket of events that is refilled with time. */
#include "profiler/kernel/sampling.h"

void
sampling_init(
    struct sampling *s, unsigned cpus, unsigned each, struct instant now)
{
	*s = (struct sampling){
	    .per_s = (double)cpus * (each != 0 ? each : SAMPLING_EVENTS_PER_S),
	    .at = now};
	if (s->per_s > SAMPLING_EVENTS_MOST)
		s->per_s = SAMPLING_EVENTS_MOST;
	s->credit = s->per_s * SAMPLING_BURST_S / 2;
}

static void
credit_update(struct sampling *s, struct instant now, uint64_t written)
{
	double passed_s = (double)instant_since(now, s->at) / (double)NS_PER_S;

	s->credit += s->per_s * passed_s;
	if (!s->paused)
		s->credit -= (double)(written - s->written);
	if (s->credit > s->per_s * SAMPLING_BURST_S)
		s->credit = s->per_s * SAMPLING_BURST_S;
	s->written = written;
	s->at = now;
}

/* The length of a pause: events beyond the credit make it longer. */
static int64_t
pause_ns(const struct sampling *s)
{
	double debt_s = -s->credit / s->per_s;

	return SAMPLING_PAUSE_NS + (int64_t)(debt_s * (double)NS_PER_S);
}

enum sampling_step
sampling_step(struct sampling *s, struct instant now, uint64_t written)
{
	credit_update(s, now, written);
	if (s->paused) {
		if (instant_before(now, s->paused_until))
			return SAMPLING_SAME;
		s->paused = false;
		s->paused_from = s->paused_until;
		s->paused_until = now;
		return SAMPLING_RESUME;
	}
	if (s->credit >= 0)
		return SAMPLING_SAME;
	s->paused = true;
	s->paused_from = now;
	s->paused_until = instant_plus(now, pause_ns(s));
	return SAMPLING_PAUSE;
}

enum sampling_step
sampling_prolong(struct sampling *s, struct instant now)
{
	s->paused_from = s->paused_until;
	s->paused_until = instant_plus(now, SAMPLING_LATE_NS);
	return SAMPLING_PAUSE;
}
