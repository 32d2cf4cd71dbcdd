/* verdict.c: the verdict in one or two sentences.
 *
 *	<share> of <total>: <thread> <waited|ran> <where> for <what>.
 *
 * The verdict names the cause with the largest share of the time, and the next
 * one if that has over a fifth.  If too little of the time is explained, the
 * verdict says so and what is known: nothing is guessed.  Numbers come from
 * events. */
#include <inttypes.h>

#include "talechain/events/events.h"
#include "talechain/words/say.h"

/* If less is known, the verdict is "not explained". */
#define COVERAGE_MIN 0.5
#define SECOND_PART 5 /* 1/5 of the whole is worth a sentence */

/* Append the other request that kept the thread of a claim busy, if known. */
static void
say_other(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	if (claim_request(c) == 0)
		return;
	phrase_add(l, "; the thread was busy");
	say_request(ex, c, l);
}

/* Append that a CPU quota was used up, and its size if that is known. */
static void
say_quota(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	const struct event_query q = {.cookie = COOKIE_ANY,
	    .type = TALECHAIN_QUOTA,
	    .tid = c->tid,
	    .from = NEVER,
	    .to = c->begin_ns};
	const struct tale_entry *e = query_last(ex->t, &q);

	if (c->cpu >= 0)
		phrase_add(l, "was kept off CPU %d", c->cpu);
	else
		phrase_add(l, "was kept off its CPUs");
	phrase_add(l, ": the CPU quota of its cgroup was used up");
	if (e != NULL)
		phrase_add(l, " (%g of each %g ms)",
		    text_ms_of((int64_t)e->slot.event.arg[2]),
		    text_ms_of((int64_t)e->slot.event.arg[1]));
}

/* Append why a thread had to free memory before it got some. */
static void
say_reclaim(const struct claim *c, const struct phrase *l)
{
	switch ((enum talechain_reclaim)c->value) {
	case TALECHAIN_RECLAIM_GROUP:
		phrase_add(
		    l, "freed memory because its cgroup was at its limit");
		return;
	case TALECHAIN_RECLAIM_DIRECT:
		phrase_add(
		    l, "freed memory because the machine had too little");
		return;
	case TALECHAIN_RECLAIM_COMPACTION:
		phrase_add(l, "compacted memory to get a larger block");
		return;
	}
	phrase_add(l, "freed memory");
}

/* Append how a thread was without its CPU, and which threads had it.
 *   how   before the CPU: "was preempted on"
 *   then  before these threads: "then ran" */
static void
say_no_cpu(const struct explainer *ex, const struct claim *c, const char *how,
    const char *then, struct phrase *l)
{
	phrase_add(l, "%s", how);
	say_cpu(ex, c, l);
	phrase_add(l, ", which %s", then);
	say_behind(ex, c, l);
}

static void
say_sleep(const struct explainer *ex, const struct claim *c, const char *other,
    struct phrase *l)
{
	phrase_add(l, "slept");
	say_call(ex, c, l);
	if (say_peer(ex, c, l))
		return;
	if (c->timer) {
		say_timer(ex, c, l);
	} else if (c->note != NULL) {
		phrase_add(l, " until %s woke it", c->note);
		say_part_of_kind(ex, c, l);
	} else if (c->other != 0) {
		phrase_add(l, " until %s woke it", other);
		say_part_of_other(ex, c, l);
	}
}

