/* scope.h: statistics of a series of samples.
 *
 * Keeps in bounded memory: the lengths of periods, which of them pass
 * double-time error correction, rates of each signal raw and kept, and
 * everything by tag.  Samples are not stored.
 *
 * Rates by tag cover a run of samples with one tag, from the second to the
 * last, so the tag was set throughout; periods are joined, not dropped
 * (join.h).  (The paper gives each period to the tag that was read in it and
 * drops what is not kept, which blurs the rates of tags that change within a
 * few periods.)
 *
 * Cost: about 30 ns a sample; 60 KiB for each histogram. */
#pragma once

#include "base/histogram.h"
#include "shim/join.h"
#include "shim/tags.h"

/* Rates are stored as counts per SCOPE_RATE cycles: whole numbers. */
#define SCOPE_RATE 100000

struct shim_scope {
	uint32_t margin_ppm;
	unsigned signals;
	bool begun;
	struct shim_sample last;
	uint64_t last_kept; /* clock of the last kept period's end */

	uint64_t periods, kept;
	uint64_t straddling;	      /* periods over a change of tag */
	uint64_t backwards;	      /* a signal fell: it was reset, no rate */
	struct histogram period;      /* cycles, all */
	struct histogram period_kept; /* cycles, of kept ones */
	struct histogram gap;	      /* cycles from one kept to the next */
	struct histogram cpc;	      /* end to end / begin to begin, all */
	struct histogram raw[SAMPLER_SIGNALS];	/* rates, all */
	struct histogram rate[SAMPLER_SIGNALS]; /* rates, kept */
	struct join join; /* the running period of the last sample's tag */
	struct tags tags;
};

/* A new scope, about 1 MB; NULL without memory.  Free with free(). */
struct shim_scope *scope_new(unsigned signals, uint32_t margin_ppm);

/* Initialize a scope in place, as scope_new does. */
void scope_init(struct shim_scope *s, unsigned signals, uint32_t margin_ppm);

/* Add the next sample.  Returns whether the period that it ends was kept (the
 * first sample ends none). */
bool scope_add(struct shim_scope *s, const struct shim_sample *sample);

/* Share of periods kept, 0 .. 1. */
static inline double
scope_kept(const struct shim_scope *s)
{
	return s->periods > 0 ? (double)s->kept / (double)s->periods : 0;
}
