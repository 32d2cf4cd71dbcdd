/*
 * story_threads.c: what the threads that took part did, as the scheduler's
 * events tell it.
 *
 * A thread's SCHEDULE events make its life a row of spells: it runs, leaves
 * the CPU for a reason, is woken, waits for a CPU, runs.  What lies before
 * its first event follows from that event (who is switched out was running);
 * what lies after its last goes on as it was.  Losses of events are not seen
 * here; claims about them win over those made from spells.
 */
#include <stdlib.h>
#include <string.h>

#include "talechain/explain/explainer.h"

/* Where one thread is while its events are gone through. */
struct track {
	uint32_t tid, pid;
	enum { TRACK_UNKNOWN, TRACK_ON, TRACK_OFF } state;
	int64_t since;
	enum talechain_off off;
	uint32_t by; /* who came when it was pushed off */
	int cpu;
	const struct tale_entry *wakeup; /* the last of it, or NULL */
};

static void
spell_add(struct telling *tl, const struct spell *like)
{
	if (like->begin_ns >= like->end_ns)
		return;
	tl->spell = telling_grow(&tl->failed, tl->spell, tl->spells,
	    &tl->spell_room, sizeof(*tl->spell));
	if (!tl->failed)
		tl->spell[tl->spells++] = *like;
}

static int
event_cpu(const struct talechain_event *e)
{
	return e->cpu <= INT16_MAX ? (int)e->cpu : -1;
}

static enum spell_state
state_of(enum talechain_off off)
{
	switch (off) {
	case TALECHAIN_OFF_PREEMPTED:
		return SPELL_PREEMPTED;
	case TALECHAIN_OFF_BLOCKED:
		return SPELL_BLOCKED;
	case TALECHAIN_OFF_DISK:
		return SPELL_DISK;
	case TALECHAIN_OFF_STOPPED:
		return SPELL_STOPPED;
	case TALECHAIN_OFF_SLEEPING:
	case TALECHAIN_OFF_DEAD:
		break;
	}
	return SPELL_SLEEP;
}

/* The thread leaves its CPU. */
static void
track_leaves(struct telling *tl, struct track *k, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	struct spell run = {
	    .tid = k->tid,
	    .state = SPELL_RUN,
	    .begin_ns = k->since,
	    .end_ns = telling_at(tl, e->at),
	    .cpu = event_cpu(v),
	    .woken_ns = NEVER,
	};

	if (k->state != TRACK_OFF)
		spell_add(tl, &run);
	k->state = TRACK_OFF;
	k->since = run.end_ns;
	k->off = (enum talechain_off)(v->arg[3] >> 56);
	k->by = tale_low(v->arg[0]);
	k->cpu = run.cpu;
}

/* Who made it runnable, into its spell of not being so. */
static void
spell_waker(const struct telling *tl, const struct track *k,
    const struct talechain_event *v, struct spell *p)
{
	const struct talechain_event *w;

	p->other = tale_low(v->arg[1]);
	p->other_pid = tale_high(v->arg[1]);
	p->woken_ns = v->arg[2] != 0
			  ? telling_at(tl, (struct instant){v->arg[2]})
			  : NEVER;
	if (k->wakeup == NULL || telling_at(tl, k->wakeup->at) < k->since)
		return;
	w = &k->wakeup->slot.event;
	p->woken_ns = telling_at(tl, k->wakeup->at);
	p->context = tale_high(w->arg[2]);
	p->vector = tale_low(w->arg[2]);
	p->other = p->context == TALECHAIN_CONTEXT_TASK ? w->tid : 0;
	p->other_pid = p->context == TALECHAIN_CONTEXT_TASK ? w->pid : 0;
}

/* Somebody who ran where a thread was pushed off. */
struct runner {
	uint32_t tid;
	int64_t ns;
};

#define RUNNERS 8

static void
runner_add(struct runner ran[RUNNERS], uint32_t tid, int64_t ns)
{
	for (size_t n = 0; n < RUNNERS; n++)
		if (ran[n].tid == tid || ran[n].ns == 0) {
			ran[n].tid = tid;
			ran[n].ns += ns;
			return;
		}
}

/*
 * Who had the CPU most while a thread was pushed off.  Switches between two
 * strangers are not told: where one came and another left, each is given half
 * of the time between.
 */
static uint32_t
ran_most(const struct telling *tl, const struct track *k, int64_t to)
{
	struct runner ran[RUNNERS] = {{0}}, *best = ran;
	const struct talechain_event *v;
	uint32_t came = k->by;
	int64_t since = k->since, at;

	for (size_t i = telling_entry(tl, k->since); i < tl->t->entries; i++) {
		v = &tl->t->entry[i].slot.event;
		at = telling_at(tl, tl->t->entry[i].at);
		if (at > to)
			break;
		if (v->type != TALECHAIN_SCHEDULE || event_cpu(v) != k->cpu ||
		    at <= since)
			continue;
		runner_add(ran, v->tid, (at - since + 1) / 2);
		runner_add(ran, came, (at - since + 1) / 2);
		came = tale_low(v->arg[0]);
		since = at;
	}
	for (size_t n = 1; n < RUNNERS; n++)
		if (ran[n].ns > best->ns)
			best = &ran[n];
	return best->tid != 0 && best->tid != k->tid ? best->tid : k->by;
}

