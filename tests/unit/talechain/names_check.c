/*
 * names_check.c: see names_check.h.
 *
 * What a thread had is counted from the events of switches where the sentence
 * says which thread ran, else from the pieces of the path.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/names_check.h"

#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "talechain/tale/tale_struct.h"

#define HEAD "[0-9.]+ of [0-9.]+ ms: "
#define NAME \
	"(\\[|thread )([0-9]+)(\\]| |,|;|\\.|$)( ?\\(([0-9.]+) ms of it\\))?"

/* How a thread has to do with the time that its sentence gives it. */
enum role {
	ROLE_SUBJECT, /* waited or computed */
	ROLE_RAN,     /* had the CPU */
	ROLE_BEHIND,  /* was waited for */
	ROLE_LINKED,  /* in a chain of waits, of over half each (root.c) */
	ROLE_SENDER,  /* of another process: it ended the wait */
	ROLE_WAKER,   /* ended a sleep of that one */
};

/* A sentence: its text, up to the next one's, and its cause. */
struct sentence {
	const char *scenario;
	const struct story *s;
	char text[STORY_TEXT];
	enum tale_cause cause;
	unsigned cpu; /* the first that the text names */
};

/* --- what a thread had ---------------------------------------------------- */

/* True if a piece's "A: x[5] in futex behind y[6]" has the thread, after
 * behind or before. */
static bool
who_has(const struct story_segment *g, uint32_t tid, bool behind)
{
	const char *other = strstr(g->who, " behind "), *at;
	char part[sizeof(g->who)], number[2][24];

	snprintf(part, sizeof(part), "%s",
	    behind ? (other != NULL ? other : "") : g->who);
	if (!behind && other != NULL)
		part[other - g->who] = '\0';
	snprintf(number[0], sizeof(number[0]), "[%u]", tid);
	snprintf(number[1], sizeof(number[1]), "thread %u", tid);
	if (strstr(part, number[0]) != NULL)
		return true;
	at = strstr(part, number[1]);
	return at != NULL && !isdigit((unsigned char)at[strlen(number[1])]);
}

/* How long the pieces of a sentence's cause have a thread. */
static int64_t
pieces_ns(const struct sentence *x, uint32_t tid, bool behind)
{
	int64_t ns = 0;

	for (size_t i = 0; i < x->s->segments; i++)
		if (x->s->segment[i].cause == x->cause &&
		    who_has(&x->s->segment[i], tid, behind))
			ns += segment_ns(&x->s->segment[i]);
	return ns;
}

/* How much of [begin, end] is in pieces of a sentence's cause. */
static int64_t
within_ns(const struct sentence *x, int64_t begin, int64_t end)
{
	const struct story_segment *g;
	int64_t ns = 0, from, to;

	for (size_t i = 0; i < x->s->segments; i++) {
		g = &x->s->segment[i];
		from = g->begin_ns > begin ? g->begin_ns : begin;
		to = g->end_ns < end ? g->end_ns : end;
		if (g->cause == x->cause && to > from)
			ns += to - from;
	}
	return ns;
}

/* When the pieces of a sentence's cause began that follow each other until a
 * moment; the moment itself: there are none. */
static int64_t
wait_begin(const struct sentence *x, int64_t at)
{
	const struct story_segment *g = x->s->segment;

	for (size_t i = x->s->segments; i > 0; i--)
		if (g[i - 1].begin_ns < at && g[i - 1].end_ns >= at &&
		    g[i - 1].cause == x->cause)
			at = g[i - 1].begin_ns;
	return at;
}

/* How long a thread had the sentence's CPU within its time, by the events:
 * where one thread came during a wait and another left next, neither had it. */
