/* pauses.c: from begin and end events to intervals.
 *
 * Several sources may report one pause (the JVM's agent and the observer's
 * own hazard record), any of their events may have been lost, and a pause may
 * begin before or end after what the tale covers.  So beginnings and ends are
 * counted per source, overlapping reports of one kind on one server become
 * one interval, and an end alone stands for its stated length.
 *
 * What a pause did to the request is decided in talechain/claims. */

#include "base/array.h"
#include "talechain/events/cause.h"
#include "talechain/tale/tale_struct.h"

/* The interval that is open for one server and kind. */
struct open_pause {
	struct tale_pause *pause; /* NULL: none; borrowed from the tale */
	unsigned sources;	  /* bits: those with a beginning and no end */
};

bool
tale_mark_of(const struct talechain_event *e, struct tale_mark *m)
{
	uint64_t cause = TALECHAIN_CAUSE_UNKNOWN;

	*m = (struct tale_mark){.source = SOURCE_JVM};
	switch (e->type) {
	case TALECHAIN_JVM_GC_BEGIN:
	case TALECHAIN_JVM_GC_END:
		m->kind = HAZARD_GC;
		m->begins = e->type == TALECHAIN_JVM_GC_BEGIN;
		m->pid = m->begins ? 0 : (uint32_t)e->arg[3];
		cause = e->arg[0];
		break;
	case TALECHAIN_JVM_SAFEPOINT_BEGIN:
	case TALECHAIN_JVM_SAFEPOINT_END:
		m->kind = HAZARD_SAFEPOINT;
		m->begins = e->type == TALECHAIN_JVM_SAFEPOINT_BEGIN;
		cause = e->arg[0];
		break;
	case TALECHAIN_SERVER_EXIT:
	case TALECHAIN_SERVER_START:
		m->kind = HAZARD_EXIT;
		m->begins = e->type == TALECHAIN_SERVER_EXIT;
		m->source = SOURCE_PROCESS;
		break;
	case TALECHAIN_PAUSE_BEGIN:
	case TALECHAIN_PAUSE_END:
		if (e->arg[1] >= HAZARD_KIND_COUNT)
			return false;
		m->kind = (enum hazard_kind)e->arg[1];
		m->begins = e->type == TALECHAIN_PAUSE_BEGIN;
		m->source = SOURCE_HAZARD;
		cause = e->arg[2];
		break;
	default:
		return false;
	}
	m->cause = cause <= UINT16_MAX ? (unsigned)cause : 0;
	if (!m->begins)
		m->latency_ns = tale_event_latency_ns(e);
	return true;
}

static struct tale_pause *
pause_push(struct tale *t, int server, const struct tale_mark *m)
{
	struct tale_pause *p = &t->pause[t->pauses++];

	p->server = server;
	p->kind = m->kind;
	p->cause = m->cause;
	return p;
}

static void
pause_begin(struct tale *t, struct open_pause *open, int server,
    const struct tale_mark *m, struct instant at)
{
	struct tale_pause *p = open->pause;

	/* A second beginning: the first one's end was lost, from this source or
	 * from all. */
	if (p != NULL &&
	    (p->end_seen || (open->sources & 1U << m->source) != 0)) {
		if (!p->end_seen)
			p->end = at;
		open->pause = p = NULL;
		open->sources = 0;
	}
	if (p == NULL) {
		p = pause_push(t, server, m);
		p->begin = p->end = at;
		p->begin_seen = true;
		open->pause = p;
	}
	open->sources |= 1U << m->source;
	if (p->cause == TALECHAIN_CAUSE_UNKNOWN)
		p->cause = m->cause;
}

/* The pause of this kind that was reported last, or NULL. */
static struct tale_pause *
pause_last(struct tale *t, int server, enum hazard_kind kind)
{
	for (size_t i = t->pauses; i > 0; i--)
		if (t->pause[i - 1].server == server &&
		    t->pause[i - 1].kind == kind)
			return &t->pause[i - 1];
	return NULL;
}

static void
pause_end(struct tale *t, struct open_pause *open, int server,
    const struct tale_mark *m, struct instant at)
{
	struct tale_pause *p = open->pause;
	struct instant begin = tale_earlier(at, m->latency_ns);

	/* A process that is found may have run before; where one had ended, a
	 * hazard ends, too. */
	if (p == NULL && m->source == SOURCE_PROCESS)
		return;
	if (p == NULL) {
		/* The tale lacks the beginning from this source; it may have
		 * the one from another source. */
		p = pause_last(t, server, m->kind);
		if (p == NULL || !p->end_seen || m->latency_ns == 0 ||
		    instant_before(p->end, begin)) {
			p = pause_push(t, server, m);
			p->begin_seen = m->latency_ns > 0;
			p->begin = p->begin_seen ? begin : t->t0;
		}
	}
	p->end = at;
	p->end_seen = true;
	if (p->cause == TALECHAIN_CAUSE_UNKNOWN)
		p->cause = m->cause;
	open->sources &= ~(1U << m->source);
	if (open->sources == 0)
		open->pause = NULL;
}

/* Add a pause of one process of a server, if that process had the request. */
static void
pause_of_process(
    struct tale *t, int server, const struct tale_mark *m, struct instant at)
{
	struct tale_pause *p;

	for (unsigned i = 0; i < t->threads; i++) {
		if (t->thread[i].pid != m->pid)
			continue;
		p = pause_push(t, server, m);
		p->begin = tale_earlier(at, m->latency_ns);
		p->end = at;
		p->begin_seen = p->end_seen = true;
		return;
	}
}

static int
pause_compare(const void *va, const void *vb)
{
	const struct tale_pause *a = va, *b = vb;

	return COMPARE(a->begin.ns, b->begin.ns) ?: COMPARE(a->kind, b->kind);
}

int
tale_pauses_find(struct tale *t)
{
	struct open_pause open[TALE_ATTEMPTS][HAZARD_KIND_COUNT] = {0};
	const struct tale_entry *e;
	struct open_pause *o;
	struct instant last = t->end;
	struct tale_mark m;
	int attempt, server;

	if (t->entries == 0)
		return 0;
	t->pause = calloc(t->entries, sizeof(*t->pause));
	if (t->pause == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		server = tale_event_server(&e->slot);
		attempt = tale_attempt_of(t, server);
		/* Some kinds explain nothing: UNRESPONSIVE gives no reason, and
		 * while a collector marks in steps (MARKING) the program
		 * runs. */
		if (attempt < 0 || !tale_mark_of(&e->slot.event, &m) ||
		    tale_cause_of_hazard(m.kind) == TALE_CAUSE_UNKNOWN)
			continue;
		o = &open[attempt][m.kind];
		if (m.pid != 0)
			pause_of_process(t, server, &m, e->at);
		else if (m.begins)
			pause_begin(t, o, server, &m, e->at);
		else
			pause_end(t, o, server, &m, e->at);
	}
	if (instant_before(last, t->entry[t->entries - 1].at))
		last = t->entry[t->entries - 1].at;
	for (size_t i = 0; i < (size_t)TALE_ATTEMPTS * HAZARD_KIND_COUNT; i++) {
		o = &open[i / HAZARD_KIND_COUNT][i % HAZARD_KIND_COUNT];
		if (o->pause != NULL && !o->pause->end_seen)
			o->pause->end = last;
	}
	if (t->pauses > 0)
		qsort(t->pause, t->pauses, sizeof(t->pause[0]), pause_compare);
	return 0;
}
