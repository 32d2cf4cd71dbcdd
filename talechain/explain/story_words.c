/*
 * story_words.c: the answer in one or two sentences, and why we say so.
 *
 *	<share> of <total>: <who> <waited|ran> <where> for <what>.
 *
 * The cause with the largest share of the time is told, the next as well if
 * it has over a fifth.  Where too little of the time is explained, that is
 * what is told, and what is known beside it: nothing is guessed.  Numbers are
 * those of events.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

#define SECOND_PART 5 /* of the whole: worth a sentence */

void
words_say(const struct line *l, const char *format, ...)
{
	size_t n = strlen(l->at);
	va_list args;

	va_start(args, format);
	vsnprintf(l->at + n, l->size - n, format, args);
	va_end(args);
}

char *
words_thread(const struct telling *tl, uint32_t tid, char *out, size_t size)
{
	const struct talechain_event *v;
	char name[17] = "", safe[24];

	for (size_t i = tl->names; i > 0 && tid != 0; i--) {
		v = &tl->name[i - 1]->slot.event;
		if (v->arg[0] != tid)
			continue;
		memcpy(name, &v->arg[2], 8);
		memcpy(name + 8, &v->arg[3], 8);
		if (name[0] == '\0')
			break;
		text_safe(safe, sizeof(safe), name);
		snprintf(out, size, "%s[%" PRIu32 "]", safe, tid);
		return out;
	}
	if (tid == 0)
		snprintf(out, size, "the idle task");
	else
		snprintf(out, size, "thread %" PRIu32, tid);
	return out;
}

char *
words_server(const struct telling *tl, int attempt, char out[NAME_SIZE])
{
	return tale_server_name(
	    tl->t, tl->t->request.attempt[attempt].server, out, NAME_SIZE);
}

void
words_who(
    const struct telling *tl, const struct claim *c, char *out, size_t size)
{
	struct line l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt >= 0)
		words_say(&l, "%s", words_server(tl, c->attempt, name));
	else if (c->cause == TALE_CAUSE_CLIENT_SEND ||
		 c->cause == TALE_CAUSE_CLIENT_LATE)
		words_say(&l, "client");
	else if (c->cause != TALE_CAUSE_UNKNOWN)
		words_say(&l, "Tailor");
	if (c->tid != 0 && c->attempt >= 0)
		words_say(
		    &l, ": %s", words_thread(tl, c->tid, name, sizeof(name)));
	if (c->other != 0)
		words_say(&l, " behind %s",
		    words_thread(tl, c->other, name, sizeof(name)));
	if (out[0] == '\0' && c->note != NULL)
		words_say(&l, "%s", c->note);
}

/* "a's thread qtp-12", "Tailor". */
static char *
subject(const struct telling *tl, const struct claim *c, char *out, size_t size)
{
	struct line l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt < 0) {
		words_say(&l, "Tailor");
		return out;
	}
	words_say(&l, "%s", words_server(tl, c->attempt, name));
	if (c->tid == 0)
		return out;
	words_thread(tl, c->tid, name, sizeof(name));
	words_say(&l, "'s %s%s",
	    strncmp(name, "thread ", 7) == 0 ? "" : "thread ", name);
	return out;
}

/* " (allocation)" for a pause whose cause is known, else nothing. */
static const char *
pause_cause(const struct tale_pause *p, char out[32])
{
	out[0] = '\0';
	if (p->cause != TALECHAIN_CAUSE_UNKNOWN &&
	    strcmp(talechain_cause_name(p->cause), "unknown") != 0)
		snprintf(out, 32, " (%s)", talechain_cause_name(p->cause));
	return out;
}

const char *
words_softirq(uint64_t vector)
{
	static const char *const names[] = {"softirq HI", "softirq TIMER",
	    "softirq NET_TX", "softirq NET_RX", "softirq BLOCK",
	    "softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED",
	    "softirq HRTIMER", "softirq RCU"};

	return vector < sizeof(names) / sizeof(names[0]) ? names[vector]
							 : "a softirq";
}

