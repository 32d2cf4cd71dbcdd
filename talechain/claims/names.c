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

/* By what is named; the last event of it last. */
static int
names_compare(const void *va, const void *vb)
{
	const struct tale_entry *const *a = va, *const *b = vb;
	const struct talechain_event *v = &(*a)->slot.event;
	const struct talechain_event *w = &(*b)->slot.event;

	return COMPARE(v->type, w->type)
		   ?: COMPARE(v->arg[0], w->arg[0]) ?: COMPARE(*a, *b);
}

void
names_sort(struct explainer *ex)
{
	if (ex->names > 0)
		qsort(ex->name, ex->names, sizeof(struct tale_entry *),
		    names_compare);
}

/* The last event of a type that names key, or NULL. */
static const struct talechain_event *
name_find(const struct explainer *ex, unsigned type, uint64_t key)
{
	const struct talechain_event *v;
	size_t n = FIRST_WHERE(i, ex->names,
	    (v = &ex->name[i]->slot.event,
		v->type > type || (v->type == type && v->arg[0] > key)));

	v = n > 0 ? &ex->name[n - 1]->slot.event : NULL;
	return v != NULL && v->type == type && v->arg[0] == key ? v : NULL;
}

/* Join a Java thread's name from its parts, the latest of each in the tale;
 * false if the first part is missing. */
static bool
java_name(const struct explainer *ex, uint32_t tid, char out[JAVA_NAME])
{
	const struct talechain_event *v;
	unsigned part = 0;

	memset(out, 0, JAVA_NAME);
	for (; part < JAVA_NAME / JAVA_PART; part++) {
		v = name_find(
		    ex, TALECHAIN_JVM_THREAD, (uint64_t)tid << 32 | part);
		if (v == NULL)
			break;
		memcpy(out + part * JAVA_PART, &v->arg[1], JAVA_PART);
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
	const struct talechain_event *v =
	    tid != 0 ? name_find(ex, TALECHAIN_THREAD, tid) : NULL;
	char name[17] = "", java[JAVA_NAME];

	if (v != NULL) {
		memcpy(name, &v->arg[2], 8);
		memcpy(name + 8, &v->arg[3], 8);
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
	const struct talechain_event *v;

	if (thread != NULL)
		return thread->pid;
	v = name_find(ex, TALECHAIN_THREAD, tid);
	return v != NULL ? (uint32_t)v->arg[1] : 0;
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
	    {ROLE_VM, "VM Thread"},
	};
	char name[STORY_THREAD_NAME];
	size_t length;

	thread_text(ex, tid, name, sizeof(name));
	for (size_t i = 0; i < COUNT(names); i++) {
		/* The name of the only one is whole. */
		length = strlen(names[i].begins) + (role == ROLE_VM);
		if (names[i].role == role &&
		    strncmp(name, names[i].begins, length) == 0)
			return true;
	}
	return false;
}