static void
say_thread(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char who[2 * NAME_SIZE], other[3 * NAME_SIZE];

	claim_subject(ex, c, who, sizeof(who));
	thread_owned(ex, c->other, other, sizeof(other));
	phrase_add(l, "%s ", who);
	switch ((int)c->cause) {
	case TALE_CAUSE_RUNQ:
		say_no_cpu(ex, c, "was ready but waited for", "ran", l);
		break;
	case TALE_CAUSE_PREEMPTED:
		say_no_cpu(ex, c, "was preempted on", "then ran", l);
		break;
	case TALE_CAUSE_BORROWED_LANE:
		say_no_cpu(ex, c, "waited for", "was lent to", l);
		break;
	case TALE_CAUSE_QUOTA:
		say_quota(ex, c, l);
		break;
	case TALE_CAUSE_STEAL:
		phrase_add(l, "was on");
		say_cpu(ex, c, l);
		phrase_add(l, ", but the host ran something else on it");
		break;
	case TALE_CAUSE_IRQ:
		phrase_add(l, "was on");
		say_cpu(ex, c, l);
		phrase_add(l, ", which handled interrupts or softirqs instead");
		break;
	case TALE_CAUSE_STOPPED:
		phrase_add(
		    l, "was stopped by a signal, a debugger or the freezer");
		break;
	case TALE_CAUSE_LOCK:
		say_lock(ex, c, l);
		break;
	case TALE_CAUSE_SLEEP:
		say_sleep(ex, c, other, l);
		break;
	case TALE_CAUSE_DISK:
		phrase_add(l, "waited for disk");
		say_call(ex, c, l);
		break;
	case TALE_CAUSE_PAGE_FAULT:
		phrase_add(l, "waited for memory in page faults");
		break;
	case TALE_CAUSE_RECLAIM:
		say_reclaim(c, l);
		break;
	case TALE_CAUSE_SOFTIRQ:
		phrase_add(
		    l, "was held up by %s", talechain_softirq_name(c->value));
		say_part_of_kind(ex, c, l);
		phrase_add(l, " on");
		say_cpu(ex, c, l);
		break;
	case TALE_CAUSE_IDLE_WAKEUP:
		phrase_add(l, "waited for");
		say_cpu(ex, c, l);
		phrase_add(l, " to leave idle");
		if (c->note != NULL)
			phrase_add(l, " state %" PRIu64, c->value);
		break;
	default:
		phrase_add(l, "met: %s", tale_cause_label(c->cause));
	}
	say_other(ex, c, l);
}

/* Append how TCP held back the request or the response. */
static void
say_tcp(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	static const char *const words[TALE_CAUSE_COUNT] = {
	    [TALE_CAUSE_DELAYED_ACK] =
		"waited in the TCP stack for a delayed ACK",
	    [TALE_CAUSE_RETRANSMIT] = "was lost and waited for retransmission",
	    [TALE_CAUSE_WINDOW] = "waited for the receiver to read",
	    [TALE_CAUSE_CONGESTION] = "waited for the congestion window",
	    [TALE_CAUSE_CORK] = "was held back by the sender's own cork",
	};
	const char *what = c->note != NULL ? c->note : "the bytes";
	const char *held = words[c->cause];
	char name[NAME_SIZE] = "client";

	if (c->attempt >= 0)
		attempt_name(ex, c->attempt, name);
	phrase_add(l, "%s %s", what,
	    held != NULL ? held : "was held back in the TCP stack");
	phrase_add(l, " (%s's connection)", name);
}

/* Say that HotSpot's VM thread ended a wait, without a reported pause. */
static void
say_vm(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char who[2 * NAME_SIZE], other[3 * NAME_SIZE];

	thread_owned(ex, c->other, other, sizeof(other));
	phrase_add(l,
	    "%s waited until %s woke it, as happens after a collection or "
	    "another safepoint",
	    claim_subject(ex, c, who, sizeof(who)), other);
}

static void
say_pause(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char name[NAME_SIZE], words[PAUSE_WORDS];

	if (c->pause == NULL)
		say_vm(ex, c, l);
	else
		phrase_add(l, "%s was %s", attempt_name(ex, c->attempt, name),
		    pause_words(c->pause, false, words));
}

/* Append that a compiler thread was in the way, or that many classes were
 * prepared meanwhile. */
static void
say_classes(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char who[2 * NAME_SIZE], other[3 * NAME_SIZE];

	claim_subject(ex, c, who, sizeof(who));
	thread_owned(ex, c->other, other, sizeof(other));
	if (c->other == 0)
		phrase_add(l, "%s was loading and compiling classes", who);
	else if (c->rank == RANK_CPU)
		phrase_add(l, "%s waited for CPU %d, on which %s ran", who,
		    c->cpu, other);
	else
		phrase_add(l, "%s waited until %s woke it", who, other);
	if (c->other != 0 && say_part_of_other(ex, c, l))
		say_others(ex, c, " and ", l);
}

/* Append that the server, or the thread that had to take the request, did other
 * things. */
static void
say_busy(const struct explainer *ex, const struct claim *c, const char *server,
    struct phrase *l)
{
	const char *among = subject_is_most(ex, c) ? "" : ", among others";
	char name[NAME_SIZE];

