#include "loadgen/send/iteration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
iteration_init(struct iteration *it, const struct plan *plan)
{
	memset(it, 0, sizeof(*it));
	it->warmup = plan->warmup;
	it->requests = plan->requests;
	size_t total = it->warmup + it->requests;
	it->samples = calloc(total, sizeof(*it->samples));
	it->offset_ns = calloc(total, sizeof(*it->offset_ns));
	it->progress.latency_ns =
	    calloc(it->requests, sizeof(*it->progress.latency_ns));
	it->progress.number =
	    calloc(it->requests, sizeof(*it->progress.number));
	if (it->samples == NULL || it->offset_ns == NULL ||
	    it->progress.latency_ns == NULL || it->progress.number == NULL) {
		iteration_fini(it);
		return -ENOMEM;
	}
	return 0;
}

void
iteration_fini(struct iteration *it)
{
	free(it->samples);
	free(it->offset_ns);
	free(it->progress.latency_ns);
	free(it->progress.number);
	memset(it, 0, sizeof(*it));
}

/* Write to all memory that the sender will write to, so that it has no page
   faults while requests are due. */
static void
clear(struct iteration *it)
{
	const struct iteration made = *it;
	size_t total = it->warmup + it->requests;

	*it = (struct iteration){.warmup = made.warmup,
	    .requests = made.requests,
	    .offset_ns = made.offset_ns,
	    .samples = made.samples,
	    .progress = {.latency_ns = made.progress.latency_ns,
		.number = made.progress.number}};
	memset(it->samples, 0, total * sizeof(*it->samples));
	for (size_t i = 0; i < total; i++)
		it->samples[i].server_ns = -1;
	memset(it->progress.latency_ns, 0,
	    it->requests * sizeof(*it->progress.latency_ns));
	memset(it->progress.number, 0,
	    it->requests * sizeof(*it->progress.number));
}

void
iteration_plan(struct iteration *it, const struct plan *plan, unsigned index)
{
	int64_t *measured_ns = it->offset_ns + it->warmup;
	int64_t warm_ns = 0;

	clear(it);
	it->index = index;
	it->seed = schedule_iteration_seed(plan->seed, index);
	if (plan->arrivals == ARRIVALS_CLOSED)
		return;
	schedule_fill(plan->arrivals, plan->rate_per_s,
	    schedule_warmup_seed(it->seed), it->offset_ns, it->warmup);
	if (it->warmup > 0)
		warm_ns = it->offset_ns[it->warmup - 1];
	if (plan->arrivals == ARRIVALS_FILE)
		memcpy(measured_ns, plan->trace_ns,
		    it->requests * sizeof(*measured_ns));
	else
		schedule_fill(plan->arrivals, plan->rate_per_s, it->seed,
		    measured_ns, it->requests);
	for (size_t i = 0; i < it->requests; i++)
		measured_ns[i] += warm_ns;
}

/* --- samples -------------------------------------------------------------- */

#define SPARE 10 /* a server's spare capacity is 1/SPARE */
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

/* Return how long a response waited to be read, less the time of a wake-up. */
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
