/*
 * verdict.c: the one sentence of what is known about a request.
 *
 * Says only what the request's own instants and the pauses found around it
 * prove: that it was sent again and why, that its server was stopped for so
 * long, that it waited in the server's queue.  Where nothing of that is known
 * it says so.  Chains of causes through the kernel are not its business.
 */
#include "talechain/tale.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "talechain/text.h"

#define NAME_SIZE 40
#define QUEUED_PART 5 /* of the request: worth a sentence */

char *
tale_server_name(const struct tale *t, int server, char *out, size_t size)
{
	int i = tale_attempt_of(t, server);

	if (i >= 0 && t->request.attempt[i].server_name[0] != '\0')
		return text_safe(out, size, t->request.attempt[i].server_name);
	snprintf(out, size, "server %d", server);
	return out;
}

enum tale_lane
tale_lane_of(const struct tale *t, const struct tale_entry *e)
{
	int attempt = tale_attempt_of(t, tale_event_server(&e->slot));

	switch (e->slot.event.type >> 12) {
	case 0x0:
		return TALE_LANE_KERNEL;
	case 0x1:
		return TALE_LANE_PROXY;
	case 0x2:
	case 0x4:
		if (attempt < 0)
			return TALE_LANE_OTHER;
		return attempt == 0 ? TALE_LANE_SERVER_A : TALE_LANE_SERVER_B;
	case 0x3:
		if (attempt < 0)
			return TALE_LANE_OTHER;
		return attempt == 0 ? TALE_LANE_JVM_A : TALE_LANE_JVM_B;
	case 0xf:
		return TALE_LANE_OBSERVER;
	}
	return TALE_LANE_OTHER;
}

void
tale_lane_name(
    const struct tale *t, enum tale_lane lane, char *out, size_t size)
{
	const struct tale_attempt *a = t->request.attempt;
	static const char *const fixed[TALE_LANE_COUNT] = {
	    [TALE_LANE_CLIENT] = "client",
	    [TALE_LANE_PROXY] = "proxy",
	    [TALE_LANE_KERNEL] = "kernel",
	    [TALE_LANE_OBSERVER] = "observer",
	    [TALE_LANE_OTHER] = "application",
	};
	char name[NAME_SIZE];
	bool jvm = lane == TALE_LANE_JVM_A || lane == TALE_LANE_JVM_B;
	bool second = lane == TALE_LANE_SERVER_B || lane == TALE_LANE_JVM_B;

	if (fixed[lane] != NULL) {
		snprintf(out, size, "%s", fixed[lane]);
		return;
	}
	tale_server_name(
	    t, a[second].server, name, jvm ? size - strlen(" jvm") : size);
	snprintf(out, size, "%s%s", name, jvm ? " jvm" : "");
}

static void __attribute__((format(printf, 2, 3)))
say(struct tale_verdict *v, const char *format, ...)
{
	size_t n = strlen(v->text);
	va_list args;

	va_start(args, format);
	vsnprintf(v->text + n, sizeof(v->text) - n, format, args);
	va_end(args);
}

/* When an attempt's answer was there: complete, else begun, else never. */
static struct instant
attempt_answered(const struct tale_attempt *a)
{
	return instant_is_set(a->complete) ? a->complete : a->first_byte;
}

