/* vm_thread.h: whether a JVM's VM thread runs, without polling it.
 *
 * HotSpot begins each safepoint on its thread "VM Thread", which sleeps in
 * between; so do the collections of Serial, Parallel and G1 begin.  perf
 * records the switches of that thread and makes a descriptor readable at each:
 * who reads the JVM's page may wait for that instead of polling.
 *
 * Needs perf_event_open for a process that Tailor may trace.  Costs the thread
 * nothing that can be measured, and every switch of the machine a test. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct vm_thread {
	int fd;	    /* owned; -1: none */
	void *ring; /* owned mapping of two pages, read only */
};

/* Find and follow the thread of a process.  Returns 0, or a negative errno and
 * *out has none (-ESRCH: there is no such thread, perhaps not yet).  Blocks:
 * not the observer. */
int vm_thread_open(struct vm_thread *out, pid_t pid);
void vm_thread_close(struct vm_thread *v);

/* True if the thread has a CPU or waits for one, or if that is not known:
 * before its first switch.  If false, its next switch makes fd readable, once;
 * poll(2) takes that back.  Two loads; any thread. */
bool vm_thread_runs(const struct vm_thread *v);