	if (c->tid == 0) {
		phrase_add(l, "the request waited in %s's queue", server);
		return;
	}
	thread_name(ex, c->tid, name, sizeof(name));
	if (c->rank == RANK_OTHER)
		phrase_add(l,
		    "the request waited for %s's %s%s, which was busy", server,
		    name, among);
	else
		phrase_add(l,
		    "the request waited in %s's socket; %s%s was busy", server,
		    name, among[0] != '\0' ? ", among others," : "");
	if (c->value != 0)
		say_request(ex, c, l);
	else
		phrase_add(l, " with other work");
}

/* Why the response of an attempt was not used. */
static const char *
unused_why(const struct explainer *ex, int attempt)
{
	const char *outcome = ex->t->request.attempt[attempt].outcome;

	if (strcmp(outcome, "unanswered") == 0)
		return "which closed the connection without a response";
	if (strcmp(outcome, "cut") == 0)
		return "whose response was cut off";
	if (!instant_is_set(ex->t->request.attempt[attempt].first_byte))
		return "which had not responded";
	return "whose response was discarded";
}

/* Explain what the server did with the request. */
static void
say_server(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char who[2 * NAME_SIZE];

	if (tale_causes[c->cause].nature == TALE_NATURE_WORK)
		phrase_add(l,
		    c->rank == RANK_APP
			? "%s reports that it worked on the request"
			: "%s computed",
		    claim_subject(ex, c, who, sizeof(who)));
	else
		attempt_name(ex, c->attempt, who);
	switch ((int)c->cause) {
	case TALE_CAUSE_WORK:
		if (c->note != NULL && c->rank != RANK_APP)
			phrase_add(l, ", %s", c->note);
		if (c->rank != RANK_APP)
			say_collector(ex, c, l);
		break;
	case TALE_CAUSE_LOW_IPC:
		phrase_add(l, " at IPC %.2f, not its usual %.2f",
		    (double)tale_low(c->value) / 1000,
		    (double)tale_high(c->value) / 1000);
		break;
	case TALE_CAUSE_SLOW_CLOCK:
		phrase_add(l, " on");
		say_cpu(ex, c, l);
		phrase_add(l, " at %.2f of its nominal clock",
		    (double)tale_low(c->value) / 1000);
		break;
	case TALE_CAUSE_BACKEND_QUEUE:
		say_busy(ex, c, who, l);
		break;
	case TALE_CAUSE_CLASS_LOADING:
		say_classes(ex, c, l);
		break;
	case TALE_CAUSE_SWITCHED:
		phrase_add(l, "the request was on %s, %s", who,
		    c->note != NULL ? c->note : unused_why(ex, c->attempt));
		break;
	default:
		phrase_add(l, "%s: %s",
		    tale_causes[c->cause].nature == TALE_NATURE_WORK ? "" : who,
		    tale_cause_label(c->cause));
	}
}

/* Say why the request waited in Tailor's queue, and how that ended. */
static void
say_queue(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	const struct tale_request *r = &ex->t->request;

	(void)c;
	phrase_add(l, "the request waited in Tailor's queue");
	if (strcmp(r->reason, "no_server") == 0)
		phrase_add(l, ": no server was ready");
	else if (strcmp(r->reason, "queue_timeout") == 0)
		phrase_add(l, ": no server had a free slot");
	else
		phrase_add(l, " for a server");
	if (ex->chain.winner < 0 && r->status != 0)
		phrase_add(l, "; Tailor then responded with %d", r->status);
}

/* Explain what is not known of a thread, and why. */
static void
say_not_observed(
    const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	char who[2 * NAME_SIZE];

	if (c->rank == RANK_UNSAMPLED) {
		phrase_add(l,
		    "not observed: kernel events are sampled above %llu/s, "
		    "and were not recorded then",
		    (unsigned long long)c->value);
		return;
	}
	if (c->rank == RANK_UNREAD) {
		phrase_add(l,
		    "not observed: Tailor's observer thread was late, and had "
		    "not read the events of that time");
		return;
	}
	phrase_add(l, "not observed: %s %s",
	    claim_subject(ex, c, who, sizeof(who)),
	    c->note != NULL ? c->note : "was not seen");
	if (c->rank == RANK_CONTRADICTION)
		phrase_add(l, ": events are missing");
}

