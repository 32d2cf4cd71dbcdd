/* agent_names.c: Java threads' names that the kernel cuts at 15 characters.
 *
 * A thread registers its name as it starts; the link thread emits it at once
 * and again every five seconds, so that the stream always holds it.  A place of
 * the table belongs to the thread that changed the place's tid from 0.  Threads
 * that started before the agent, and later changes of a name, are not seen.
 *
 * Cost: a search of the table per thread started or ended, 1 us. */
#include "profiler/jvm/agent.h"

#include <string.h>

#define PLACES 1024 /* threads with long names, at most */
#define PARTS 3
#define PART_BYTES ((size_t)24)
#define KERNEL_CHARS 15
#define TICKS 100	/* between two emissions of a name; 50 ms each */
#define CHANGED_MAX 64	/* names emitted in one tick */
#define BUSY UINT32_MAX /* tid of a place that is being written */

static struct {
	uint32_t tid; /* atomic; 0: free */
	bool emitted; /* atomic */
	char text[PARTS * PART_BYTES];
} names[PLACES];

void
agent_name_set(uint32_t tid, const char *text)
{
	size_t length = strlen(text);
	uint32_t none;

	if (length <= KERNEL_CHARS)
		return;
	if (length > sizeof(names[0].text))
		length = sizeof(names[0].text);
	for (unsigned i = 0; i < PLACES; i++) {
		unsigned at = (tid + i) % PLACES;

		none = 0;
		if (!__atomic_compare_exchange_n(&names[at].tid, &none, BUSY,
			false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			continue;
		memset(names[at].text, 0, sizeof(names[at].text));
		memcpy(names[at].text, text, length);
		__atomic_store_n(&names[at].emitted, false, __ATOMIC_RELAXED);
		__atomic_store_n(&names[at].tid, tid, __ATOMIC_RELEASE);
		return;
	}
}

void
agent_name_clear(uint32_t tid)
{
	for (unsigned i = 0; i < PLACES; i++) {
		unsigned at = (tid + i) % PLACES;

		if (__atomic_load_n(&names[at].tid, __ATOMIC_RELAXED) != tid)
			continue;
		__atomic_store_n(&names[at].tid, 0, __ATOMIC_RELEASE);
		return;
	}
}

static void
name_emit(struct talechain *tc, uint32_t of_tid, const char *text)
{
	static uint32_t self; /* the link thread's */
	uint64_t word[PART_BYTES / 8];

	if (self == 0)
		self = (uint32_t)syscall(SYS_gettid);
	for (unsigned part = 0; part < PARTS; part++) {
		memcpy(word, text + part * PART_BYTES, PART_BYTES);
		if (word[0] != 0)
			agent_emit(tc, self, talechain_now(),
			    TALECHAIN_JVM_THREAD,
			    (const uint64_t[4]){(uint64_t)of_tid << 32 | part,
				word[0], word[1], word[2]});
	}
}

void
agent_names_emit(struct talechain *tc, unsigned tick)
{
	char text[sizeof(names[0].text)];
	unsigned changed = 0;
	uint32_t tid;
	bool emitted;

	for (unsigned i = 0; i < PLACES; i++) {
		tid = __atomic_load_n(&names[i].tid, __ATOMIC_ACQUIRE);
		if (tid == 0 || tid == BUSY)
			continue;
		emitted = __atomic_load_n(&names[i].emitted, __ATOMIC_RELAXED);
		if (emitted ? i % TICKS != tick % TICKS
			    : changed++ >= CHANGED_MAX)
			continue;
		memcpy(text, names[i].text, sizeof(text));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&names[i].tid, __ATOMIC_RELAXED) != tid)
			continue;
		__atomic_store_n(&names[i].emitted, true, __ATOMIC_RELAXED);
		name_emit(tc, tid, text);
	}
}

void
agent_names_again(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		__atomic_store_n(&names[i].emitted, false, __ATOMIC_RELAXED);
}
