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
 *   thread's begin, end  its place in the table of names
 *   agent_collect.c its thread: the count of orders
 *   agent_heap.c    its thread: the word of the heap
 *   the link thread the channel's counter words; the ring before it is
 *                   published; and later names into it.  ring_busy lets one
 *                   thread write the ring at any time */
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
	bool ordered; /* this collection is by an order of Tailor's */
	void *vm;     /* a JavaVM *, constant once loaded */
	/* counters, on a line of their own: many threads add */
	uint64_t classes __attribute__((aligned(64)));
	uint64_t compiled;
	uint64_t orders; /* to collect, carried out; and one */
};
extern struct agent agent;

/* The channel if there is one, kept open until agent_leave.  Any thread. */
struct talechain *agent_enter(void);
void agent_leave(void);

/* Emit one event of the calling thread, which is tid.  Two threads may want to,
 * the VM's and the link thread: one waits for the other, 20 us at most, and
 * then gives up, which the channel counts. */
void agent_emit(struct talechain *tc, uint32_t tid, uint64_t now_ns,
    enum talechain_type type, const uint64_t arg[4]);

/* agent_names.c: remember the calling thread's name, forget it. */
void agent_name_set(uint32_t tid, const char *text);
void agent_name_clear(uint32_t tid);
/* Emit what is due at a tick of 50 ms; all of them again.  Link thread. */
void agent_names_emit(struct talechain *tc, unsigned tick);
void agent_names_again(void);

/* Set a new state; DEAD is final.  Any thread, no lock. */
void agent_state_set(
    enum talechain_jvm_state state, uint64_t now_ns, uint64_t cause);

/* Store the state in a channel.  Between agent_enter and agent_leave, or on the
 * link thread. */
void agent_state_show(struct talechain *tc);

/* Start the thread that finds Tailor, and finds it again.
 *   path        its socket, NULL: the default; copied
 *   started_ns  when the JVM started, 0 if loaded later
 * Returns 0 or a negative errno. */
int agent_link_start(const char *path, uint64_t started_ns);
/* Leave the socket for that one, if it is another; path as above.  Before the
 * thread was started, nothing.  Any thread. */
void agent_link_move(const char *path);
void agent_link_stop(void);

/* Remember the JVM (a JavaVM * and a jvmtiEnv *), so that it can be made to
 * collect. */
void agent_collect_init(void *vm, void *env);

/* Fill its young generation until it collects, with at most so many bytes;
 * AGENT_COLLECT_FULL: have it collect the old one, too; 0: stop that.  The link
 * thread. */
#define AGENT_COLLECT_FULL UINT64_MAX
void agent_collect(uint64_t bytes);

/* True while an order is being carried out.  Any thread. */
bool agent_collecting(void);

/* Start the thread that reports what is in use of the heap, if the JVM's page
 * does not (agent_page_lacks_heap).  Once the JVM runs. */
void agent_heap_start(void);

/* Map the JVM's own performance page, if there is one, for causes. */
void agent_page_open(void);
void agent_page_close(void);

/* True if the page shows what is in use only at collections: with Serial and
 * Parallel of a JDK that does not sample it (25). */
bool agent_page_lacks_heap(void);

/* The cause of the current collection or (ended) the last.  No system call. */
enum talechain_cause agent_page_cause(bool ended);

#pragma GCC visibility pop