/* What waits for a CPU, a lock, a page: threads. */
static void
say_thread(const struct telling *tl, const struct claim *c, struct line *l)
{
	char who[2 * NAME_SIZE], other[NAME_SIZE];

	subject(tl, c, who, sizeof(who));
	words_thread(tl, c->other, other, sizeof(other));
	words_say(l, "%s ", who);
	switch ((int)c->cause) {
	case TALE_CAUSE_RUNQ:
		words_say(l,
		    "was ready but waited for CPU %d, which last ran %s",
		    c->cpu, other);
		break;
	case TALE_CAUSE_PREEMPTED:
		words_say(l, "was pushed off CPU %d, which then ran %s", c->cpu,
		    other);
		break;
	case TALE_CAUSE_STOPPED:
		words_say(l, "was stopped by a signal or a debugger");
		break;
	case TALE_CAUSE_LOCK:
		if (c->other != 0)
			words_say(l, "waited until %s woke it", other);
		else
			words_say(l, "waited for a lock in the kernel");
		break;
	case TALE_CAUSE_SLEEP:
		words_say(l, "slept");
		if (c->note != NULL)
			words_say(l, " until %s woke it", c->note);
		else if (c->other != 0)
			words_say(l, " until %s woke it", other);
		break;
	case TALE_CAUSE_DISK:
		words_say(l, "waited for disk");
		break;
	case TALE_CAUSE_PAGE_FAULT:
		words_say(l, "waited for memory in page faults");
		break;
	case TALE_CAUSE_SOFTIRQ:
		words_say(l, "was held up by %s on CPU %d",
		    words_softirq(c->value), c->cpu);
		break;
	case TALE_CAUSE_IDLE_WAKEUP:
		words_say(l, "waited for CPU %d to leave idle", c->cpu);
		if (c->note != NULL)
			words_say(l, " state %" PRIu64, c->value);
		break;
	}
}

/* What TCP holds back: the request, or the answer. */
static void
say_tcp(const struct telling *tl, const struct claim *c, struct line *l)
{
	const char *what = c->note != NULL ? c->note : "the bytes";
	char name[NAME_SIZE] = "the client";

	if (c->attempt >= 0)
		words_server(tl, c->attempt, name);
	switch ((int)c->cause) {
	case TALE_CAUSE_DELAYED_ACK:
		words_say(
		    l, "%s waited in the TCP stack for a delayed ACK", what);
		break;
	case TALE_CAUSE_RETRANSMIT:
		words_say(l, "%s was lost and waited for retransmission", what);
		break;
	case TALE_CAUSE_WINDOW:
		words_say(l, "%s waited for the receiver to read", what);
		break;
	case TALE_CAUSE_CONGESTION:
		words_say(l, "%s waited for the congestion window", what);
		break;
	case TALE_CAUSE_CORK:
		words_say(l, "%s was held back by the sender's own cork", what);
		break;
	case TALE_CAUSE_HELD:
		words_say(l, "%s was held back in the TCP stack", what);
		break;
	}
	words_say(l, " (%s)", c->attempt >= 0 ? name : "client's connection");
}

static void
say_pause(const struct telling *tl, const struct claim *c, struct line *l)
{
	char name[NAME_SIZE], cause[32];

	words_say(l, "%s was ", words_server(tl, c->attempt, name));
	if (c->cause == TALE_CAUSE_EXIT)
		words_say(l, "not running");
	else
		words_say(l, "in a %s%s",
		    c->cause == TALE_CAUSE_GC ? "gc" : "safepoint",
		    pause_cause(c->pause, cause));
}

/* What the server did with the request: had it wait, computed, in vain. */
static void
say_server(const struct telling *tl, const struct claim *c, struct line *l)
{
	char who[2 * NAME_SIZE], other[NAME_SIZE];

	if (c->cause == TALE_CAUSE_WORK || c->cause == TALE_CAUSE_LOW_IPC ||
	    c->cause == TALE_CAUSE_SLOW_CLOCK)
		words_say(l, "%s computed", subject(tl, c, who, sizeof(who)));
	else
		words_server(tl, c->attempt, who);
	switch ((int)c->cause) {
	case TALE_CAUSE_LOW_IPC:
		words_say(l, " at IPC %.2f (usual %.2f)",
		    (double)tale_low(c->value) / 1000,
		    (double)tale_high(c->value) / 1000);
		break;
	case TALE_CAUSE_SLOW_CLOCK:
		words_say(l, " on CPU %d at %.2f of its nominal clock", c->cpu,
		    (double)tale_low(c->value) / 1000);
		break;
	case TALE_CAUSE_BACKEND_QUEUE:
		words_say(l, "it waited in %s", who);
		if (c->tid != 0)
			words_say(l, "'s socket; %s was busy with other work",
			    words_thread(tl, c->tid, other, sizeof(other)));
		else
			words_say(l, "'s queue");
		break;
	case TALE_CAUSE_CLASS_LOADING:
		words_say(l, "%s was loading and compiling classes", who);
		break;
	case TALE_CAUSE_SWITCHED:
		words_say(l, "%s had it, whose answer was not used", who);
		break;
	}
}

