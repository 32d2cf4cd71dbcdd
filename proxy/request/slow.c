/* slow.c: chooses requests to examine; a small array holds the slowest ones of
 * a window, and a place the one of the rest that was drawn. */
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
		   : atomic_load(
			 &analysis_seen(p->analysis).missed->count[reason]);
}

/* --- the sample ----------------------------------------------------------- */

/* The number of a turn; no turn is of two seconds. */
static uint64_t
turn_of(unsigned per_s, struct instant now)
{
	const uint64_t second = (uint64_t)NS_PER_S;

	return now.ns / second * per_s + now.ns % second * per_s / second;
}

_Bool
slow_sample_over(
    const struct slow_sample *s, unsigned per_s, struct instant now)
{
	return s->requests > 0 && turn_of(per_s, now) != s->turn;
}

_Bool
slow_sample_take(
    struct slow_sample *s, unsigned per_s, struct instant now, uint64_t id)
{
	/* Inverted, so that the choice is independent of that in budget.c. */
	uint64_t lot = ~id;

	s->turn = turn_of(per_s, now);
	s->requests++;
	return random_unit(splitmix64(&lot)) * s->requests < 1;
}

static bool
question_put(struct proxy *p, struct analysis_question *q)
{
	memcpy(q->offered, p->slow_sample.offered, sizeof(q->offered));
	if (!analysis_ask(p->analysis, q))
		return false;
	memset(&p->slow_sample.offered, 0, sizeof(q->offered));
	return true;
}

/* Examine the request held. */
static void
held_examine(struct proxy *p)
{
	struct slow_sample *s = &p->slow_sample;
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .reason = TALE_REASON_SLOWEST,
	    .account = true,
	    .stratum = ACCOUNT_OTHER,
	    .stands = s->requests};

	q.request = s->held;
	memcpy(q.route, s->route, sizeof(q.route));
	question_put(p, &q);
	s->requests = 0;
}

static void
turn_end(struct proxy *p, struct instant now)
{
	if (slow_sample_over(
		&p->slow_sample, p->config->analysis.accounts, now))
		held_examine(p);
}

void
slow_turn_over(void *user, bool forced)
{
	(void)forced;
	turn_end(user, instant_now());
}

/* Let a request that is not of the tail take part in the sample. */
static void
turn_join(struct proxy *p, const struct tale_request *t, const char *route)
{
	struct slow_sample *s = &p->slow_sample;
	unsigned per_s = p->config->analysis.accounts;
	bool first = s->requests == 0;

	if (!slow_sample_take(s, per_s, t->finished, t->id))
		return;
	s->held = *t;
	snprintf(s->route, sizeof(s->route), "%s", route);
	/* Later than its end: mostly, the next request ends it. */
	if (first)
		timer_set_unsorted(&p->loop.timers, &p->slow_timer, t->finished,
		    2 * NS_PER_S / per_s);
}

/* --- the choice ----------------------------------------------------------- */

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

enum account_stratum
slow_stratum(bool slow, bool slowest, int64_t total_ns, int64_t tail_ns)
{
	bool tail = tail_ns > 0 ? total_ns > tail_ns : slow;

	if (slowest)
		return ACCOUNT_SLOWEST;
	if (slow && tail)
		return ACCOUNT_SLOW;
	return slow || tail ? ACCOUNT_TAIL : ACCOUNT_OTHER;
}

/* The choice for a request. */
struct slow_choice {
	bool slow; /* above slow.target */
	bool keep; /* its tale */
	enum tale_reason reason;
	enum account_stratum stratum;
};

/* Choose; tail_ns: where the tail of its route begins, 0: not known. */
static struct slow_choice
slow_choose(struct proxy *p, const struct tale_request *t, int64_t total_ns,
    int64_t tail_ns)
{
	unsigned keep = p->config->slow.keep_slowest;
	bool slow = total_ns > slow_target_ns(p), failed, slowest;
	struct slow_choice c = {.slow = slow, .reason = TALE_REASON_TARGET};

	if (slow) {
		slowest = slow_window_take(&p->slow_worst, keep, SLOW_WINDOW_NS,
		    t->finished, total_ns);
	} else {
		failed =
		    has_failed(t) && slow_window_take(&p->slow_failed, keep,
					 SLOW_WINDOW_NS, t->finished, total_ns);
		slowest = failed || slow_window_take(&p->slow_window, keep,
					SLOW_WINDOW_NS, t->finished, total_ns);
		c.reason = failed ? TALE_REASON_FAILED : TALE_REASON_SLOWEST;
	}
	c.keep = slow || slowest;
	c.stratum = slow_stratum(slow, slowest, total_ns, tail_ns);
	return c;
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

/* Examine a request of the tail, or one whose tale is kept. */
static void
tail_examine(struct proxy *p, const struct tale_request *t,
    const struct slow_choice *c, const char *route)
{
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .reason = c->reason,
	    .keep = c->keep,
	    .account = p->config->analysis.accounts > 0,
	    .stratum = c->stratum,
	    .stands = 1,
	    .window_end = p->slow_window.end,
	    .window_keep = p->config->slow.keep_slowest};

	q.request = *t;
	snprintf(q.route, sizeof(q.route), "%s", route);
	p->metrics.slow += c->slow;
	if (!question_put(p, &q) && c->slow)
		slow_unexamined(p, &q);
}

void
slow_late(struct proxy *p, const struct tale_request *t)
{
	struct instant begin = tale_request_begin(t);
	int64_t total_ns = instant_since(tale_request_end(t), begin);
	int64_t target_ns = slow_target_ns(p);
	bool was_slow =
	    instant_since(t->finished,
		instant_is_set(t->acknowledged) ? begin : t->first_byte) >
	    target_ns;
	struct analysis_question q = {.kind = ANALYSIS_KEEP,
	    .known = true,
	    .keep = true,
	    .counted = was_slow,
	    .reason = TALE_REASON_TARGET,
	    .request = *t};

	if (total_ns <= target_ns)
		return;
	q.stratum =
	    slow_window_take(&p->slow_worst, p->config->slow.keep_slowest,
		SLOW_WINDOW_NS, instant_now(), total_ns)
		? ACCOUNT_SLOWEST
		: ACCOUNT_SLOW;
	p->metrics.slow += !was_slow;
	if (!analysis_ask(p->analysis, &q) && !was_slow)
		slow_unexamined(p, &q);
}

void
slow_finished(struct proxy *p, const struct tale_request *t)
{
	const struct config *config = p->config;
	int64_t total_ns = instant_since(t->finished, t->first_byte);
	struct latency_key key = {config->blame.classes,
	    config->blame.class_count, t->method, t->target, t->status,
	    t->finished};
	bool accounts = config->analysis.accounts > 0;
	struct slow_choice c;
	const char *route = "";
	int64_t tail_ns = 0;

	turn_end(p, t->finished);
	if (accounts)
		route = analysis_count(p->analysis, &key, total_ns, &tail_ns);
	c = slow_choose(p, t, total_ns, tail_ns);
	/* Count only while accounts are made: these stand for no others. */
	p->slow_sample.offered[c.stratum] += accounts;
	slow_target_add(&p->slow_target, t->finished, total_ns);
	recent_note(&p->recent, &(struct recent_request){.at = t->finished,
				    .total_ns = total_ns,
				    .slow = c.slow,
				    .again = t->attempt[1].server >= 0,
				    .active = p->hedging.active});
	if (c.stratum != ACCOUNT_OTHER)
		tail_examine(p, t, &c, route);
	else if (accounts)
		turn_join(p, t, route);
	if (!c.slow)
		slow_late(p, t);
}
