/*
 * sampler.c: taking one sample.
 *
 * Each read is fenced off by a clock reading that waits for everything before
 * it, so no signal can be read before the window begins or after it ends.
 */
#include "profiler/shim/sampler.h"

#include "profiler/shim/cycles.h"

/* A counter's value, less our own share of it.  False: unreadable. */
static bool
signal_count(const struct signal *g, uint64_t *out)
{
	uint64_t ours = 0;

	if (!counter_read(g->counter, out) ||
	    (g->minus != NULL && !counter_read(g->minus, &ours)))
		return false;
	*out -= ours;
	return true;
}

void
sampler_take(struct sampler *s, struct sample *out)
{
	const struct signal *g;
	unsigned i;

	out->clock.begin = cycles_in_order();
	for (i = 0; i < s->signals; i++) {
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
sampler_wait(uint64_t from, uint64_t period)
{
	while (cycles_now() - from < period)
		cycles_relax();
}
