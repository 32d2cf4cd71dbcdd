/* tags.h: counts by tag.
 *
 * A fixed table, tag -> samples, cycles and counts.  A tag without a place is
 * counted in the row of all others, so nothing is lost silently.
 *
 * Cost: 12 KiB per signal; one hash and mostly one comparison per sample. */
#pragma once

#include "shim/sampler.h"

#define TAGS 1024	    /* places; a power of two */
#define TAGS_MAX (TAGS / 2) /* most places in use: keeps searches short */

struct tag_row {
	uint64_t tag;
	uint64_t samples; /* with this tag; 0: a free place */
	uint64_t kept;	  /* periods of its rates; a joined one counts once */
	uint64_t cycles;  /* length of these periods */
	uint64_t count[SAMPLER_SIGNALS];
};

struct tags {
	struct tag_row row[TAGS];
	struct tag_row others; /* tags without room */
	unsigned used;
};

/* Begin without tags. */
void tags_init(struct tags *t);

/* The row of a tag; that of all others when there is no room. */
struct tag_row *tags_row(struct tags *t, uint64_t tag);

/* Pointers to the rows in use, most samples first, the one of all others last
 * if it has any.  Returns how many, at most max. */
size_t
tags_sorted(const struct tags *t, const struct tag_row **rows, size_t max);

/* A signal's rate per cycle while the tag was set; 0 without kept periods. */
static inline double
tag_rate(const struct tag_row *r, unsigned signal)
{
	return r->cycles > 0 ? (double)r->count[signal] / (double)r->cycles : 0;
}