/* The sentence about a cause, without its share, from its longest piece. */
static void
say_cause(const struct telling *tl, const struct claim *c, struct line *l)
{
	switch (c->cause) {
	case TALE_CAUSE_UNKNOWN:
		words_say(l, "not explained");
		break;
	case TALE_CAUSE_CLIENT_SEND:
	case TALE_CAUSE_PROXY:
	case TALE_CAUSE_PROXY_QUEUE:
	case TALE_CAUSE_NETWORK:
		words_say(l, "%s",
		    c->note != NULL ? c->note : tale_cause_words(c->cause));
		break;
	case TALE_CAUSE_CLIENT_LATE:
		words_say(
		    l, "the answer had arrived; the client read it later");
		break;
	case TALE_CAUSE_ACCEPT_QUEUE:
		words_say(l, "the connection waited to be accepted");
		break;
	case TALE_CAUSE_BACKEND_QUEUE:
	case TALE_CAUSE_WORK:
	case TALE_CAUSE_LOW_IPC:
	case TALE_CAUSE_SLOW_CLOCK:
	case TALE_CAUSE_CLASS_LOADING:
	case TALE_CAUSE_SWITCHED:
		say_server(tl, c, l);
		break;
	case TALE_CAUSE_RUNQ:
	case TALE_CAUSE_PREEMPTED:
	case TALE_CAUSE_STOPPED:
	case TALE_CAUSE_LOCK:
	case TALE_CAUSE_SLEEP:
	case TALE_CAUSE_PAGE_FAULT:
	case TALE_CAUSE_DISK:
	case TALE_CAUSE_SOFTIRQ:
	case TALE_CAUSE_IDLE_WAKEUP:
		say_thread(tl, c, l);
		break;
	case TALE_CAUSE_GC:
	case TALE_CAUSE_SAFEPOINT:
	case TALE_CAUSE_EXIT:
		say_pause(tl, c, l);
		break;
	case TALE_CAUSE_DELAYED_ACK:
	case TALE_CAUSE_RETRANSMIT:
	case TALE_CAUSE_WINDOW:
	case TALE_CAUSE_CONGESTION:
	case TALE_CAUSE_CORK:
	case TALE_CAUSE_HELD:
		say_tcp(tl, c, l);
		break;
	case TALE_CAUSE_BLIND:
		words_say(l, "the observer was away");
		break;
	case TALE_CAUSE_LOST:
		words_say(l, "events of that time were lost");
		break;
	case TALE_CAUSE_COUNT:
		break;
	}
}

/* The largest cause but one, by its sum; COUNT: there is none. */
static enum tale_cause
largest(const struct story *s, enum tale_cause but)
{
	int i, best = TALE_CAUSE_COUNT;

	for (i = 0; i < TALE_CAUSE_COUNT; i++)
		if (i != (int)but && s->cause_ns[i] > 0 &&
		    (best == TALE_CAUSE_COUNT ||
			s->cause_ns[i] > s->cause_ns[best]))
			best = i;
	return (enum tale_cause)best;
}

/* "38.9 of 41.2 ms: " */
static void
say_share(const struct line *l, int64_t share_ns, int64_t total_ns)
{
	char share[32], total[32];

	text_ms(share, share_ns);
	*strrchr(share, ' ') = '\0';
	words_say(l, "%s of %s: ", share, text_ms(total, total_ns));
}

/* When an attempt's answer was there: complete, else begun, else never. */
static struct instant
answered(const struct tale_attempt *a)
{
	return instant_is_set(a->complete) ? a->complete : a->first_byte;
}

/* "a answered in 12.0 ms", of the attempt that counts. */
void
words_answered(const struct telling *tl, const struct line *l, int i)
{
	const struct tale_attempt *a = &tl->t->request.attempt[i];
	struct instant end = answered(a);
	char name[NAME_SIZE], ms[32];
	bool set = instant_is_set(end);

	words_server(tl, i, name);
	if (!set)
		end = tl->t->end;
	if (instant_before(end, a->written))
		return;
	words_say(l, set ? "%s answered in %s" : "%s has not answered for %s",
	    name, text_ms(ms, instant_since(end, a->written)));
}

/* What is not known, and why. */
static void
say_unknown(const struct telling *tl, const struct line *l)
{
	const struct story *s = tl->s;
	const struct claim *c;
	size_t i = 0;
	char b[32], e[32];

	c = tile_longest(tl, TALE_CAUSE_UNKNOWN, &i);
	if (c == NULL)
		return;
	if (c->attempt >= 0 && !tl->kernel) {
		words_say(l, "; ");
		words_answered(tl, l, c->attempt);
		words_say(l, ", but what it did in that time is not known "
			     "without kernel events");
	} else if (c->note != NULL) {
		words_say(l, "; it was %s", c->note);
	} else {
		words_say(l, "; no events between %s and %s",
		    text_ms(b, s->segment[i].begin_ns),
		    text_ms(e, s->segment[i].end_ns));
	}
}

