/*
 * slow.c: the slowest of a window, kept in a small array.
 */
#include "proxy/request/slow.h"

#include "proxy/analysis/analysis.h"
#include "proxy/request/proxy.h"

_Bool
slow_window_take(struct slow_window *w, unsigned keep, int64_t length_ns,
    struct instant now, int64_t total_ns)
{
	unsigned least = 0;

	if (keep == 0)
		return false;
	if (!instant_before(now, w->end)) {
		w->end = instant_plus(now, length_ns);
		w->count = 0;
	}
	if (w->count < keep) {
		w->total_ns[w->count++] = total_ns;
		return true;
	}
	for (unsigned i = 1; i < keep; i++)
		if (w->total_ns[i] < w->total_ns[least])
			least = i;
	if (total_ns <= w->total_ns[least])
		return false;
	w->total_ns[least] = total_ns;
	return true;
}

void
slow_finished(struct proxy *p, const struct tale_request *t)
{
	const struct config *c = p->config;
	int64_t total_ns = instant_since(t->finished, t->first_byte);
	bool slow = total_ns > c->slow.target_ns;
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .keep = true,
	    .reason = TALE_REASON_TARGET};

	recent_note(&p->recent, &(struct recent_request){.at = t->finished,
				    .total_ns = total_ns,
				    .slow = slow,
				    .again = t->attempt[1].server >= 0,
				    .active = p->hedging.active});
	if (!slow) {
		if (!slow_window_take(&p->slow_window, c->slow.keep_slowest,
			SLOW_WINDOW_NS, t->finished, total_ns))
			return;
		q.reason = TALE_REASON_SLOWEST;
		q.window_end = p->slow_window.end;
		q.window_keep = c->slow.keep_slowest;
	}
	q.request = *t;
	p->metrics.slow += slow;
	if (!analysis_ask(p->analysis, &q))
		p->metrics.slow_unexamined += slow;
}
