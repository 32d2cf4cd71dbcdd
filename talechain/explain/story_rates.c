/* story_rates.c: how fast a server and its CPUs went while the request was
 * there: curves for the picture, and whether slowness explains computing.
 *
 * The observer's RATE events hold a signal's value in a period, and its usual
 * value.  A piece of computing is explained by low IPC where the server's
 * threads together had less than half of their usual instructions per cycle,
 * and by a slow clock where its CPU ran at less than half of its nominal
 * clock.  Without a usual value nothing is claimed.  A period is longer than
 * many pieces, and of all threads: the evidence says so. */

#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

#define PERIOD_MAX_NS (60 * NS_PER_S) /* no longer one is believed */
#define LOW 2			      /* so many times less than usual is low */
#define RATE_CPUS_MAX 65536	      /* no machine has more */

/* One believable RATE event. */
struct period {
	uint64_t signal;
	int server, cpu; /* -1: none */
	double count, base, usual;
	int64_t begin_ns, end_ns;
};

/* Whether an entry is a rate that can be true, and what it says. */
static bool
period_of(
    const struct explainer *ex, const struct tale_entry *e, struct period *out)
{
	const struct talechain_event *v = &e->slot.event;
	int64_t interval_ns = (int64_t)(v->arg[3] & ((UINT64_C(1) << 40) - 1));

	if (v->type != TALECHAIN_RATE || e->doubtful || v->arg[2] == 0 ||
	    interval_ns == 0 || interval_ns > PERIOD_MAX_NS ||
	    talechain_rate_find(v->arg[0]) == NULL)
		return false;
	out->signal = v->arg[0];
	out->server = e->slot.server;
	out->cpu = v->cpu <= INT16_MAX ? (int)v->cpu : -1;
	out->count = (double)v->arg[1];
	out->base = (double)v->arg[2];
	out->usual = (double)(v->arg[3] >> 40) / 1000;
	out->end_ns = moment_at(ex->t, e->at);
	out->begin_ns = out->end_ns - interval_ns;
	return true;
}

bool
rate_cpu_of(const struct explainer *ex, const struct tale_entry *e, int attempt,
    int64_t *begin_ns, int64_t *end_ns, int64_t *cpu_ns)
{
	int server = ex->t->request.attempt[attempt].server;
	struct period p;

	if (!period_of(ex, e, &p) || p.signal != TALECHAIN_RATE_CPU ||
	    server < 0 || p.server != server ||
	    p.count / p.base > RATE_CPUS_MAX)
		return false;
	*begin_ns = p.begin_ns;
	*end_ns = p.end_ns;
	*cpu_ns = (int64_t)(p.count / p.base * (double)(p.end_ns - p.begin_ns));
	return true;
}

/* --- causes --------------------------------------------------------------- */

/* Whether a period says that a piece of computing was slow, and why. */
static bool
period_slow(const struct explainer *ex, const struct period *p,
    const struct claim *work, enum tale_cause cause)
{
	if (p->begin_ns >= work->end_ns || p->end_ns <= work->begin_ns)
		return false;
	if (cause == TALE_CAUSE_LOW_IPC)
		return p->signal == TALECHAIN_RATE_IPC &&
		       p->server ==
			   ex->t->request.attempt[work->attempt].server &&
		       p->usual > 0 && p->count * LOW < p->usual * p->base;
	return p->signal == TALECHAIN_RATE_CLOCK && p->cpu >= 0 &&
	       p->cpu == work->cpu && p->count * LOW < p->base;
}

/* "0.41 of usually 1.60" in thousandths, as a claim carries it. */
static uint64_t
slow_value(double ratio, double usual)
{
	uint64_t milli = (uint64_t)(ratio * 1000 + 0.5);

	return (uint64_t)(usual * 1000 + 0.5) << 32 | (milli & UINT32_MAX);
}

/* Claim what was slow of a piece of computing, all with one value. */
static void
claim_slow(
    struct explainer *ex, const struct claim *work, enum tale_cause cause)
{
	struct claim c = *work;
	double count = 0, base = 0, usual = 0;
	size_t i, first = entry_from(ex->t, work->begin_ns);
	struct period p;

	for (i = first; i < ex->t->entries; i++) {
		if (!period_of(ex, &ex->t->entry[i], &p) ||
		    !period_slow(ex, &p, work, cause))
			continue;
		count += p.count;
		base += p.base;
		usual = p.usual;
	}
	if (base <= 0)
		return;
	c.cause = cause;
	c.likely = true; /* a period is longer, and of all threads */
	c.rank = work->rank + 1;
	c.value = slow_value(count / base, usual);
	ex->leg_begin_ns = work->begin_ns;
	ex->leg_end_ns = work->end_ns;
	for (i = first; i < ex->t->entries; i++) {
		if (!period_of(ex, &ex->t->entry[i], &p) ||
		    !period_slow(ex, &p, work, cause))
			continue;
		c.begin_ns = p.begin_ns;
		c.end_ns = p.end_ns;
		path_add(ex, &c);
	}
}

