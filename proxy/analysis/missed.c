/* missed.c: a ring of summaries. */
#include "proxy/analysis/missed.h"

#include <errno.h>
#include <stdio.h>

static const struct {
	const char *code, *words;
} texts[] = {
#define MISSED_X(symbol, code, words) {code, words},
    MISSED_REASONS(MISSED_X)
#undef MISSED_X
};

const char *
missed_code(enum missed_reason reason)
{
	return texts[reason].code;
}

const char *
missed_words(enum missed_reason reason)
{
	return texts[reason].words;
}

enum missed_reason
missed_by(int err)
{
	switch (err) {
	case -ENOMEM:
		return MISSED_MEMORY;
	case -EFBIG:
		return MISSED_LARGE;
	}
	return MISSED_STORE;
}

void
missed_add(
    struct missed *m, const struct tale_request *r, enum missed_reason reason)
{
	struct tale_summary *one = &m->one[m->held++ % MISSED_KEPT];

	atomic_fetch_add(&m->count[reason], 1);
	*one = (struct tale_summary){.reason = TALE_REASON_TARGET,
	    .cause = TALE_CAUSE_NOT_OBSERVED,
	    .missing = missed_code(reason),
	    .finished_wall_ns = instant_wall_ns(r->finished)};
	tale_summarise(one, r);
	one->timeline_ns = one->share_ns = one->total_ns;
	snprintf(one->verdict, sizeof(one->verdict), "No timeline: %s.",
	    missed_words(reason));
}

const struct tale_summary *
missed_get(const struct missed *m, unsigned i)
{
	return i < m->held && i < MISSED_KEPT
		   ? &m->one[(m->held - 1 - i) % MISSED_KEPT]
		   : NULL;
}
