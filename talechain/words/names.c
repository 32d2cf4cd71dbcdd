/* names.c: how servers and threads are called in sentences.
 *
 * A thread of a server's process is that server's, whatever it did: "a's
 * compiler C2 CompilerThre[12]". */
#include "talechain/words/say.h"

#include <inttypes.h>

#include "talechain/events/events.h"

void
thread_owner(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	uint32_t pid = tid != 0 ? thread_pid(ex, tid) : 0;
	int attempt = tid != 0 ? thread_attempt(ex, tid) : -1;
	char name[NAME_SIZE];

	out[0] = '\0';
	if (attempt >= 0)
		snprintf(out, size, "%s", attempt_name(ex, attempt, name));
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
	const char *role = thread_is(ex, tid, ROLE_COMPILER)	? "compiler"
			   : thread_is(ex, tid, ROLE_COLLECTOR) ? "collector"
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
attempt_name(const struct explainer *ex, int attempt, char out[NAME_SIZE])
{
	return tale_server_name(
	    ex->t, ex->t->request.attempt[attempt].server, out, NAME_SIZE);
}

void
claim_who(
    const struct explainer *ex, const struct claim *c, char *out, size_t size)
{
	struct phrase l = {out, size};
	char name[NAME_SIZE];

	out[0] = '\0';
	if (c->attempt >= 0)
		phrase_add(&l, "%s", attempt_name(ex, c->attempt, name));
	else if (c->cause == TALE_CAUSE_CLIENT_SEND ||
		 c->cause == TALE_CAUSE_CLIENT_LATE)
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
	if (c->attempt < 0) {
		phrase_add(&l, "Tailor");
		return out;
	}
	phrase_add(&l, "%s", attempt_name(ex, c->attempt, name));
	if (c->tid == 0 && c->pid != 0 && c->cause == TALE_CAUSE_STOPPED)
		phrase_add(&l, "'s process %" PRIu32, c->pid);
	if (c->tid == 0)
		return out;
	thread_name(ex, c->tid, name, sizeof(name));
	phrase_add(&l, "'s %s%s",
	    strncmp(name, "thread ", 7) == 0 ? "" : "thread ", name);
	return out;
}