/* The same of the clock: where the thread ran, CPU by CPU. */
static void
claim_slow_clock(struct explainer *ex, const struct claim *work)
{
	const struct thread_interval *ran;
	struct claim piece;
	size_t count = 0;

	ran = threads_of(ex, work->tid, &count);
	for (size_t i = 0; ran != NULL && i < count; i++) {
		piece = *work;
		piece.cpu = ran[i].cpu;
		if (piece.begin_ns < ran[i].begin_ns)
			piece.begin_ns = ran[i].begin_ns;
		if (piece.end_ns > ran[i].end_ns)
			piece.end_ns = ran[i].end_ns;
		if (ran[i].state == THREAD_RUN && piece.begin_ns < piece.end_ns)
			claim_slow(ex, &piece, TALE_CAUSE_SLOW_CLOCK);
	}
}

void
cause_rates(struct explainer *ex)
{
	size_t claims = ex->claims;
	struct claim work;

	for (size_t i = 0; i < claims && !ex->failed; i++) {
		work = ex->claim[i];
		if (work.cause != TALE_CAUSE_WORK || work.attempt < 0 ||
		    (work.rank != RANK_APP && work.rank != RANK_THREAD))
			continue;
		claim_slow(ex, &work, TALE_CAUSE_LOW_IPC);
		claim_slow_clock(ex, &work);
	}
}

/* --- curves --------------------------------------------------------------- */

/* The lane under which a period is drawn; false: under none. */
static bool
period_lane(struct explainer *ex, const struct period *p, unsigned *lane)
{
	const struct story *s = ex->s;
	enum story_lane_kind kind =
	    p->server >= 0 ? STORY_LANE_SERVER : STORY_LANE_CPU;
	int number = p->server >= 0 ? p->server : p->cpu;
	size_t best = s->lanes;

	for (size_t i = 0; i < s->lanes; i++)
		if (s->lane[i].kind == kind && s->lane[i].number == number &&
		    (best == s->lanes || s->lane[i].tid < s->lane[best].tid))
			best = i;
	*lane = (unsigned)best;
	if (best < s->lanes)
		return true;
	/* A CPU that the request did not touch has no lane. */
	if (p->server < 0 || tale_attempt_of(ex->t, p->server) < 0)
		return false;
	*lane = lane_get(ex, STORY_LANE_SERVER, number, 0);
	return true;
}

/* The curve of a signal on a lane, made if it is new; NULL: no room. */
static struct story_series *
series_get(struct explainer *ex, uint64_t signal, unsigned lane)
{
	struct story *s = ex->s;
	struct story_series *x;

	for (size_t i = 0; i < s->curves; i++)
		if (s->series[i].signal == signal && s->series[i].lane == lane)
			return &s->series[i];
	if (s->curves == STORY_SERIES_MAX)
		return NULL;
	s->series = array_grow(&ex->failed, s->series, s->curves,
	    &ex->series_room, sizeof(*s->series));
	if (ex->failed)
		return NULL;
	x = &s->series[s->curves++];
	*x = (struct story_series){.signal = (unsigned)signal,
	    .lane = lane,
	    .name = talechain_rate_find(signal)->name,
	    .unit = talechain_rate_find(signal)->unit};
	return x;
}

static void
series_point(
    struct explainer *ex, struct story_series *x, const struct period *p)
{
	double worth = talechain_rate_find(p->signal)->worth;
	struct story_point at = {.begin_ns = moment_cut(ex->t, p->begin_ns),
	    .end_ns = moment_cut(ex->t, p->end_ns),
	    .value = p->count / p->base * worth};
	size_t room = x->room;

	/* Periods of one signal do not overlap, but for hostile ones. */
	if (x->points > 0 && at.begin_ns < x->point[x->points - 1].end_ns)
		at.begin_ns = x->point[x->points - 1].end_ns;
	if (at.begin_ns >= at.end_ns)
		return;
	x->point = array_grow(
	    &ex->failed, x->point, x->points, &room, sizeof(*x->point));
	if (ex->failed)
		return;
	x->room = room;
	x->point[x->points++] = at;
	if (at.value > x->most)
		x->most = at.value;
	if (p->usual > 0)
		x->usual = p->usual * worth;
}

void
series_find(struct explainer *ex)
{
	struct story_series *x;
	struct period p;
	unsigned lane;

	for (size_t i = 0; i < ex->t->entries && !ex->failed; i++) {
		if (!period_of(ex, &ex->t->entry[i], &p) || p.end_ns <= 0 ||
		    p.begin_ns >= ex->s->total_ns ||
		    !period_lane(ex, &p, &lane))
			continue;
		x = series_get(ex, p.signal, lane);
		if (x != NULL)
			series_point(ex, x, &p);
	}
}
