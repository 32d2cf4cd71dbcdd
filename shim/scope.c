#include "shim/scope.h"

#include <stdlib.h>
#include <string.h>

struct shim_scope *
scope_new(unsigned signals, uint32_t margin_ppm)
{
	struct shim_scope *s = malloc(sizeof(*s));

	if (s != NULL)
		scope_init(s, signals, margin_ppm);
	return s;
}

void
scope_init(struct shim_scope *s, unsigned signals, uint32_t margin_ppm)
{
	memset(s, 0, offsetof(struct shim_scope, period));
	s->signals = signals;
	s->margin_ppm = margin_ppm;
	histogram_init(&s->period);
	histogram_init(&s->period_kept);
	histogram_init(&s->gap);
	histogram_init(&s->cpc);
	for (unsigned i = 0; i < signals; i++) {
		histogram_init(&s->raw[i]);
		histogram_init(&s->rate[i]);
	}
	join_reset(&s->join);
	tags_init(&s->tags);
}

/* Counts per SCOPE_RATE cycles, rounded. */
static uint64_t
rate_of(uint64_t count, uint64_t cycles)
{
	double rate = (double)count * SCOPE_RATE / (double)cycles + 0.5;

	return rate < 1e18 ? (uint64_t)rate : UINT64_C(1000000000000000000);
}

/* Add the kept period that now ends to the histograms of kept ones. */
static void
scope_keep(struct shim_scope *s, const struct shim_sample *now, uint64_t cycles,
    const uint64_t *count)
{
	s->kept++;
	histogram_record(&s->period_kept, cycles);
	if (s->last_kept != 0)
		histogram_record(&s->gap, now->clock.begin - s->last_kept);
	s->last_kept = now->clock.begin;
	for (unsigned i = 0; i < s->signals; i++)
		histogram_record(&s->rate[i], rate_of(count[i], cycles));
}

/* Add the sample to its tag.  A tag is read after the signals, so the signals
 * of the first sample with a tag may be from before it was set. */
static void
scope_tag(struct shim_scope *s, const struct shim_sample *now, bool first)
{
	struct tag_row *r = tags_row(&s->tags, now->tag);
	struct shim_sample begin;

	r->samples++;
	if (first || now->tag != s->last.tag) {
		s->straddling += !first;
		join_reset(&s->join);
		return;
	}
	if (!join_end(&s->join, now, s->signals, &begin))
		return;
	r->kept++;
	r->cycles += now->clock.end - begin.clock.end;
	for (unsigned i = 0; i < s->signals; i++)
		r->count[i] += now->value[i] - begin.value[i];
}

/* Set count[] to each signal's growth; false if a signal fell. */
static bool
scope_count(
    const struct shim_scope *s, const struct shim_sample *now, uint64_t *count)
{
	bool grew = true;

	for (unsigned i = 0; i < s->signals; i++) {
		count[i] = now->value[i] - s->last.value[i];
		if ((int64_t)count[i] < 0) {
			grew = false;
			count[i] = 0;
		}
	}
	return grew;
}

bool
scope_add(struct shim_scope *s, const struct shim_sample *sample)
{
	uint64_t cycles = sample->clock.begin - s->last.clock.begin;
	uint64_t count[SAMPLER_SIGNALS] = {0};
	bool first = !s->begun, keep = false, grew;

	s->begun = true;
	grew = first || scope_count(s, sample, count);
	scope_tag(s, sample, first);
	if (first || (int64_t)cycles <= 0)
		goto out;
	s->periods++;
	histogram_record(&s->period, cycles);
	histogram_record(
	    &s->cpc, rate_of(sample->clock.end - s->last.clock.end, cycles));
	for (unsigned i = 0; i < s->signals; i++)
		histogram_record(&s->raw[i], rate_of(count[i], cycles));
	s->backwards += !grew;
	keep = grew && dte_keep(s->last.clock, sample->clock, s->margin_ppm);
	if (keep)
		scope_keep(s, sample, cycles, count);
out:
	s->last = *sample;
	return keep;
}
