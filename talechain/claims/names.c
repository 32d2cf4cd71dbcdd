/* names.c: names and processes of threads.
 *
 * A thread has the name of its last THREAD event. */
#include <inttypes.h>

#include "base/array.h"
#include "base/text.h"
#include "talechain/claims/explainer.h"
#include "talechain/events/events.h"

#define JAVA_PART ((size_t)24) /* bytes of a name in one event */
#define JAVA_NAME 72
#define NUMBER ((size_t)12) /* characters of "[4194304]", with room */
#define JAVA_ALIKE 7	    /* characters of the kernel's name to compare */

/* Join a Java thread's name from its parts, the latest of each in the tale;
 * false if the first part is missing. */
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

/* The last name that an event gives a thread, "" if none does.  A Java name
 * belongs to the thread if the kernel's name begins alike: HotSpot cuts the end
 * or the middle out of the kernel's. */
void
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

uint32_t
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

bool
thread_is(const struct explainer *ex, uint32_t tid, enum thread_role role)
{
	static const struct {
		enum thread_role role;
		const char *begins;
	} names[] = {
	    {ROLE_IO_URING, "iou-"},
	    {ROLE_COMPILER, "C1 Compiler"},
	    {ROLE_COMPILER, "C2 Compiler"},
	    {ROLE_COLLECTOR, "GC Thread"},
	    {ROLE_COLLECTOR, "G1 "},
	    {ROLE_COLLECTOR, "ParGC"},
	    {ROLE_COLLECTOR, "ZWorker"},
	    {ROLE_COLLECTOR, "Shenandoah"},
	    {ROLE_VM, "VM Thread["},
	};
	char name[NAME_SIZE];

	thread_name(ex, tid, name, sizeof(name));
	for (size_t i = 0; i < COUNT(names); i++)
		if (names[i].role == role && strncmp(name, names[i].begins,
						 strlen(names[i].begins)) == 0)
			return true;
	return false;
}
