/* agent.h: what the parts of libtailor-jvm.so share.
 *
 * The agent runs in a foreign JVM: it allocates nothing after its start, holds
 * no lock, and in the callbacks of a collection, while the JVM is stopped, it
 * only reads the clock and stores a few words into shared memory.  Everything
 * that may block is on a thread of its own (agent_link.c).
 *
 * Who writes what:
 *   GC callbacks    one thread, the VM's: the state, and the channel's ring
 *   VMDeath         a Java thread: the state, for the last time
 *   other callbacks any thread: counters, by atomic addition
 *   ThreadStart, ThreadEnd  the thread's place in the table of names
 *   agent_collect.c its thread: the count of orders
 *   agent_heap.c    its thread: the word of the heap
 *   the link thread the channel's counter words; the ring before the channel
 *                   is published, and names into the ring later
 * ring_busy admits one writer of the ring at a time. */
#pragma once

#include <stdbool.h>

#include "talechain/talechain.h"

/* Our symbols must not clash with other libraries in the JVM. */
#pragma GCC visibility push(hidden)

struct agent {
	/* epoch << 8 | enum talechain_jvm_state; only ever grows */
	uint64_t state;
	uint64_t since_ns;
	uint64_t cause; /* enum talechain_cause */
	/* the channel to write to, NULL while there is no Tailor */
	struct talechain *link;
	/* callbacks that may be using link; the link thread waits for 0 */
	uint32_t inside;
	uint32_t ring_busy; /* a thread is writing the ring */
	/* the VM thread's own */
	uint32_t vm_tid;
	uint64_t collections, begun_ns;
	bool ordered; /* Tailor ordered the present collection */
	void *vm;     /* a JavaVM *, constant once loaded */
	/* counters, on a cache line of their own: many threads add */
	uint64_t classes __attribute__((aligned(64)));
	uint64_t compiled;
	uint64_t orders; /* 1 + orders to collect carried out */
};
extern struct agent agent;

/* The channel, which stays open until agent_leave; NULL: there is none.  Call
 * agent_leave in either case.  Any thread. */
struct talechain *agent_enter(void);
void agent_leave(void);

/* Emit one event of the calling thread, tid: the VM thread or the link thread.
 * While the other one writes, wait for 20 us at most; then the event is lost,
 * and the channel counts it as dropped. */
void agent_emit(struct talechain *tc, uint32_t tid, uint64_t now_ns,
    enum talechain_type type, const uint64_t arg[4]);

/* agent_names.c: remember the calling thread's name, forget it. */
void agent_name_set(uint32_t tid, const char *text);
void agent_name_clear(uint32_t tid);
/* agent_names_emit: emit the names that are due at this tick, every 50 ms.
 * agent_names_again: have all names emitted again.  The link thread. */
void agent_names_emit(struct talechain *tc, unsigned tick);
void agent_names_again(void);

/* Set a new state; DEAD is final.  Any thread, no lock. */
void agent_state_set(
    enum talechain_jvm_state state, uint64_t now_ns, uint64_t cause);

/* Store the state in a channel.  Call it between agent_enter and agent_leave,
 * or on the link thread. */
void agent_state_show(struct talechain *tc);

/* Start the thread that connects to Tailor, and reconnects.
 *   path        its socket, NULL: the default; copied
 *   started_ns  when the JVM started, 0 if loaded later
 * Returns 0 or a negative errno. */
int agent_link_start(const char *path, uint64_t started_ns);
/* Connect to the socket at path (as above) instead, if it is another one.  Does
 * nothing before agent_link_start.  Any thread. */
void agent_link_move(const char *path);
void agent_link_stop(void);

/* Remember the JVM (a JavaVM * and a jvmtiEnv *), so that it can be made to
 * collect. */
void agent_collect_init(void *vm, void *env);

/* Fill the JVM's young generation with at most so many bytes, until the JVM
 * collects; AGENT_COLLECT_FULL: have it collect the old generation, too; 0:
 * stop filling.  The link thread. */
#define AGENT_COLLECT_FULL UINT64_MAX
void agent_collect(uint64_t bytes);

/* True while an order is being carried out.  Any thread. */
bool agent_collecting(void);

/* Start the thread that reports the heap in use, if the JVM's page does not
 * (agent_page_lacks_heap).  Call it once the JVM runs. */
void agent_heap_start(void);

/* Map the JVM's own performance page, if there is one, for causes. */
void agent_page_open(void);
void agent_page_close(void);

/* True if the page shows the heap in use only at collections: with Serial and
 * Parallel of a JDK that does not sample it (25). */
bool agent_page_lacks_heap(void);

/* The cause of the current collection or, if ended, of the last one.  No system
 * call. */
enum talechain_cause agent_page_cause(bool ended);

#pragma GCC visibility pop
