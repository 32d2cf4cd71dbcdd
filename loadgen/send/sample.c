#include "loadgen/send/sample.h"

#include <string.h>

#define SPARE 10 /* a server works off 1/SPARE more than arrives */
#define WAKING_NS (50 * NS_PER_US)

const char *
outcome_name(enum outcome outcome)
{
	static const char *const names[OUTCOME_COUNT] = {
	    [OUTCOME_UNSENT] = "unsent",
	    [OUTCOME_UNANSWERED] = "unanswered",
	    [OUTCOME_OK] = "ok",
	    [OUTCOME_CONNECT] = "connect",
	    [OUTCOME_RESET] = "reset",
	    [OUTCOME_TIMEOUT] = "timeout",
	    [OUTCOME_SHORT] = "short",
	    [OUTCOME_MALFORMED] = "malformed",
	    [OUTCOME_STATUS] = "status",
	};

	return names[outcome];
}

const char *
sample_errno_name(unsigned error)
{
	const char *name = error > 0 ? strerrorname_np((int)error) : "";

	return name != NULL ? name : "other";
}

/* How long a response waited to be read, beyond what waking up costs. */
static int64_t
unread_ns(const struct request_sample *s)
{
	int64_t ns = instant_since(s->last, s->kernel_read) - WAKING_NS;

	return instant_is_set(s->kernel_read) && ns > 0 ? ns : 0;
}

void
samples_bound(struct request_sample *samples, size_t n)
{
	struct instant idle = INSTANT_NONE; /* all sent so far were over */
	struct instant before = INSTANT_NONE;
	int64_t behind_ns = 0;

	for (size_t i = 0; i < n; i++) {
		struct request_sample *s = &samples[i];
		if (s->outcome == OUTCOME_UNSENT)
			continue;
		if (instant_before(s->scheduled, idle))
			behind_ns -=
			    instant_since(s->send_begin, before) / SPARE;
		else
			behind_ns = 0;
		if (behind_ns < sample_lag_ns(s))
			behind_ns = sample_lag_ns(s);
		s->generator_ns = behind_ns + unread_ns(s);
		before = s->send_begin;
		if (instant_before(idle, s->last))
			idle = s->last;
	}
}