static int64_t
ran_ns(const struct sentence *x, uint32_t tid)
{
	const struct tale *t = x->s->tale;
	const struct talechain_event *v;
	struct {
		bool known;
		uint32_t tid;
		int64_t since;
	} c = {false};
	int64_t ns = 0, at, begin;

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (v->type != TALECHAIN_SCHEDULE || v->cpu != x->cpu)
			continue;
		at = moment_at(t, t->entry[i].at);
		begin = wait_begin(x, at);
		if (v->tid == tid && (!c.known || c.since < begin))
			ns += within_ns(x, begin, at);
		else if (v->tid == tid && c.tid == tid)
			ns += within_ns(x, c.since, at);
		c.known = true;
		c.tid = (uint32_t)v->arg[0];
		c.since = at;
	}
	if (c.known && c.tid == tid)
		ns += within_ns(x, c.since, x->s->total_ns);
	return ns;
}

/* How long a thread had any CPU within the time of a sentence's cause. */
static int64_t
computed_ns(const struct sentence *x, uint32_t tid)
{
	const struct tale *t = x->s->tale;
	const struct talechain_event *v;
	int64_t ns = 0, at, since = NEVER;

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (v->type != TALECHAIN_SCHEDULE)
			continue;
		at = moment_at(t, t->entry[i].at);
		if (v->tid == tid && since != NEVER)
			ns += within_ns(x, since, at);
		if (v->tid == tid)
			since = NEVER;
		else if ((uint32_t)v->arg[0] == tid)
			since = at;
	}
	return since == NEVER ? ns : ns + within_ns(x, since, x->s->total_ns);
}

/* Fail unless a thread of another process ended a wait, and computed for as
 * long as the words behind its name say. */
static void
sender_check(const struct sentence *x, uint32_t tid, const char *words)
{
	const struct talechain_event *v;
	const struct tale *t = x->s->tale;
	const char *at = strstr(words, "computed for ");
	int64_t had_ns = computed_ns(x, tid);
	char had[32];
	double given_ns;
	bool ended = false;

	for (size_t i = 0; i < t->entries && !ended; i++) {
		v = &t->entry[i].slot.event;
		ended =
		    v->type == TALECHAIN_PEER && v->tid == tid && v->pid != 0;
	}
	if (!ended)
		fail_msg("%s: thread %u ended no wait: %s", x->scenario, tid,
		    x->text);
	if (at == NULL)
		return;
	given_ns = strtod(at + strlen("computed for "), NULL) * NS_PER_MS;
	/* Its events may end a little before the wait. */
	if (given_ns > 1.005 * (double)had_ns ||
	    given_ns < 0.99 * (double)had_ns)
		fail_msg("%s: thread %u computed for %s: %s", x->scenario, tid,
		    text_ms(had, had_ns), x->text);
}

/* True if a thread woke another. */
static bool
has_woken(const struct sentence *x, uint32_t tid)
{
	const struct tale *t = x->s->tale;

	for (size_t i = 0; i < t->entries; i++)
		if (t->entry[i].slot.event.type == TALECHAIN_WAKEUP &&
		    t->entry[i].slot.event.tid == tid)
			return true;
	return false;
}

/* --- names ---------------------------------------------------------------- */

/* The role of a name, by the last of these words in front of it. */
static enum role
role_of(const struct sentence *x, const char *before, size_t n, bool first)
{
	static const struct {
		const char *words;
		enum role role;
	} roles[] = {
	    {"ran ", ROLE_RAN},
	    {"lent to ", ROLE_RAN},
	    {", on which ", ROLE_RAN},
	    {" first and ", ROLE_RAN},
	    {"held by ", ROLE_BEHIND},
	    {"until ", ROLE_BEHIND},
	    {"once ", ROLE_LINKED},
	    {"which waited for ", ROLE_LINKED},
	    {"more threads for ", ROLE_LINKED},
	    {"; ", ROLE_SUBJECT},
	};
	const char *last = NULL, *at;
	enum role role = ROLE_SUBJECT;
	char text[STORY_TEXT];

	snprintf(text, sizeof(text), "%.*s", (int)n, before);
	at = strstr(x->text, " Meanwhile ");
	if (at != NULL && before + n > at)
		return before <= at ? ROLE_SENDER : ROLE_WAKER;
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++)
		for (at = text; (at = strstr(at, roles[i].words)) != NULL; at++)
			if (last == NULL || at > last) {
				last = at;
				role = roles[i].role;
			}
	if (last == NULL && !first)
		fail_msg(
		    "%s: no rule for a name after \"%s\"", x->scenario, text);
	return role;
}

