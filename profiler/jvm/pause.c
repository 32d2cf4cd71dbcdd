#include "profiler/jvm/pause.h"

#include "base/array.h"

/* Result of one step, for collections or for safepoints. */
struct turn {
	bool end;	 /* the pause in force ended */
	unsigned pulses; /* whole pauses between two samples */
	bool begin;	 /* a pause began and is in force */
};

/* The arguments of one step. */
struct step {
	struct pause *p;
	const struct pause_sample *s;
	struct instant before, seen;
	struct pause_edges *out;
	/* Latest entry and exit of a collector; seen if they are not new. */
	struct instant entry, exit;
	uint64_t completed; /* collections counted since the last sample */
	bool inside;	    /* some collector is between entry and exit */
	bool counted;	    /* completed includes the collection in force */
};

const char *
collector_name(enum collector c)
{
	static const char *const names[] = {
	    [COLLECTOR_UNKNOWN] = "unknown collector",
	    [COLLECTOR_SERIAL] = "Serial",
	    [COLLECTOR_PARALLEL] = "Parallel",
	    [COLLECTOR_G1] = "G1",
	    [COLLECTOR_Z] = "ZGC",
	    [COLLECTOR_SHENANDOAH] = "Shenandoah",
	    [COLLECTOR_EPSILON] = "Epsilon"};

	return NAME_IN(names, c);
}

bool
collector_concurrent(enum collector c)
{
	return c == COLLECTOR_Z || c == COLLECTOR_SHENANDOAH;
}

bool
collector_stops_world(enum collector c)
{
	return c == COLLECTOR_SERIAL || c == COLLECTOR_PARALLEL ||
	       c == COLLECTOR_G1;
}

void
pause_init(struct pause *p, enum collector kind, uint64_t frequency)
{
	memset(p, 0, sizeof(*p));
	p->kind = kind;
	p->frequency = frequency;
}

bool
pause_idle(const struct pause *p)
{
	return p->known && !p->gc && !p->safepoint;
}

/* Ticks of the JVM's counter as nanoseconds; false if unknown. */
static bool
pause_ticks_ns(const struct pause *p, uint64_t ticks, int64_t *ns)
{
	unsigned __int128 wide;

	if (p->frequency == 0)
		return false;
	wide = (unsigned __int128)ticks * (uint64_t)NS_PER_S / p->frequency;
	if (wide > INT64_MAX)
		return false;
	*ns = (int64_t)wide;
	return true;
}

/* Learn when the JVM started: its ticks count from there, but the page does not
 * show it.  A tick is never in the future, so seen - tick is never before the
 * start; the smallest of these is the start plus the delay of the fastest
 * sweep. */
static void
pause_learn(struct pause *p, uint64_t ticks, struct instant seen)
{
	int64_t ns, start_ns;

	if (!pause_ticks_ns(p, ticks, &ns))
		return;
	start_ns = (int64_t)seen.ns - ns;
	if (!p->start_known || start_ns < p->start_ns)
		p->start_ns = start_ns;
	p->start_known = true;
}

/* A tick count on our clock, clamped to the time since the last sample. */
static struct instant
pause_instant(const struct step *t, uint64_t ticks)
{
	struct instant at = t->seen;
	int64_t ns;

	if (!t->p->start_known || !pause_ticks_ns(t->p, ticks, &ns))
		return at;
	at.ns = (uint64_t)t->p->start_ns + (uint64_t)ns;
	if (instant_before(at, t->before))
		return t->before;
	return instant_before(t->seen, at) ? t->seen : at;
}

/* Read the collectors' own counters. */
static void
step_collectors(struct step *t)
{
	const struct pause_sample *old = &t->p->last, *s = t->s;
	uint64_t n, entry = 0, exit = 0;

	t->entry = t->exit = t->seen;
	for (unsigned i = 0; i < s->collectors; i++) {
		n = s->collector[i].count - old->collector[i].count;
		/* Ignore a counter that decreases: no JVM does that. */
		if (n < UINT32_MAX)
			t->completed += n;
		if (s->collector[i].entry > s->collector[i].exit)
			t->inside = true;
		if (s->collector[i].entry != old->collector[i].entry &&
		    s->collector[i].entry > entry)
			entry = s->collector[i].entry;
		if (s->collector[i].exit != old->collector[i].exit &&
		    s->collector[i].exit > exit)
			exit = s->collector[i].exit;
	}
	if (entry > 0)
		pause_learn(t->p, entry, t->seen);
	if (exit > 0)
		pause_learn(t->p, exit, t->seen);
	if (entry > 0)
		t->entry = pause_instant(t, entry);
	if (exit > 0)
		t->exit = pause_instant(t, exit);
}

