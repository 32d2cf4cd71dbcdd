/* sums.c: what is known of a pause of the kernel's events.
 *
 * In such a pause a server's thread has no events, but sums of each request:
 * how long it computed and waited, and for what, between receiving the request
 * and sending (EPOCH_SUM).  The order within that time is not known.  So each
 * sum becomes a claim of that length, one after the other, in an order that
 * means nothing.  The claims are likely, not observed, and time that is in no
 * sum stays not observed.
 *
 * A collection or another pause of the server has its own times and wins.  The
 * thread slept meanwhile, so that much of its sleep is not claimed again. */
#include "talechain/claims/explainer.h"

/* Most time between an end of a pause and that of a thread's sleep. */
#define PAUSE_EDGE_NS (200 * NS_PER_US)
/* Most time between two stamps of one moment. */
#define STAMP_EDGE_NS (20 * NS_PER_US)

/* The second half of an epoch's sums, or NULL. */
static const struct talechain_event *
rest_of(const struct explainer *ex, size_t i)
{
	const struct tale_entry *e = &ex->t->entry[i];
	const struct event_query q = {.cookie = COOKIE_ANY,
	    .type = TALECHAIN_EPOCH_REST,
	    .tid = e->slot.event.tid,
	    .to = moment_at(ex->t, e->at)};

	e = query_next(ex->t, &q, e);
	return e != NULL ? &e->slot.event : NULL;
}

bool
sums_next(const struct explainer *ex, int attempt, int64_t from_ns,
    int64_t to_ns, struct epoch_sums *out)
{
	uint64_t cookie = ex->t->cookie[TALE_SOCKET_A + 2 * attempt];
	const struct talechain_event *v, *r;
	int64_t end;

	for (size_t i = entry_from(ex->t, from_ns + 1);
	     cookie != 0 && i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		end = moment_at(ex->t, ex->t->entry[i].at);
		if (end > to_ns + STAMP_EDGE_NS)
			break;
		if (v->type != TALECHAIN_EPOCH_SUM || v->arg[0] != cookie ||
		    ex->t->entry[i].doubtful)
			continue;
		r = rest_of(ex, i);
		if (r == NULL)
			continue;
		*out = (struct epoch_sums){
		    .begin_ns = end - (int64_t)tale_low(v->arg[1]),
		    .end_ns = end,
		    .way_ns = tale_high(v->arg[1]),
		    .tid = v->tid,
		    .marks = (unsigned)(r->arg[3] >> 48),
		    .ran_ns = tale_high(v->arg[2]),
		    .ready_ns = tale_low(v->arg[2]),
		    .preempted_ns = tale_high(v->arg[3]),
		    /* Slept and blocked: the reason of neither is known. */
		    .slept_ns = (int64_t)tale_low(v->arg[3]) +
				(int64_t)tale_high(r->arg[1]),
		    .lock_ns = tale_high(r->arg[0]),
		    .disk_ns = tale_low(r->arg[0]),
		    .stolen_ns = tale_low(r->arg[1]),
		    .handled_ns = tale_high(r->arg[2]),
		    .fault_ns = tale_low(r->arg[2]),
		};
		/* Else the sums are of an earlier request on the connection. */
		if (out->begin_ns >= from_ns)
			return true;
	}
	return false;
}

/* --- around the server's pauses ------------------------------------------- */

static bool
is_pause(const struct explainer *ex, int attempt, const struct tale_pause *p)
{
	return p->server == ex->t->request.attempt[attempt].server &&
	       pause_ranks[p->kind] > RANK_SUM;
}

/* The first moment from at on in which the server is in no pause; *until: when
 * its next pause begins, at most limit. */