static void
name_check(
    const struct sentence *x, enum role role, uint32_t tid, int64_t given_ns)
{
	int64_t had_ns = role == ROLE_RAN
			     ? ran_ns(x, tid)
			     : pieces_ns(x, tid, role == ROLE_BEHIND);
	char had[32], given[32];

	if (role == ROLE_WAKER && !has_woken(x, tid))
		fail_msg(
		    "%s: thread %u woke none: %s", x->scenario, tid, x->text);
	if (role >= ROLE_LINKED || had_ns > given_ns / 2)
		return;
	fail_msg("%s: thread %u had %s of the %s that it is given: %s",
	    x->scenario, tid, text_ms(had, had_ns), text_ms(given, given_ns),
	    x->text);
}

static void
sentence_check(const struct sentence *x)
{
	const char *at = x->text;
	regmatch_t m[6];
	regex_t name;
	enum role role;
	int64_t given_ns;
	uint32_t tid;

	if (strstr(x->text, "among others") != NULL)
		return;
	assert_int_equal(regcomp(&name, NAME, REG_EXTENDED), 0);
	while (regexec(&name, at, 6, m, 0) == 0) {
		role = role_of(x, at, (size_t)m[0].rm_so, at == x->text);
		given_ns = x->s->cause_ns[x->cause];
		if (m[5].rm_so >= 0)
			given_ns = (int64_t)(strtod(at + m[5].rm_so, NULL) *
					     (double)NS_PER_MS);
		tid = (uint32_t)strtoul(at + m[2].rm_so, NULL, 10);
		name_check(x, role, tid, given_ns);
		if (role == ROLE_SENDER)
			sender_check(x, tid, at + m[2].rm_eo);
		at += m[4].rm_so >= 0 ? m[4].rm_eo : m[2].rm_eo;
	}
	regfree(&name);
}

/* The cause of a sentence that gives a share, as "8.00"; fails if no cause has
 * that much. */
static enum tale_cause
cause_of(const struct story *s, const char *head, bool done[TALE_CAUSE_COUNT])
{
	size_t n = strcspn(head, " ");
	char ms[32];

	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++) {
		unsigned c = (s->verdict.cause + i) % TALE_CAUSE_COUNT;

		text_ms(ms, s->cause_ns[c]);
		if (done[c] || s->cause_ns[c] == 0 ||
		    strncmp(ms, head, n) != 0 || ms[n] != ' ')
			continue;
		done[c] = true;
		return (enum tale_cause)c;
	}
	fail_msg("no cause has %s", head);
	return TALE_CAUSE_UNKNOWN;
}

void
names_check(const char *name, const struct story *s)
{
	bool done[TALE_CAUSE_COUNT] = {false};
	struct sentence x = {.scenario = name, .s = s};
	const char *at = s->verdict.text, *end;
	regmatch_t m, next;
	regex_t head;

	assert_int_equal(regcomp(&head, HEAD, REG_EXTENDED), 0);
	while (regexec(&head, at, 1, &m, 0) == 0) {
		x.cause = cause_of(s, at + m.rm_so, done);
		at += m.rm_eo;
		end = regexec(&head, at, 1, &next, 0) == 0 ? at + next.rm_so
							   : at + strlen(at);
		snprintf(x.text, sizeof(x.text), "%.*s", (int)(end - at), at);
		end = strstr(x.text, "CPU ");
		x.cpu = end != NULL ? (unsigned)atoi(end + 4) : 0;
		sentence_check(&x);
	}
	regfree(&head);
}
