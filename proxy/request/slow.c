/* slow.c: the slowest of a window, kept in a small array. */
#include "proxy/request/slow.h"

#include "proxy/analysis/analysis.h"

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

int64_t
slow_target_ns(const struct proxy *p)
{
	return p->config->slow.target_ns == CONFIG_DURATION_AUTO
		   ? slow_target_now_ns(&p->slow_target)
		   : p->config->slow.target_ns;
}

uint64_t
slow_left_out(const struct proxy *p)
{
	struct analysis_stats s;

	analysis_stats(p->analysis, &s);
	return p->metrics.slow_unexamined + s.left_out;
}

void
slow_finished(struct proxy *p, const struct tale_request *t)
{
	const struct config *c = p->config;
	int64_t total_ns = instant_since(t->finished, t->first_byte);
	bool slow = total_ns > slow_target_ns(p);
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .keep = true,
	    .reason = TALE_REASON_TARGET};

	slow_target_add(&p->slow_target, t->finished, total_ns);
	recent_note(&p->recent, &(struct recent_request){.at = t->finished,
				    .total_ns = total_ns,
				    .slow = slow,
				    .again = t->attempt[1].server >= 0,
				    .active = p->hedging.active});
	if (slow) {
		q.slowest =
		    slow_window_take(&p->slow_worst, c->slow.keep_slowest,
			SLOW_WINDOW_NS, t->finished, total_ns);
	} else {
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
