/* vm_thread.h: whether a JVM's VM thread runs, without polling it.
 *
 * HotSpot begins each safepoint, and each collection of Serial, Parallel and
 * G1, on its thread "VM Thread", which sleeps in between.  perf records the
 * switches of that thread and makes a descriptor readable at each.  A reader of
 * the JVM's page may wait for that descriptor instead of polling.
 *
 * Needs perf_event_open for a process that Tailor may trace.  Cost: not
 * measurable for the thread; a test at every switch on the machine. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct vm_thread {
	int fd;	    /* owned; -1: none */
	void *ring; /* owned mapping of two pages, read only */
};

/* Find and follow the thread of a process.  Returns 0, or a negative errno
 * with nothing open (-ESRCH: there is no such thread, perhaps not yet).
 * Blocks: not the observer. */
int vm_thread_open(struct vm_thread *out, pid_t pid);
void vm_thread_close(struct vm_thread *v);

/* True if the thread has a CPU or waits for one, or before its first switch,
 * when that is not known.  If false, the next switch makes fd readable until a
 * poll(2) has reported it.  Two loads; any thread. */
bool vm_thread_runs(const struct vm_thread *v);