/* The number of safepoints in which an unreported collection can have run: the
 * new ones, and the last known one if no collection was seen in it. */
static uint64_t
step_room(const struct step *t)
{
	return t->s->has_safepoints
		   ? t->s->safepoints - t->p->last.safepoints + t->p->spare
		   : UINT64_MAX;
}

/* Set spare: left safepoints have no collection yet, and the newest is one of
 * them, unless it is over: then its collection has been counted by now. */
static void
step_spare(struct step *t, uint64_t left)
{
	struct pause *p = t->p;
	uint64_t begun = t->s->safepoints - p->last.safepoints;
	bool over = t->s->safepoint_ticks != p->last.safepoint_ticks &&
		    begun + p->safepoint <= 1;

	p->spare = left > 0 && !over;
}

/* Find the collections of a collector that stops the world.  completed may
 * include the one in force, and counts two if a young collection turns into a
 * full one in the same safepoint.  So there are no more pulses than safepoints
 * in which they can have happened. */
static struct turn
step_gc(struct step *t)
{
	struct pause *p = t->p;
	const struct pause_sample *s = t->s;
	uint64_t room = step_room(t), done = t->completed;
	bool now = s->in_cause || t->inside;
	struct turn r = {false, 0, false};

	if (p->gc && !p->gc_counted && done > 0) {
		p->gc_counted = true;
		done--;
	}
	if (p->gc && now &&
	    (!s->has_safepoints || s->safepoints == p->gc_safepoint))
		return r;
	r.end = p->gc;
	r.begin = now;
	/* The collection in force takes one safepoint, and one count if a
	 * collector is inside it or if a count is left over. */
	if (now && room > 0)
		room--;
	if (t->inside && done > 0)
		done--;
	if (done > UINT32_MAX)
		done = UINT32_MAX;
	r.pulses = (unsigned)(done < room ? done : room);
	t->counted = t->inside || done > r.pulses;
	step_spare(t, room - r.pulses);
	return r;
}

/* Find the stalls of a concurrent collector.  The cause shows whether one is in
 * force; there are no pulses. */
static struct turn
step_stall(struct step *t)
{
	bool now =
	    t->s->in_cause && t->s->cause == TALECHAIN_CAUSE_ALLOCATION_STALL;

	return (struct turn){t->p->gc && !now, 0, !t->p->gc && now};
}

/* Find the safepoints.  gc_now: a collection that needs one is in force. */
static struct turn
step_safepoint(const struct step *t, bool gc_now)
{
	const struct pause *p = t->p;
	uint64_t begun = t->s->safepoints - p->last.safepoints;
	bool ended = t->s->safepoint_ticks != p->last.safepoint_ticks;
	struct turn r = {false, 0, false};

	if (!t->s->has_safepoints || begun > UINT32_MAX)
		return r;
	if (begun == 0) {
		r.end = p->safepoint && ended;
		return r;
	}
	r.end = p->safepoint;
	if (!ended)
		r.begin = true; /* the newest cannot be over yet */
	else
		r.begin = gc_now && (p->safepoint || begun > 1);
	r.pulses = (unsigned)(begun - r.begin);
	return r;
}

static struct pause_edge *
step_edge(struct step *t, bool gc, bool begin, struct instant at)
{
	struct pause_edge *e = &t->out->edge[t->out->count++];

	memset(e, 0, sizeof(*e));
	e->gc = gc;
	e->begin = begin;
	e->at = at;
	if (!gc) {
		e->count = t->s->safepoints;
		return e;
	}
	for (unsigned i = 0; i < t->s->collectors; i++)
		e->count += t->s->collector[i].count;
	return e;
}

static void
step_gc_begin(struct step *t)
{
	struct pause *p = t->p;
	struct instant at = t->inside ? t->entry : t->seen;
	struct pause_edge *e = step_edge(t, true, true, at);

	p->gc = true;
	p->gc_counted = t->counted;
	p->gc_safepoint = t->s->safepoints;
	p->gc_cause = t->s->in_cause ? t->s->cause : TALECHAIN_CAUSE_CONCURRENT;
	p->gc_since = at;
	e->cause = p->gc_cause;
}

static void
step_gc_end(struct step *t)
{
	struct pause *p = t->p;
	struct pause_edge *e = step_edge(t, true, false, t->exit);

	if (instant_before(e->at, p->gc_since))
		e->at = p->gc_since;
	p->gc = false;
	e->cause = p->gc_cause;
	e->latency_ns = instant_since(e->at, p->gc_since);
}

/* Report a whole collection.  The last of several ran between entry and exit;
 * of the others only the order is known. */
