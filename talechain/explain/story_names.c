/*
 * story_names.c: how servers and threads are called in sentences.
 *
 * A thread has the name of its last THREAD event.  One that is of a server's
 * process is that server's, whatever it did: "a's compiler C2 CompilerThre[12]".
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

char *
thread_name(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	const struct talechain_event *v;
	char name[17] = "", safe[24];

	for (size_t i = ex->names; i > 0 && tid != 0; i--) {
		v = &ex->name[i - 1]->slot.event;
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

/* The process of a thread that some event names, or 0. */
static uint32_t
thread_pid(const struct explainer *ex, uint32_t tid)
{
	const struct tale_thread *thread = tale_thread_find(ex->t, tid);

	if (thread != NULL)
		return thread->pid;
	for (size_t i = ex->names; i > 0; i--)
		if (ex->name[i - 1]->slot.event.arg[0] == tid)
			return (uint32_t)ex->name[i - 1]->slot.event.arg[1];
	return 0;
}

int
thread_attempt(const struct explainer *ex, uint32_t tid)
{
	uint32_t pid = thread_pid(ex, tid);

	for (int i = 0; i < TALE_ATTEMPTS && pid != 0; i++) {
		if (ex->t->request.attempt[i].server_pid == pid)
			return i;
		for (unsigned k = 0; k < ex->t->threads; k++)
			if (ex->t->thread[k].pid == pid &&
			    ex->t->thread[k].attempt == i)
				return i;
	}
	return -1;
}

bool
thread_is_compiler(const struct explainer *ex, uint32_t tid)
{
	char name[NAME_SIZE];

	if (tid == 0)
		return false;
	thread_name(ex, tid, name, sizeof(name));
	return strncmp(name, "C1 Compiler", 11) == 0 ||
	       strncmp(name, "C2 Compiler", 11) == 0;
}

/* "compiler", "collector", by the names that HotSpot gives them, "thread". */
static const char *
thread_role(const struct explainer *ex, uint32_t tid)
{
	static const char *const collectors[] = {
	    "GC Thread", "G1 ", "ParGC", "ZWorker", "Shenandoah"};
	char name[NAME_SIZE];

	if (thread_is_compiler(ex, tid))
		return "compiler";
	thread_name(ex, tid, name, sizeof(name));
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++)
		if (strncmp(name, collectors[i], strlen(collectors[i])) == 0)
			return "collector";
	return "thread";
}

char *
thread_owned(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	int attempt = thread_attempt(ex, tid);
	char name[NAME_SIZE], server[NAME_SIZE];
	const char *role = thread_role(ex, tid);

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
attempt_name(const struct explainer *ex, int attempt, char out[NAME_SIZE])
{
	return tale_server_name(
	    ex->t, ex->t->request.attempt[attempt].server, out, NAME_SIZE);
}

void
claim_who(
    const struct explainer *ex, const struct claim *c, char *out, size_t size)
{
	struct line l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt >= 0)
		line_add(&l, "%s", attempt_name(ex, c->attempt, name));
	else if (c->cause == TALE_CAUSE_CLIENT_SEND ||
		 c->cause == TALE_CAUSE_CLIENT_LATE)
		line_add(&l, "client");
	else if (c->cause != TALE_CAUSE_UNKNOWN)
		line_add(&l, "Tailor");
	if (c->tid != 0 && c->attempt >= 0)
		line_add(
		    &l, ": %s", thread_name(ex, c->tid, name, sizeof(name)));
	if (c->call != 0)
		line_add(&l, " in %s", talechain_call_name(c->call - 1, name));
	if (c->other != 0)
		line_add(&l, " behind %s",
		    thread_name(ex, c->other, name, sizeof(name)));
	if (out[0] == '\0' && c->note != NULL)
		line_add(&l, "%s", c->note);
}

char *
claim_subject(
    const struct explainer *ex, const struct claim *c, char *out, size_t size)
{
	struct line l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt < 0) {
		line_add(&l, "Tailor");
		return out;
	}
	line_add(&l, "%s", attempt_name(ex, c->attempt, name));
	if (c->tid == 0 && c->cause == TALE_CAUSE_STOPPED)
		line_add(&l, "'s process %" PRIu32, c->pid);
	if (c->tid == 0)
		return out;
	thread_name(ex, c->tid, name, sizeof(name));
	line_add(&l, "'s %s%s",
	    strncmp(name, "thread ", 7) == 0 ? "" : "thread ", name);
	return out;
}
