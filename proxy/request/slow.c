/* slow.c: chooses requests to examine; a small array holds the slowest ones of
 * a window. */
#include "proxy/request/slow.h"

#include "base/random.h"
#include "proxy/analysis/analysis.h"
#include "talechain/events/termination.h"

_Bool
slow_window_take(struct slow_window *w, unsigned keep, int64_t length_ns,
    struct instant now, int64_t total_ns)
{
	unsigned least = 0;

	if (keep == 0)
		return false;
	if (!instant_before(now, w->end)) {
		w->end = instant_plus(
		    now, w->end.ns == 0 ? length_ns / 60 : length_ns);
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
slow_missed(const struct proxy *p, enum missed_reason reason)
{
	return reason == MISSED_QUEUE
		   ? p->metrics.slow_unexamined
		   : atomic_load(&analysis_missed(p->analysis)->count[reason]);
}

/* True if an account is made of a request that was not slow.  The share of such
 * requests gives per_s accounts in this second if it has as many requests as
 * the second before.  Within a second the share is constant; a hash of the
 * request's id decides. */
static bool
sample_take(
    struct slow_sample *s, unsigned per_s, struct instant now, uint64_t id)
{
	uint64_t second = now.ns / (uint64_t)NS_PER_S;
	/* Inverted, so that the choice is independent of that in budget.c. */
	uint64_t lot = ~id;

	if (second != s->second) {
		s->share = s->requests <= per_s
			       ? 1
			       : (double)per_s / (double)s->requests;
		s->second = second;
		s->requests = 0;
		s->taken = 0;
	}
	s->requests++;
	if (s->taken >= SLOW_SAMPLE_BURST * per_s ||
	    random_unit(splitmix64(&lot)) >= s->share)
		return false;
	s->taken++;
	return true;
}

/* True if a server, or a lack of servers or resources, failed the request: not
 * the client. */
static bool
has_failed(const struct tale_request *t)
{
	enum termination_by by = termination_by(t->termination);

	return t->termination != 0 && by != TERMINATION_CLIENT &&
	       by != TERMINATION_CLIENT_LATE &&
	       termination_place(t->termination) != TERMINATION_REQUEST;
}

/* True if the request is examined; q gets the reason. */
static bool
slow_choose(struct proxy *p, const struct tale_request *t, int64_t total_ns,
    struct analysis_question *q)
{
	const struct config *c = p->config;
	unsigned keep = c->slow.keep_slowest;
	bool slow = total_ns > slow_target_ns(p), failed;

	if (slow) {
		q->reason = TALE_REASON_TARGET;
		q->keep = true;
		q->slowest = slow_window_take(&p->slow_worst, keep,
		    SLOW_WINDOW_NS, t->finished, total_ns);
		q->account = c->analysis.accounts > 0;
	} else {
		failed =
		    has_failed(t) && slow_window_take(&p->slow_failed, keep,
					 SLOW_WINDOW_NS, t->finished, total_ns);
		q->reason = failed ? TALE_REASON_FAILED : TALE_REASON_SLOWEST;
		q->keep = failed || slow_window_take(&p->slow_window, keep,
					SLOW_WINDOW_NS, t->finished, total_ns);
		q->window_end = p->slow_window.end;
		q->window_keep = keep;
		q->account = c->analysis.accounts > 0 &&
			     sample_take(&p->slow_sample, c->analysis.accounts,
				 t->finished, t->id);
	}
	q->stratum = !slow	  ? ACCOUNT_OTHER
		     : q->slowest ? ACCOUNT_SLOWEST
				  : ACCOUNT_SLOW;
	/* Count only while accounts are made: these stand for no others. */
	p->slow_sample.offered[q->stratum] += c->analysis.accounts > 0;
	return q->keep || q->account;
}

uint64_t
slow_left_out(const struct proxy *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < MISSED_COUNT; i++)
		sum += slow_missed(p, (enum missed_reason)i);
	return sum;
}

/* There is no room to have a slow request examined: have it listed, if there is
 * room for that. */
static void
slow_unexamined(struct proxy *p, struct analysis_question *q)
{
	p->metrics.slow_unexamined++;
	q->kind = ANALYSIS_MISSED;
	q->taken = true; /* whatever the budget */
	memset(q->offered, 0, sizeof(q->offered));
	(void)analysis_ask(p->analysis, q);
}

void
slow_late(struct proxy *p, const struct tale_request *t)
{
	int64_t total_ns = instant_since(t->acknowledged, t->first_byte);
	int64_t target_ns = slow_target_ns(p);
	bool was_slow = instant_since(t->finished, t->first_byte) > target_ns;
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .keep = true,
	    .reason = TALE_REASON_TARGET,
	    .request = *t};

	if (total_ns <= target_ns)
		return;
	q.slowest =
	    slow_window_take(&p->slow_worst, p->config->slow.keep_slowest,
		SLOW_WINDOW_NS, instant_now(), total_ns);
	p->metrics.slow += !was_slow;
	if (!analysis_ask(p->analysis, &q))
		p->metrics.slow_unexamined += !was_slow;
}

void
slow_finished(struct proxy *p, const struct tale_request *t)
{
	int64_t total_ns = instant_since(t->finished, t->first_byte);
	struct analysis_question q = {.kind = ANALYSIS_KEEP, .known = true};
	bool chosen = slow_choose(p, t, total_ns, &q);
	bool slow = q.reason == TALE_REASON_TARGET;
	struct latency_key key = {p->config->blame.classes,
	    p->config->blame.class_count, t->method, t->target, t->status,
	    t->finished};
	const char *class = "";

	if (p->config->analysis.accounts > 0)
		class = analysis_count(p->analysis, &key, total_ns);
	slow_target_add(&p->slow_target, t->finished, total_ns);
	recent_note(&p->recent, &(struct recent_request){.at = t->finished,
				    .total_ns = total_ns,
				    .slow = slow,
				    .again = t->attempt[1].server >= 0,
				    .active = p->hedging.active});
	if (!chosen)
		return;
	q.request = *t;
	snprintf(q.route, sizeof(q.route), "%s", class);
	memcpy(q.offered, p->slow_sample.offered, sizeof(q.offered));
	p->metrics.slow += slow;
	if (analysis_ask(p->analysis, &q))
		memset(&p->slow_sample.offered, 0, sizeof(q.offered));
	else if (slow)
		slow_unexamined(p, &q);
}