static void
step_gc_pulse(struct step *t, bool last)
{
	struct instant from = last ? t->entry : t->before;
	struct instant to = last ? t->exit : t->before;
	struct pause_edge *e;

	if (instant_before(to, from))
		from = to;
	e = step_edge(t, true, true, from);
	e->pulse = true;
	e->cause = t->s->last_cause;
	e = step_edge(t, true, false, to);
	e->pulse = true;
	e->cause = t->s->last_cause;
	e->latency_ns = instant_since(to, from);
	t->p->gc_cause = t->s->last_cause;
}

static void
step_safepoint_begin(struct step *t)
{
	struct pause *p = t->p;

	p->safepoint = true;
	p->gc_in_safepoint = false;
	p->safepoint_since = t->seen;
	step_edge(t, false, true, t->seen)->cause = TALECHAIN_CAUSE_UNKNOWN;
}

static void
step_safepoint_end(struct step *t)
{
	struct pause *p = t->p;
	struct pause_edge *e = step_edge(t, false, false, t->seen);

	p->safepoint = false;
	e->cause = p->gc_in_safepoint ? p->gc_cause : TALECHAIN_CAUSE_NOT_GC;
	e->latency_ns = instant_since(t->seen, p->safepoint_since);
}

/* The begin of the unseen safepoints, whose total time is known exactly. */
static struct instant
step_safepoint_from(const struct step *t)
{
	uint64_t ticks = t->s->safepoint_ticks - t->p->last.safepoint_ticks;
	struct instant from;
	int64_t ns;

	if (!pause_ticks_ns(t->p, ticks, &ns))
		return t->before;
	from = instant_plus(t->seen, -ns);
	return instant_before(from, t->before) || instant_before(t->seen, from)
		   ? t->before
		   : from;
}

/* Report whole pauses between two samples: safepoints, then collections. */
static void
step_pulses(struct step *t, unsigned safepoints, unsigned gcs)
{
	struct instant from = step_safepoint_from(t);
	struct pause_edge *e;
	unsigned n = safepoints > gcs ? safepoints : gcs;

	if (n > PAUSE_PULSES_MAX) {
		t->out->unreported += n - PAUSE_PULSES_MAX;
		n = PAUSE_PULSES_MAX;
	}
	for (unsigned i = 0; i < n; i++) {
		if (i < safepoints) {
			e = step_edge(t, false, true, from);
			e->pulse = true;
		}
		if (i < gcs)
			step_gc_pulse(t, i + 1 == gcs || i + 1 == n);
		if (i < safepoints) {
			e = step_edge(t, false, false, t->seen);
			e->pulse = true;
			e->cause =
			    i < gcs ? t->s->last_cause : TALECHAIN_CAUSE_NOT_GC;
			e->latency_ns = instant_since(t->seen, from);
		}
		from = t->seen; /* the first one gets the time of all */
	}
}

void
pause_step(struct pause *p, const struct pause_sample *s, struct instant before,
    struct instant seen, struct pause_edges *out)
{
	struct step t = {
	    .p = p, .s = s, .before = before, .seen = seen, .out = out};
	struct turn gc = {false, 0, false}, safepoint;

	out->count = out->unreported = 0;
	if (!p->known)
		p->last = *s;
	p->known = true;
	step_collectors(&t);
	if (collector_stops_world(p->kind))
		gc = step_gc(&t);
	else if (collector_concurrent(p->kind))
		gc = step_stall(&t);
	safepoint = step_safepoint(
	    &t, collector_stops_world(p->kind) && (s->in_cause || t.inside));

	if (gc.end)
		step_gc_end(&t);
	/* A collection within the safepoint that ends comes before that end. */
	if (gc.pulses > 0 && p->safepoint && !p->gc_in_safepoint) {
		step_gc_pulse(&t, gc.pulses == 1);
		p->gc_in_safepoint = true;
		gc.pulses--;
	}
	if (safepoint.end)
		step_safepoint_end(&t);
	step_pulses(&t, safepoint.pulses, gc.pulses);
	if (safepoint.begin)
		step_safepoint_begin(&t);
	if (gc.begin) {
		step_gc_begin(&t);
		p->gc_in_safepoint = p->safepoint;
	}
	p->last = *s;
}

void
pause_end(struct pause *p, struct instant seen, struct pause_edges *out)
{
	struct pause_sample s = p->last;
	struct step t = {.p = p,
	    .s = &s,
	    .before = seen,
	    .seen = seen,
	    .out = out,
	    .entry = seen,
	    .exit = seen};

	out->count = out->unreported = 0;
	if (p->gc)
		step_gc_end(&t);
	if (p->safepoint)
		step_safepoint_end(&t);
}
