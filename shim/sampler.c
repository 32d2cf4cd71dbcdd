/* sampler.c: taking one sample.
 *
 * Between reads there is a clock reading that waits for all instructions before
 * it, so no signal is read before the window begins or after it ends. */
#include "shim/sampler.h"

#include "profiler/counters/cycles.h"

/* Sum a signal's counters, less our own share.  False: one could not be
 * read. */
static bool
signal_count(const struct signal *g, uint64_t *out)
{
	uint64_t sum = 0, value;

	for (unsigned i = 0; i < g->counters; i++) {
		if (!counter_read(&g->counter[i], &value))
			return false;
		sum += value;
	}
	if (g->minus != NULL) {
		if (!counter_read(g->minus, &value))
			return false;
		sum -= value;
	}
	*out = sum;
	return true;
}

/* Fetch the lines of all words, then read the clock. */
static uint64_t
sampler_begin_ahead(const struct sampler *s)
{
	for (unsigned i = 0; i < s->signals; i++)
		if (s->signal[i].word != NULL)
			(void)__atomic_load_n(
			    s->signal[i].word, __ATOMIC_RELAXED);
	/* A fast writer takes the line of a nearby CPU back within a hundred
	 * cycles, so the word must be read right after this clock reading. */
	return cycles_beside();
}

void
sampler_take(struct sampler *s, struct shim_sample *out)
{
	const struct signal *g;

	out->clock.begin = s->period >= SAMPLER_AHEAD ? sampler_begin_ahead(s)
						      : cycles_in_order();
	for (unsigned i = 0; i < s->signals; i++) {
		g = &s->signal[i];
		if (g->word != NULL)
			out->value[i] =
			    __atomic_load_n(g->word, __ATOMIC_RELAXED);
		else if (!signal_count(g, &out->value[i]))
			s->unread++;
		out->clock.end = cycles_in_order();
	}
	if (s->signals == 0)
		out->clock.end = cycles_in_order();
	out->tag =
	    s->tag != NULL ? __atomic_load_n(s->tag, __ATOMIC_RELAXED) : 0;
}

void
sampler_wait(const struct sampler *s, uint64_t from)
{
	while (cycles_now() - from < s->period)
		cycles_relax();
}