/* When an attempt's response was complete, or else when it began. */
static struct instant
response_at(const struct tale_attempt *a)
{
	return instant_is_set(a->complete) ? a->complete : a->first_byte;
}

/* "server a responded in 12.0 ms". */
void
say_response(const struct explainer *ex, const struct phrase *l, int i)
{
	const struct tale_attempt *a = &ex->t->request.attempt[i];
	struct instant end = response_at(a);
	char name[NAME_SIZE], ms[32];
	bool set = instant_is_set(end);

	attempt_name(ex, i, name);
	if (!set)
		end = ex->t->end;
	if (instant_before(end, a->written))
		return;
	if (!set)
		phrase_add(l, "%s has not responded for %s", name,
		    text_ms(ms, instant_since(end, a->written)));
	else
		phrase_add(l,
		    strcmp(a->outcome, "unanswered") != 0
			? "%s responded in %s"
			: "%s ended the connection after %s, without a "
			  "response",
		    name, text_ms(ms, instant_since(end, a->written)));
}

/* Explain what is not known, and why. */
static void
say_unknown(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	const struct story_segment *g = &ex->s->segment[c - ex->segment_claim];
	char b[32], e[32];

	phrase_add(l, "%s", tale_cause_label(c->cause));
	if (c->attempt >= 0 && !ex->chain.kernel) {
		phrase_add(l, "; ");
		say_response(ex, l, c->attempt);
		phrase_add(l, ", but what it did in that time is not known%s",
		    ex->t->stale ? ": events were overwritten"
				 : " without kernel events");
	} else if (c->note != NULL) {
		phrase_add(l, "; the request was %s", c->note);
	} else {
		phrase_add(l, "; no events between %s and %s",
		    text_ms(b, g->begin_ns), text_ms(e, g->end_ns));
	}
}

/* Append what a claim of RANK_SUM says, and that it is known by sums. */
static void
say_sums(
    const struct explainer *ex, const struct claim *c, const struct phrase *l)
{
	static const char *const did[TALE_CAUSE_COUNT] = {
	    [TALE_CAUSE_WORK] = "computed",
	    [TALE_CAUSE_PAGE_FAULT] = "was in page faults",
	    [TALE_CAUSE_IRQ] = "was on a CPU that handled interrupts instead",
	    [TALE_CAUSE_STEAL] =
		"was on a CPU, but the host ran something else",
	    [TALE_CAUSE_RUNQ] = "was ready but waited for a CPU",
	    [TALE_CAUSE_PREEMPTED] = "was preempted",
	    [TALE_CAUSE_LOCK] =
		"waited in futex until other threads of its process woke it",
	    [TALE_CAUSE_DISK] = "waited for disk",
	    [TALE_CAUSE_SLEEP] = "slept",
	};
	char who[2 * NAME_SIZE];

	if (c->cause == TALE_CAUSE_PROXY) {
		phrase_add(l, "%s", c->note);
		return;
	}
	if (c->cause == TALE_CAUSE_BACKEND_QUEUE) {
		phrase_add(l, "%s had not yet received the request",
		    attempt_name(ex, c->attempt, who));
		return;
	}
	phrase_add(l, "%s %s, known only as a total",
	    claim_subject(ex, c, who, sizeof(who)),
	    did[c->cause] != NULL ? did[c->cause] : "did this");
}

/* Append the claim's note, which is a whole sentence, or the cause's label. */
static void
say_client_network(
    const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	uint32_t n = ex->t->request.resent;

	if (c->begin_ns < ex->chain.first_byte) {
		n = ex->t->request.synacks;
		phrase_add(l,
		    "the client was connecting, and the kernel sent %u "
		    "SYN-ACK%s again",
		    n, n == 1 ? "" : "s");
		return;
	}
	phrase_add(l,
	    "the client had not yet acknowledged the response, of which the "
	    "kernel sent %u segment%s again",
	    n, n == 1 ? "" : "s");
}

static void
say_note(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	(void)ex;
	phrase_add(
	    l, "%s", c->note != NULL ? c->note : tale_cause_label(c->cause));
}

/* Append the sentence about a cause, without its share, by its longest
 * piece. */