static int64_t
free_from(const struct explainer *ex, int attempt, int64_t at, int64_t limit,
    int64_t *until)
{
	const struct tale *t = ex->t;
	int64_t begin, end;
	bool again = true;

	while (again) {
		again = false;
		*until = limit;
		for (size_t i = 0; i < t->pauses; i++) {
			if (!is_pause(ex, attempt, &t->pause[i]))
				continue;
			begin = instant_since(t->pause[i].begin, t->t0);
			end = instant_since(t->pause[i].end, t->t0);
			if (begin <= at && end > at) {
				at = end;
				again = true;
			} else if (begin > at && begin < *until) {
				*until = begin;
			}
		}
	}
	return at;
}

/* How long the server was paused in the time of an epoch, ns. */
static int64_t
paused_ns(const struct explainer *ex, int attempt, const struct epoch_sums *s)
{
	int64_t at = s->begin_ns, next, until, sum = 0;

	while (at < s->end_ns) {
		next = free_from(ex, attempt, at, s->end_ns, &until);
		sum += (next < s->end_ns ? next : s->end_ns) - at;
		at = next < s->end_ns ? until : next;
	}
	return sum;
}

/* Claim ns of a cause from *at on, around the pauses; *at moves to the end. */
static void
place(struct explainer *ex, const struct epoch_sums *s, int64_t *at,
    struct claim like, int64_t ns)
{
	int64_t until;

	while (ns > 0 && *at < s->end_ns) {
		*at = free_from(ex, like.attempt, *at, s->end_ns, &until);
		if (*at >= s->end_ns)
			return;
		like.begin_ns = *at;
		like.end_ns = until - *at > ns ? *at + ns : until;
		claim_add(ex, &like);
		ns -= like.end_ns - like.begin_ns;
		*at = like.end_ns;
	}
}

/* Take up to ns from a sum; returns how much could not be taken. */
static int64_t
take(int64_t *sum, int64_t ns)
{
	int64_t part = *sum < ns ? *sum : ns;

	*sum -= part;
	return ns - part;
}

void
sums_claim(struct explainer *ex, int attempt, const struct epoch_sums *sums)
{
	struct epoch_sums s = *sums;
	int64_t paused = paused_ns(ex, attempt, &s), at = s.begin_ns;
	int64_t rest = s.end_ns - s.begin_ns - s.ran_ns - s.ready_ns -
		       s.preempted_ns - s.slept_ns - s.lock_ns - s.disk_ns;
	int64_t fault, irq, steal;
	struct claim c = {.attempt = attempt,
	    .rank = RANK_SUM,
	    .tid = s.tid,
	    .cpu = -1,
	    .likely = true};

	/* The sums include what the thread did for other connections. */
	if ((s.marks & TALECHAIN_EPOCH_OTHER) != 0 || rest < 0)
		return;
	paused = take(&s.slept_ns, take(&s.lock_ns, paused));
	if (take(&rest, paused) > PAUSE_EDGE_NS)
		return; /* it did not sleep in the pause: contradictory */
	/* A host takes the CPU from handlers, too, and handlers interrupt
	 * faults: time that may be in two sums is counted once. */
	steal = s.stolen_ns;
	irq = s.handled_ns > steal ? s.handled_ns - steal : 0;
	fault = s.fault_ns;
	steal -= take(&s.ran_ns, steal);
	irq -= take(&s.ran_ns, irq);
	fault -= take(&s.ran_ns, fault);
	const struct {
		enum tale_cause cause;
		int64_t ns;
	} part[] = {
	    {TALE_CAUSE_WORK, s.ran_ns},
	    {TALE_CAUSE_PAGE_FAULT, fault},
	    {TALE_CAUSE_IRQ, irq},
	    {TALE_CAUSE_STEAL, steal},
	    {TALE_CAUSE_RUNQ, s.ready_ns},
	    {TALE_CAUSE_PREEMPTED, s.preempted_ns},
	    {TALE_CAUSE_LOCK, s.lock_ns},
	    {TALE_CAUSE_DISK, s.disk_ns},
	    {TALE_CAUSE_SLEEP, s.slept_ns},
	};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		c.cause = part[i].cause;
		place(ex, &s, &at, c, part[i].ns);
	}
}
