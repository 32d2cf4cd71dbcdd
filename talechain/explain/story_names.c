/* story_names.c: how servers and threads are called in sentences.
 *
 * A thread has the name of its last THREAD event.  One that is of a server's
 * process is that server's, whatever it did: "a's compiler C2
 * CompilerThre[12]". */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

#define THREADS_MAX 256	       /* that are listed */
#define JAVA_PART ((size_t)24) /* bytes of a name in one event */
#define JAVA_NAME 72
#define NUMBER ((size_t)12) /* characters of "[4194304]", with room */
#define JAVA_ALIKE 7	    /* characters of the kernel's name */

/* A Java thread's name from its parts, each the last one in the tale; false if
 * the first is not there. */
static bool
java_name(const struct explainer *ex, uint32_t tid, char out[JAVA_NAME])
{
	const struct talechain_event *v;
	unsigned part = 0;

	memset(out, 0, JAVA_NAME);
	for (size_t i = ex->names; i > 0; i--) {
		v = &ex->name[i - 1]->slot.event;
		if (v->type != TALECHAIN_JVM_THREAD ||
		    v->arg[0] != ((uint64_t)tid << 32 | part))
			continue;
		memcpy(out + part * JAVA_PART, &v->arg[1], JAVA_PART);
		if (++part == JAVA_NAME / JAVA_PART)
			break;
		i = ex->names + 1; /* the next part may be anywhere */
	}
	out[JAVA_NAME - 1] = '\0';
	return part > 0;
}

/* The last name that an event gives a thread, "" if none does.  A Java name is
 * of the same thread if the kernel's begins like it: HotSpot cuts that at the
 * end, or leaves out its middle. */
static void
thread_text(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	const struct talechain_event *v;
	char name[17] = "", java[JAVA_NAME];

	for (size_t i = ex->names; i > 0 && tid != 0; i--) {
		v = &ex->name[i - 1]->slot.event;
		if (v->type != TALECHAIN_THREAD || v->arg[0] != tid)
			continue;
		memcpy(name, &v->arg[2], 8);
		memcpy(name + 8, &v->arg[3], 8);
		break;
	}
	if (tid != 0 && java_name(ex, tid, java) &&
	    strncmp(name, java, strnlen(name, JAVA_ALIKE)) == 0)
		text_safe(out, size, java);
	else
		text_safe(out, size, name);
}

char *
thread_name(const struct explainer *ex, uint32_t tid, char *out, size_t size)
{
	char name[STORY_THREAD_NAME];
	size_t room = size > 2 * NUMBER ? size - NUMBER : size;

	thread_text(ex, tid, name, room < sizeof(name) ? room : sizeof(name));
	if (tid == 0)
		snprintf(out, size, "the idle task");
	else if (name[0] == '\0')
		snprintf(out, size, "thread %" PRIu32, tid);
	else
		snprintf(out, size, "%s[%" PRIu32 "]", name, tid);
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
		if (ex->name[i - 1]->slot.event.type == TALECHAIN_THREAD &&
		    ex->name[i - 1]->slot.event.arg[0] == tid)
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

static void
thread_list(struct explainer *ex, uint32_t tid)
{
	struct story *s = ex->s;
	struct story_thread *h;

	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid)
			return;
	if (tid == 0 || s->threads >= THREADS_MAX)
		return;
	s->thread = array_grow(&ex->failed, s->thread, s->threads,
	    &ex->thread_room, sizeof(*s->thread));
	if (ex->failed)
		return;
	h = &s->thread[s->threads++];
	*h = (struct story_thread){.tid = tid, .pid = thread_pid(ex, tid)};
	thread_text(ex, tid, h->name, sizeof(h->name));
	thread_owner(ex, tid, h->owner, sizeof(h->owner));
}

static int
thread_compare(const void *va, const void *vb)
{
	const struct story_thread *a = va, *b = vb;

	return COMPARE(a->tid, b->tid);
}

void
threads_list(struct explainer *ex)
{
	struct story *s = ex->s;

	for (size_t i = 0; i < s->lanes; i++)
		thread_list(ex, s->lane[i].tid);
	for (size_t i = 0; i < s->segments; i++) {
		thread_list(ex, ex->segment_claim[i].tid);
		thread_list(ex, ex->segment_claim[i].other);
	}
	for (size_t i = 0; i < s->bars; i++)
		thread_list(ex, s->bar[i].tid);
	if (s->threads > 0)
		qsort(
		    s->thread, s->threads, sizeof(*s->thread), thread_compare);
}

bool
thread_is_io_uring(const struct explainer *ex, uint32_t tid)
{
	char name[NAME_SIZE];

	if (tid == 0)
		return false;
	thread_name(ex, tid, name, sizeof(name));
	return strncmp(name, "iou-", 4) == 0;
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

bool
thread_is_vm(const struct explainer *ex, uint32_t tid)
{
	char name[NAME_SIZE];

	if (tid == 0)
		return false;
	thread_name(ex, tid, name, sizeof(name));
	return strncmp(name, "VM Thread[", 10) == 0;
}

bool
thread_is_observer(const struct explainer *ex, uint32_t tid)
{
	char name[NAME_SIZE];

	if (tid == 0)
		return false;
	thread_name(ex, tid, name, sizeof(name));
	return strncmp(name, "observer[", 9) == 0;
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
	if (c->tid == 0 && c->pid != 0 && c->cause == TALE_CAUSE_STOPPED)
		line_add(&l, "'s process %" PRIu32, c->pid);
	if (c->tid == 0)
		return out;
	thread_name(ex, c->tid, name, sizeof(name));
	line_add(&l, "'s %s%s",
	    strncmp(name, "thread ", 7) == 0 ? "" : "thread ", name);
	return out;
}