/* The thread gets a CPU: what it did since it left the last one. */
static void
track_enters(struct telling *tl, struct track *k, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	int64_t at = telling_at(tl, e->at);
	int64_t wait_ns = (int64_t)(v->arg[3] & UINT64_C(0xffffffffffff));
	struct spell off = {
	    .tid = k->tid,
	    .state = state_of(k->off),
	    .begin_ns = k->since,
	    .end_ns = at - wait_ns,
	    .cpu = k->cpu,
	    .woken_ns = NEVER,
	};
	struct spell ready = off;

	if (k->state != TRACK_ON) {
		if (k->state == TRACK_UNKNOWN)
			off.state = SPELL_SLEEP;
		spell_waker(tl, k, v, &off);
		if (off.woken_ns != NEVER && off.woken_ns < off.end_ns)
			off.end_ns = off.woken_ns;
		if (off.end_ns < off.begin_ns)
			off.end_ns = off.begin_ns;
		ready.state = SPELL_READY;
		ready.begin_ns = off.end_ns;
		ready.end_ns = at;
		ready.cpu = event_cpu(v);
		ready.other = v->tid;
		if (off.state == SPELL_PREEMPTED) {
			off.end_ns = at;
			off.other = ran_most(tl, k, at);
			spell_add(tl, &off);
		} else {
			spell_add(tl, &off);
			spell_add(tl, &ready);
		}
	}
	k->state = TRACK_ON;
	k->since = at;
	k->cpu = event_cpu(v);
	k->wakeup = NULL;
}

/* The rest of its life, which had no more events. */
static void
track_ends(struct telling *tl, const struct track *k, bool watched)
{
	struct spell rest = {
	    .tid = k->tid,
	    .state = k->state == TRACK_OFF ? state_of(k->off) : SPELL_RUN,
	    .begin_ns = k->since,
	    .end_ns = tl->s->total_ns,
	    .cpu = k->cpu,
	    .other = k->state == TRACK_OFF && k->off == TALECHAIN_OFF_PREEMPTED
			 ? k->by
			 : 0,
	    .woken_ns = NEVER,
	};

	/* Without any event it did not leave its CPU, if we would know. */
	if (k->state != TRACK_UNKNOWN || watched)
		spell_add(tl, &rest);
}

static void
thread_spells(struct telling *tl, const struct tale_thread *thread)
{
	const struct tale *t = tl->t;
	const struct talechain_event *v;
	struct track k = {.tid = thread->tid, .pid = thread->pid, .cpu = -1};
	bool watched = false, acted = false;

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (t->entry[i].doubtful)
			continue;
		acted |= v->tid == k.tid && v->type >= TALECHAIN_SOCK_SEND;
		if (v->type == TALECHAIN_WAKEUP && v->arg[0] == k.tid)
			k.wakeup = &t->entry[i];
		if (v->type != TALECHAIN_SCHEDULE)
			continue;
		watched |= v->pid == k.pid || tale_high(v->arg[0]) == k.pid;
		if (v->tid == k.tid)
			track_leaves(tl, &k, &t->entry[i]);
		else if (tale_low(v->arg[0]) == k.tid)
			track_enters(tl, &k, &t->entry[i]);
	}
	track_ends(tl, &k, watched && acted);
}

static int
spell_compare(const void *va, const void *vb)
{
	const struct spell *a = va, *b = vb;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

/* What words_thread() and claim_faults() want to know of the events. */
static void
events_note(struct telling *tl)
{
	const struct tale *t = tl->t;
	int64_t latency_ns;

	for (size_t i = 0; i < t->entries; i++) {
		latency_ns = tale_event_latency_ns(&t->entry[i].slot.event);
		if (latency_ns > tl->longest_ns)
			tl->longest_ns = latency_ns;
		if (t->entry[i].slot.event.type != TALECHAIN_THREAD)
			continue;
		tl->name = telling_grow(&tl->failed, tl->name, tl->names,
		    &tl->name_room, sizeof(struct tale_entry *));
		if (!tl->failed)
			tl->name[tl->names++] = &t->entry[i];
	}
}

void
threads_find(struct telling *tl)
{
	events_note(tl);
	if (!tl->kernel)
		return;
	for (unsigned i = 0; i < tl->t->threads; i++)
		thread_spells(tl, &tl->t->thread[i]);
	if (tl->spells > 0)
		qsort(tl->spell, tl->spells, sizeof(*tl->spell), spell_compare);
}

const struct spell *
threads_of(const struct telling *tl, uint32_t tid, size_t *count)
{
	size_t low = 0, high = tl->spells, first;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (tl->spell[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	first = low;
	while (low < tl->spells && tl->spell[low].tid == tid)
		low++;
	*count = low - first;
	return low > first ? &tl->spell[first] : NULL;
}