/* One sentence with its share. */
static void
say_sentence(const struct telling *tl, struct line *l, enum tale_cause cause,
    int64_t share_ns)
{
	size_t i = 0;
	const struct claim *c = tile_longest(tl, cause, &i);

	if (c == NULL)
		return;
	if (l->at[0] != '\0')
		words_say(l, " ");
	say_share(l, share_ns, tl->s->total_ns);
	say_cause(tl, c, l);
	if (cause == TALE_CAUSE_UNKNOWN)
		say_unknown(tl, l);
	words_say(l, ".");
}

/* The pause of a kind on a server that began last before a moment. */
static const struct tale_pause *
pause_before(
    const struct tale *t, int server, const char *kind, struct instant moment)
{
	const struct tale_pause *p, *found = NULL;

	for (size_t i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		if (p->server == server && p->begin_seen &&
		    strcmp(hazard_kind_name(p->kind), kind) == 0 &&
		    !instant_before(moment, p->begin))
			found = p;
	}
	return found;
}

/* Why the second attempt was made. */
static void
say_trigger(
    const struct telling *tl, const struct tale_pause *p, const struct line *l)
{
	const struct tale_attempt *a = tl->t->request.attempt, *b = a + 1;
	char from[NAME_SIZE], trigger[NAME_SIZE], ms[32], cause[32];

	words_server(tl, 0, from);
	text_safe(trigger, sizeof(trigger), b->trigger);
	if (p != NULL) {
		words_say(l, "%s after %s ",
		    text_ms(ms, instant_since(b->written, p->begin)), from);
		if (p->kind == HAZARD_EXIT)
			words_say(l, "exited");
		else
			words_say(
			    l, "began a %s%s", trigger, pause_cause(p, cause));
		return;
	}
	words_say(l, "%s after it arrived, because ",
	    text_ms(ms, instant_since(b->written, tl->t->request.first_byte)));
	if (strcmp(b->trigger, "failure") == 0)
		words_say(l, "%s failed", from);
	else if (strcmp(b->trigger, "timer") == 0)
		words_say(l, "%s had not answered", from);
	else
		words_say(l, "of %s on %s", trigger, from);
}

/* "Re-sent to b ...; b answered in 1.90 ms, 4.97 ms before a's gc ended." */
static void
say_resent(const struct telling *tl, const struct line *l)
{
	const struct tale *t = tl->t;
	const struct tale_attempt *a = t->request.attempt, *b = a + 1;
	int w = strcmp(a->outcome, "won") == 0	 ? 0
		: strcmp(b->outcome, "won") == 0 ? 1
						 : -1;
	const struct tale_pause *p;
	char to[NAME_SIZE], from[NAME_SIZE], ms[32];

	words_server(tl, 0, from);
	words_server(tl, 1, to);
	if (!instant_is_set(b->written)) {
		words_say(l,
		    "It was to be sent again, to %s, but was not written "
		    "there.",
		    to);
		return;
	}
	p = pause_before(t, a->server, b->trigger, b->written);
	words_say(l, "Re-sent to %s ", to);
	say_trigger(tl, p, l);
	if (w < 0) {
		words_say(l, "; neither answer was used.");
		return;
	}
	words_say(l, "; ");
	words_answered(tl, l, w);
	if (w == 0)
		words_say(l, ", first all the same");
	else if (p != NULL && p->end_seen &&
		 instant_before(answered(b), p->end))
		words_say(l, ", %s before %s's %s ended",
		    text_ms(ms, instant_since(p->end, answered(b))), from,
		    hazard_kind_name(p->kind));
	words_say(l, ".");
}

void
words_write(struct telling *tl)
{
	const struct tale_request *r = &tl->t->request;
	struct story *s = tl->s;
	struct line l = {s->verdict.text, sizeof(s->verdict.text)};
	enum tale_cause first = largest(s, TALE_CAUSE_COUNT), second;

	if (first == TALE_CAUSE_COUNT) {
		words_say(&l, "It took no time.");
		return;
	}
	if (s->coverage < TELLING_COVERAGE_MIN &&
	    s->cause_ns[TALE_CAUSE_UNKNOWN] > 0)
		first = TALE_CAUSE_UNKNOWN;
	s->verdict.cause = first;
	s->verdict.share_ns = s->cause_ns[first];
	second = largest(s, first);
	say_sentence(tl, &l, first, s->cause_ns[first]);
	if (second != TALE_CAUSE_COUNT &&
	    s->cause_ns[second] > s->total_ns / SECOND_PART)
		say_sentence(tl, &l, second, s->cause_ns[second]);
	if (r->attempt[0].server < 0 && r->attempt[1].server < 0)
		words_say(&l, " It was sent to no server.");
	evidence_write(tl, first);
	if (r->attempt[1].server >= 0 && r->attempt[0].server >= 0) {
		words_say(&l, " ");
		say_resent(tl, &l);
	}
}