static bool
attempt_won(const struct tale_attempt *a)
{
	return a->server >= 0 && strcmp(a->outcome, "won") == 0;
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

/*
 * The pause of a server that matters for [from, to]: a collection before any
 * other stop (it implies one), then the one that covers most of it.
 */
static const struct tale_pause *
pause_main(const struct tale *t, int server, struct instant from,
    struct instant to, int64_t *share_ns)
{
	const struct tale_pause *p, *best = NULL;
	int64_t covered_ns, best_ns = 0;
	size_t i;

	for (i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		covered_ns = tale_overlap_ns(p->begin, p->end, from, to);
		if (p->server != server || covered_ns == 0)
			continue;
		if (best == NULL || p->kind < best->kind ||
		    (p->kind == best->kind && covered_ns > best_ns)) {
			best = p;
			best_ns = covered_ns;
		}
	}
	*share_ns = best_ns;
	return best;
}

/* The pause of a kind on a server that began last before a moment. */
static const struct tale_pause *
pause_before(
    const struct tale *t, int server, const char *kind, struct instant moment)
{
	const struct tale_pause *p, *found = NULL;
	size_t i;

	for (i = 0; i < t->pauses; i++) {
		p = &t->pause[i];
		if (p->server == server && p->begin_seen &&
		    strcmp(hazard_kind_name(p->kind), kind) == 0 &&
		    !instant_before(moment, p->begin))
			found = p;
	}
	return found;
}

/* How the race of two attempts ended. */
static void
say_winner(const struct tale *t, struct tale_verdict *v)
{
	const struct tale_attempt *a = &t->request.attempt[0], *b = a + 1;
	const struct tale_attempt *w = attempt_won(b) ? b : a;
	char name[NAME_SIZE], ms[32];

	if (!attempt_won(w)) {
		say(v, "; neither answer was used.");
		return;
	}
	say(v, "; %s", tale_server_name(t, w->server, name, sizeof(name)));
	if (w == a)
		say(v, " answered first all the same");
	else
		say(v, " answered");
	if (instant_is_set(w->written) &&
	    !instant_before(attempt_answered(w), w->written))
		say(v, " in %s",
		    text_ms(
			ms, instant_since(attempt_answered(w), w->written)));
	say(v, ".");
}

/* Why and when the second attempt was made. */
static void
say_resent(const struct tale *t, struct tale_verdict *v)
{
	const struct tale_attempt *a = &t->request.attempt[0], *b = a + 1;
	const struct tale_pause *p;
	char from[NAME_SIZE], to[NAME_SIZE], trigger[NAME_SIZE], ms[32];
	char cause[32];

	v->code = "switched";
	tale_server_name(t, a->server, from, sizeof(from));
	tale_server_name(t, b->server, to, sizeof(to));
	text_safe(trigger, sizeof(trigger), b->trigger);
	if (!instant_is_set(b->written)) {
		say(v,
		    "Was to be sent again, to %s, because of %s on %s, "
		    "but was not written there",
		    to, trigger, from);
		return;
	}
	p = pause_before(t, a->server, b->trigger, b->written);
	if (p != NULL) {
		say(v, "Re-sent to %s %s after %s ", to,
		    text_ms(ms, instant_since(b->written, p->begin)), from);
		if (p->kind == HAZARD_EXIT)
			say(v, "exited");
		else
			say(v, "began a %s%s", trigger, pause_cause(p, cause));
		return;
	}
	say(v, "Re-sent to %s %s after it arrived, because ", to,
	    text_ms(ms, instant_since(b->written, t->request.first_byte)));
	if (strcmp(b->trigger, "failure") == 0)
		say(v, "%s failed", from);
	else if (strcmp(b->trigger, "timer") == 0)
		say(v, "%s had not answered", from);
	else
		say(v, "of %s on %s", trigger, from);
}

/* The instants at which a server's application says it had the request. */
static struct instant
app_instant(const struct tale *t, int server, enum talechain_type type)
{
	const struct tale_entry *e;
	size_t i;

	for (i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		if (e->slot.event.type == type && e->slot.server == server &&
		    !e->doubtful)
			return e->at;
	}
	return INSTANT_NONE;
}

/* Queue and service time in the server, if it tells and it makes sense. */
static void
say_application(
    const struct tale *t, const struct tale_attempt *a, struct tale_verdict *v)
{
	struct instant in = app_instant(t, a->server, TALECHAIN_APP_RECEIVE);
	struct instant start = app_instant(t, a->server, TALECHAIN_APP_START);
	struct instant out = app_instant(t, a->server, TALECHAIN_APP_FINISH);
	int64_t queued_ns, worked_ns, share_ns;
	char queued[32], worked[32];

	if (!instant_is_set(in) || instant_before(start, in) ||
	    instant_before(out, start))
		return;
	queued_ns = instant_since(start, in);
	worked_ns = instant_since(out, start);
	share_ns = queued_ns > worked_ns ? queued_ns : worked_ns;
	if (share_ns > v->share_ns) {
		v->code = queued_ns > worked_ns ? "backend_queue" : "work";
		v->share_ns = share_ns;
	}
	say(v, " It waited %s in the server and was worked on for %s.",
	    text_ms(queued, queued_ns), text_ms(worked, worked_ns));
}

/* It was held back by us, because no server could take it. */
static void
say_queued(
    const struct tale *t, const struct tale_attempt *a, struct tale_verdict *v)
{
	const struct tale_request *r = &t->request;
	int64_t waited_ns = instant_since(a->written, r->received);
	char ms[32];

	if (waited_ns < NS_PER_MS ||
	    waited_ns < instant_since(r->finished, r->first_byte) / QUEUED_PART)
		return;
	v->code = "proxy_queue";
	v->share_ns = waited_ns;
	say(v, "It had waited %s in Tailor for a server with room. ",
	    text_ms(ms, waited_ns));
}

/* A request with one attempt. */
static void
say_single(
    const struct tale *t, const struct tale_attempt *a, struct tale_verdict *v)
{
	struct instant answered = attempt_answered(a), to = answered;
	const struct tale_pause *p;
	char name[NAME_SIZE], took[32], share[32], cause[32];
	int64_t paused_ns;

	tale_server_name(t, a->server, name, sizeof(name));
	if (!instant_is_set(a->written)) {
		say(v, "Was meant for %s but never written to it.", name);
		return;
	}
	if (!instant_is_set(to))
		to = t->end;
	say_queued(t, a, v);
	text_ms(took, instant_since(to, a->written));
	say(v,
	    instant_is_set(answered) ? "%s answered in %s"
				     : "%s has not answered for %s",
	    name, took);
	p = pause_main(t, a->server, a->written, to, &paused_ns);
	if (p != NULL && paused_ns > v->share_ns) {
		v->share_ns = paused_ns;
		v->code = p->kind == HAZARD_EXIT ? "exit" : "jvm_pause";
	}
	if (p != NULL) {
		say(v, "; for %s of that it %s%s.", text_ms(share, paused_ns),
		    p->kind == HAZARD_EXIT ? "was not running"
		    : p->kind == HAZARD_GC ? "was in a gc"
					   : "was in a safepoint",
		    pause_cause(p, cause));
		return;
	}
	say(v, "; no pause of it was seen meanwhile.");
	say_application(t, a, v);
}

void
tale_verdict(const struct tale *t, struct tale_verdict *v)
{
	const struct tale_request *r = &t->request;

	*v = (struct tale_verdict){.code = "unknown"};
	if (r->attempt[0].server < 0) {
		say(v, "Was sent to no server.");
	} else if (r->attempt[1].server < 0) {
		say_single(t, &r->attempt[0], v);
	} else {
		say_resent(t, v);
		say_winner(t, v);
	}
}
