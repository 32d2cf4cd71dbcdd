/*
 * scope.c: from samples to periods, rates and tags.
 */
#include "profiler/shim/scope.h"

#include <stdlib.h>

struct scope *
scope_new(unsigned signals, uint32_t margin_ppm)
{
	struct scope *s = calloc(1, sizeof(*s));
	unsigned i;

	if (s == NULL)
		return NULL;
	s->signals = signals;
	s->margin_ppm = margin_ppm;
	histogram_init(&s->period);
	histogram_init(&s->period_kept);
	histogram_init(&s->gap);
	histogram_init(&s->cpc);
	for (i = 0; i < signals; i++) {
		histogram_init(&s->raw[i]);
		histogram_init(&s->rate[i]);
	}
	tags_init(&s->tags);
	return s;
}

/* Counts per SCOPE_RATE cycles, rounded. */
static uint64_t
rate_of(uint64_t count, uint64_t cycles)
{
	double rate = (double)count * SCOPE_RATE / (double)cycles + 0.5;

	return rate < 1e18 ? (uint64_t)rate : UINT64_C(1000000000000000000);
}

/* The kept period that now ends, for its own histograms and its tag. */
static void
scope_keep(struct scope *s, const struct sample *now, uint64_t cycles,
    const uint64_t *count)
{
	struct tag_row *r;
	unsigned i;

	s->kept++;
	histogram_record(&s->period_kept, cycles);
	if (s->last_kept != 0)
		histogram_record(&s->gap, now->clock.begin - s->last_kept);
	s->last_kept = now->clock.begin;
	for (i = 0; i < s->signals; i++)
		histogram_record(&s->rate[i], rate_of(count[i], cycles));
	if (now->tag != s->last.tag) {
		s->straddling++;
		return;
	}
	r = tags_row(&s->tags, now->tag);
	r->kept++;
	r->cycles += cycles;
	for (i = 0; i < s->signals; i++)
		r->count[i] += count[i];
}

bool
scope_add(struct scope *s, const struct sample *sample)
{
	uint64_t cycles = sample->clock.begin - s->last.clock.begin;
	uint64_t count[SAMPLER_SIGNALS] = {0};
	bool first = !s->begun, keep = false, fell = false;
	unsigned i;

	tags_row(&s->tags, sample->tag)->samples++;
	s->begun = true;
	if (first || (int64_t)cycles <= 0)
		goto out;
	s->periods++;
	histogram_record(&s->period, cycles);
	histogram_record(
	    &s->cpc, rate_of(sample->clock.end - s->last.clock.end, cycles));
	for (i = 0; i < s->signals; i++) {
		count[i] = sample->value[i] - s->last.value[i];
		if ((int64_t)count[i] < 0) {
			fell = true;
			count[i] = 0;
		}
		histogram_record(&s->raw[i], rate_of(count[i], cycles));
	}
	s->backwards += fell;
	keep = !fell && dte_keep(s->last.clock, sample->clock, s->margin_ppm);
	if (keep)
		scope_keep(s, sample, cycles, count);
out:
	s->last = *sample;
	return keep;
}
