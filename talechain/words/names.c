/* names.c: how servers and threads are called in sentences.
 *
 * A thread of a server's process is that server's, whatever it did: "a's
 * compiler thread C2 CompilerThre[12]". */
#include "talechain/words/say.h"

#include <inttypes.h>

#include "talechain/events/events.h"

/* The name of an attempt's server alone: "a"; returns out. */
static char *
label(const struct explainer *ex, int attempt, char *out, size_t size)
{
	return tale_server_name(
	    ex->t, ex->t->request.attempt[attempt].server, out, size);
}

void
thread_owner(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	uint32_t pid = tid != 0 ? thread_pid(ex, tid) : 0;
	int attempt = tid != 0 ? thread_attempt(ex, tid) : -1;

	out[0] = '\0';
	if (attempt >= 0)
		label(ex, attempt, out, size);
	else if (pid != 0 && pid == thread_pid(ex, ex->chain.proxy_tid))
		snprintf(out, size, "Tailor");
	else if (pid != 0)
		thread_name(ex, pid, out, size);
}

char *
thread_owned(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	int attempt = thread_attempt(ex, tid);
	char name[NAME_SIZE], server[NAME_SIZE];
	const char *role = thread_is(ex, tid, ROLE_COMPILER) ? "compiler thread"
			   : thread_is(ex, tid, ROLE_COLLECTOR)
			       ? "collector thread"
			       : "thread";

	thread_name(ex, tid, name, sizeof(name));
	if (tid == 0 || attempt < 0)
		snprintf(out, size, "%s", name);
	else if (strncmp(name, "thread ", 7) == 0)
		snprintf(out, size, "%s's %s",
		    attempt_name(ex, attempt, server), name);
	else
		snprintf(out, size, "%s's %s %s",
		    attempt_name(ex, attempt, server), role, name);
	return out;
}

char *
server_name(const struct explainer *ex, int server, char out[NAME_SIZE])
{
	char name[NAME_SIZE - sizeof("server ")];

	tale_server_name(ex->t, server, name, sizeof(name));
	snprintf(out, NAME_SIZE, "%s%s",
	    strncmp(name, "server ", 7) == 0 ? "" : "server ", name);
	return out;
}

char *
attempt_name(const struct explainer *ex, int attempt, char out[NAME_SIZE])
{
	return server_name(ex, ex->t->request.attempt[attempt].server, out);
}

/* Words for a kind of pause: the server was ..., the server ... */
static const struct {
	const char *was, *began;
} pauses[HAZARD_KIND_COUNT] = {
    [HAZARD_GC] = {"collecting garbage", "began to collect garbage"},
    [HAZARD_SAFEPOINT] = {"at a safepoint", "began a safepoint"},
    [HAZARD_EXIT] = {"not running", "exited"},
    [HAZARD_UNRESPONSIVE] = {"unresponsive", "became unresponsive"},
    [HAZARD_QUOTA] = {"out of CPU quota", "used up its CPU quota"},
    [HAZARD_STOPPED] = {"stopped", "was stopped"},
    [HAZARD_MARKING] = {"marking its heap", "began to mark its heap"},
};

char *
pause_words(const struct tale_pause *p, bool begins, char out[PAUSE_WORDS])
{
	const char *words =
	    begins ? pauses[p->kind].began : pauses[p->kind].was;
	const char *cause = "";
	char inner[40];

	if (p->cause == TALECHAIN_CAUSE_V8)
		cause = " (V8)";
	else if (p->cause == TALECHAIN_CAUSE_CPYTHON)
		cause = " (CPython)";
	else if (p->cause == TALECHAIN_CAUSE_EXPLICIT)
		cause = " (explicit, as by System.gc())";
	else if (p->cause == TALECHAIN_CAUSE_ORDERED)
		cause = " (ordered by Tailor)";
	else if (p->cause != TALECHAIN_CAUSE_UNKNOWN &&
		 p->cause != TALECHAIN_CAUSE_OTHER &&
		 p->cause != TALECHAIN_CAUSE_NOT_GC) {
		snprintf(inner, sizeof(inner), " (%s)",
		    talechain_cause_name(p->cause));
		for (char *c = inner; *c != '\0'; c++)
			if (*c == '_')
				*c = ' ';
		cause = inner;
	}
	snprintf(out, PAUSE_WORDS, "%s%s", words, cause);
	return out;
}

void
claim_who(
    const struct explainer *ex, const struct claim *c, char *out, size_t size)
{
	struct phrase l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt >= 0)
		phrase_add(&l, "%s", label(ex, c->attempt, name, sizeof(name)));
	else if (c->cause == TALE_CAUSE_CLIENT_SEND ||
		 c->cause == TALE_CAUSE_CLIENT_LATE ||
		 c->cause == TALE_CAUSE_CLIENT_NETWORK)
		phrase_add(&l, "client");
	else if (c->cause != TALE_CAUSE_UNKNOWN)
		phrase_add(&l, "Tailor");
	if (c->tid != 0 && c->attempt >= 0)
		phrase_add(
		    &l, ": %s", thread_name(ex, c->tid, name, sizeof(name)));
	if (c->call != 0)
		phrase_add(
		    &l, " in %s", talechain_call_name(c->call - 1, name));
	if (c->other != 0)
		phrase_add(&l, " behind %s",
		    thread_name(ex, c->other, name, sizeof(name)));
	if (out[0] == '\0' && c->note != NULL)
		phrase_add(&l, "%s", c->note);
}

char *
claim_subject(
    const struct explainer *ex, const struct claim *c, char *out, size_t size)
{
	struct phrase l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt < 0)
		phrase_add(&l, "Tailor");
	else
		phrase_add(&l, "%s", attempt_name(ex, c->attempt, name));
	if (c->tid == 0 && c->pid != 0 && c->cause == TALE_CAUSE_STOPPED)
		phrase_add(&l, "'s process %" PRIu32, c->pid);
	if (c->tid != 0 && c->attempt >= 0) {
		thread_name(ex, c->tid, name, sizeof(name));
		phrase_add(&l, "'s %s%s",
		    strncmp(name, "thread ", 7) == 0 ? "" : "thread ", name);
	}
	if (!subject_is_most(ex, c))
		phrase_add(&l, ", among others,");
	return out;
}
