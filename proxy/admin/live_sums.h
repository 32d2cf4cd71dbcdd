/*
 * live_sums.h: what page and JSON both say of a view.  Analysis thread.
 */
#ifndef TAILOR_PROXY_ADMIN_LIVE_SUMS_H
#define TAILOR_PROXY_ADMIN_LIVE_SUMS_H

#include "proxy/admin/live_view.h"

struct live_cause {
	enum tale_cause cause;
	unsigned requests;
	int64_t lost_ns; /* the largest parts of those requests */
};

/* Over the window. */
struct live_sums {
	uint64_t requests, slow;
	uint64_t bucket[RECENT_BUCKETS];
	struct live_cause cause[TALE_CAUSE_COUNT]; /* most lost first */
	unsigned causes;
	int64_t lost_ns; /* by all causes */
};

/* Of the view whose page this is (struct analysis_page). */
int live_render(const struct analysis_page *page,
    const struct tale_summary *const *slow, unsigned n, bool html, char **text,
    size_t *length);

/* The page; its twin and live_render are in live_json.c. */
int live_page(const struct live_view *v, const struct live_sums *sums,
    const struct tale_summary *const *slow, unsigned n, char **text,
    size_t *length);

#endif