static void
say_cause(const struct explainer *ex, const struct claim *c, struct phrase *l)
{
	static void (*const say[])(const struct explainer *ex,
	    const struct claim *c, struct phrase *l) = {
#define TALE_X(symbol, code, label, kind, bar, blame, needs, say, ...) \
	[TALE_CAUSE_##symbol] = say_##say,
	    TALE_CAUSES(TALE_X)
#undef TALE_X
	};

	if (c->rank == RANK_SUM)
		say_sums(ex, c, l);
	else
		say[c->cause](ex, c, l);
}

/* "38.9 of 41.2 ms: " */
static void
say_share(const struct phrase *l, int64_t share_ns, int64_t total_ns)
{
	char share[32], total[32];

	text_ms(share, share_ns);
	*strrchr(share, ' ') = '\0';
	phrase_add(l, "%s of %s: ", share, text_ms(total, total_ns));
}

/* Append the sentence about a cause, with its share of the time. */
static void
say_sentence(const struct explainer *ex, struct phrase *l,
    enum tale_cause cause, int64_t share_ns)
{
	size_t i = 0;
	const struct claim *c = tile_longest(ex, cause, &i);

	if (c == NULL)
		return;
	if (l->at[0] != '\0')
		phrase_add(l, " ");
	say_share(l, share_ns, ex->s->total_ns);
	say_cause(ex, c, l);
	phrase_add(
	    l, tile_confidence(ex, cause) == STORY_LIKELY ? " (likely)." : ".");
	say_sender(ex, c, l);
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

/* Append why the second attempt was made. */
static void
say_trigger(const struct explainer *ex, const struct tale_pause *p,
    const struct phrase *l)
{
	const struct tale_attempt *a = ex->t->request.attempt, *b = a + 1;
	char from[NAME_SIZE], trigger[NAME_SIZE], ms[32], words[PAUSE_WORDS];

	attempt_name(ex, 0, from);
	text_safe(trigger, sizeof(trigger), b->trigger);
	if (p != NULL) {
		phrase_add(l, "%s after %s %s",
		    text_ms(ms, instant_since(b->written, p->begin)), from,
		    pause_words(p, true, words));
		return;
	}
	phrase_add(l, "%s after it arrived, because ",
	    text_ms(ms, instant_since(b->written, ex->t->request.first_byte)));
	if (strcmp(b->trigger, "failure") == 0)
		phrase_add(l, "%s failed", from);
	else if (strcmp(b->trigger, "timer") == 0)
		phrase_add(l, "%s had not responded", from);
	else
		phrase_add(l, "%s paused (%s)", from, trigger);
}

/* "Re-sent to server b ...; server b responded in 1.90 ms, 4.97 ms before
 * server a's pause ended." */
static void
say_resent(const struct explainer *ex, const struct phrase *l)
{
	const struct tale *t = ex->t;
	const struct tale_attempt *a = t->request.attempt, *b = a + 1;
	int w = strcmp(a->outcome, "won") == 0	 ? 0
		: strcmp(b->outcome, "won") == 0 ? 1
						 : -1;
	const struct tale_pause *p;
	char to[NAME_SIZE], from[NAME_SIZE], ms[32];

	attempt_name(ex, 0, from);
	attempt_name(ex, 1, to);
	if (!instant_is_set(b->written)) {
		phrase_add(l,
		    "Tailor was to re-send the request to %s, but did not "
		    "write it there.",
		    to);
		return;
	}
	p = pause_before(t, a->server, b->trigger, b->written);
	phrase_add(l, "Tailor re-sent the request to %s ", to);
	say_trigger(ex, p, l);
	if (w < 0) {
		phrase_add(l, "; neither response was used.");
		return;
	}
	phrase_add(l, "; ");
	say_response(ex, l, w);
	if (w == 0)
		phrase_add(l, " and was still the first");
	else if (p != NULL && p->end_seen &&
		 instant_before(response_at(b), p->end))
		phrase_add(l, ", %s before %s's pause ended",
		    text_ms(ms, instant_since(p->end, response_at(b))), from);
	phrase_add(l, ".");
}

/* Of "unknown" and "not observed" the one with more time; cause if neither has
 * any. */
static enum tale_cause
cause_dark(const struct story *s, enum tale_cause cause)
{
	int64_t unknown_ns = s->cause_ns[TALE_CAUSE_UNKNOWN];
	int64_t dark_ns = s->cause_ns[TALE_CAUSE_NOT_OBSERVED];

	if (unknown_ns == 0 && dark_ns == 0)
		return cause;
	return unknown_ns >= dark_ns ? TALE_CAUSE_UNKNOWN
				     : TALE_CAUSE_NOT_OBSERVED;
}

/* Write advice: first about the end of a request that failed. */
static void
advice_write(const struct explainer *ex, bool way, struct story_verdict *v)
{
	const char *const *advice = tale_causes[v->cause].advice;
	const char *ending[ENDING_ADVICE];
	unsigned n = ending_advice(ex, ending);

	for (unsigned i = 0; i < n; i++)
		snprintf(v->advice[i], sizeof(v->advice[i]), "%s", ending[i]);
	for (int i = 0; way && i < TALE_ADVICE && advice[i] != NULL; i++)
		snprintf(v->advice[n++], sizeof(v->advice[0]), "%s", advice[i]);
}

/* Write the sentences about the largest parts of the time.
 *   failed  an end that is explained comes first: what is not known of the
 *           time is left out */
static void
parts_write(struct explainer *ex, struct phrase *l, bool failed)
{
	struct story *s = ex->s;
	bool done[TALE_CAUSE_COUNT] = {false};
	enum tale_cause first = s->verdict.cause, second;

	done[first] = true;
	if (!failed || tale_causes[first].nature != TALE_NATURE_BLIND)
		say_sentence(ex, l, first, s->cause_ns[first]);
	second = story_cause_largest(s, done);
	if (second != TALE_CAUSE_COUNT &&
	    (!failed || tale_causes[second].nature != TALE_NATURE_BLIND) &&
	    s->cause_ns[second] > s->total_ns / SECOND_PART)
		say_sentence(ex, l, second, s->cause_ns[second]);
}

static void
verdict_write(struct explainer *ex)
{
	const struct tale_request *r = &ex->t->request;
	struct story *s = ex->s;
	struct phrase l = {s->verdict.text, sizeof(s->verdict.text)};
	const bool none[TALE_CAUSE_COUNT] = {false};
	enum tale_cause first = story_cause_largest(s, none);
	bool failed = say_ending(ex, &l);
	bool way = ending_has_way(ex->t);

	if (first == TALE_CAUSE_COUNT && !failed)
		phrase_add(&l, "It took no time.");
	if (first == TALE_CAUSE_COUNT)
		return;
	if (s->known < COVERAGE_MIN &&
	    tale_causes[first].nature != TALE_NATURE_BLIND)
		first = cause_dark(s, first);
	s->verdict.cause = first;
	s->verdict.share_ns = s->cause_ns[first];
	s->verdict.confidence =
	    failed ? STORY_OBSERVED : tile_confidence(ex, first);
	way &= !failed || tale_causes[first].nature != TALE_NATURE_BLIND;
	if (way || !failed)
		parts_write(ex, &l, failed);
	if (!failed && r->attempt[0].server < 0 && r->attempt[1].server < 0)
		phrase_add(&l, " The request was sent to no server.");
	if (way || !failed)
		evidence_write(ex, first);
	advice_write(ex, way, &s->verdict);
	if (!failed && r->attempt[1].server >= 0 && r->attempt[0].server >= 0) {
		phrase_add(&l, " ");
		say_resent(ex, &l);
	}
}

void
words_write(struct explainer *ex)
{
	struct story *s = ex->s;

	for (size_t i = 0; i < s->segments; i++)
		claim_who(ex, &ex->segment_claim[i], s->segment[i].who,
		    sizeof(s->segment[i].who));
	verdict_write(ex);
}

const char *
story_confidence_name(enum story_confidence confidence)
{
	static const char *const names[] = {
	    [STORY_OBSERVED] = "observed",
	    [STORY_LIKELY] = "likely",
	    [STORY_NOT_OBSERVED] = "not_observed",
	};

	return names[confidence];
}

const char *
story_confidence_words(enum story_confidence confidence)
{
	static const char *const words[] = {
	    [STORY_OBSERVED] = "high (its start and end were observed)",
	    [STORY_LIKELY] = "medium (part of it is inferred)",
	    [STORY_NOT_OBSERVED] = "none (no event covers it)",
	};

	return words[confidence];
}
