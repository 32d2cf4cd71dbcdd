/* profiler.h: the observer.
 *
 * One thread polls memory: channels of the servers, of their JVMs' agents and
 * of the proxy, and the hsperfdata pages of unmodified JVMs.  It copies every
 * new event into the timeline stream and posts each server's hazards to the
 * proxy through a ring and an eventfd.  That loop never allocates, locks, logs
 * or waits while requests are in flight (its only system calls are the sleep
 * between sweeps and the write that wakes the proxy for a hazard).  A second
 * thread does everything that may block: it accepts channels, finds and
 * watches processes, maps hsperfdata, and hands finished sources to the
 * observer through a ring.
 *
 * The profiler knows servers and processes, never HTTP. */
#pragma once

#include "profiler/options/stats.h"
#include "talechain/events/counters.h"
#include "talechain/events/hazard.h"
#include "talechain/timeline/timeline.h"

struct profiler;

/* Make a profiler that does not run yet; options are copied.  This opens the
 * kernel's sources, the only step that needs root's rights.  Returns 0,
 * -EINVAL, -ENOMEM or a negative errno of eventfd.  Free with profiler_free. */
int profiler_new(struct profiler **out, const struct profiler_options *options);

/* Stop both threads and release everything.  The thread that made it. */
void profiler_free(struct profiler **pp);

/* Make a channel inside this process and become its writer (tc), for the proxy
 * thread.  Before profiler_start.  Returns 0, -EINVAL, -ENOMEM, -ENOSPC.  The
 * profiler owns the memory: do not emit after profiler_free. */
int profiler_channel(struct profiler *p, const char *name,
    enum talechain_kind kind, unsigned slot_log2, struct talechain *tc);

/* Listen for channels and start the threads; the observer writes to timeline
 * (borrowed).  Returns 0 or a negative errno.  -EADDRINUSE: another tailor has
 * the channel socket, which is logged.
 * Any other failure to bind the
 * socket is logged with advice and is not fatal: then no channels come from
 * outside.
 * Failing to pin the observer is not fatal: it is logged once and the thread
 * runs unpinned. */
int profiler_start(struct profiler *p, struct timeline *timeline);

/* Set a server's process to pid (a supervisor's child), or 0 when it is known
 * to be gone.  Processes of servers with an address are also found without
 * this.  Any thread; never blocks. */
void profiler_server_process(struct profiler *p, unsigned server, pid_t pid);

/* Replace a server by *is (empty name: by none) and search its process anew.
 * is->program is ignored, and probes that need dropped privileges are not made.
 * The proxy thread; never blocks for long. */
void profiler_server_set(
    struct profiler *p, unsigned server, const struct profiler_server *is);

/* Record kernel events of all connections of one of our TCP ports (host order),
 * and of connections to this port from this machine.  Servers' ports are always
 * watched.  Any thread; a plain store. */
void profiler_watch_port(struct profiler *p, uint16_t port);

/* Copy the state of each enum profiler_signal.  Returns true if any is on.
 * Any thread. */
bool profiler_signals(const struct profiler *p,
    struct profiler_signal_state out[PROFILER_SIGNALS]);

/* Get the states that signals have here if all are enabled, by attaching the
 * kernel's programs and detaching them again.  Some tenths of a second; any one
 * thread. */
void profiler_signals_here(struct profiler_signal_state out[PROFILER_SIGNALS]);

/* True if counters of servers' threads will be opened for new processes, which
 * needs CAP_PERFMON. */
bool profiler_counts(const struct profiler *p);

/* Drop permanently all capabilities that serving does not need.
 *   launches  Tailor starts servers: root keeps all, its children may need them
 *   counts    result of profiler_counts: if true, CAP_PERFMON is kept, too
 * Call it before threads are made: they inherit what is left.  Logs the
 * result. */
void profiler_privileges_drop(bool launches, bool counts);

/* A descriptor that is readable when hazards wait; the profiler owns it.  The
 * proxy thread. */
int profiler_hazard_fd(const struct profiler *p);

/* Take the oldest waiting hazard.  False when there is none; then the eventfd
 * has been emptied.  The proxy thread only.  About 5 ns when empty. */
bool profiler_hazard_take(struct profiler *p, struct hazard *out);

/* Set whether requests are in flight.  While none is, the observer rests,
 * unless it spins; until the first call it polls.  When any becomes true
 * while the observer rests, the calling thread reads the sources of hazards
 * itself (estimated: 100 ns), so that profiler_hazard_take returns those that
 * have begun, and ends a long rest (one system call).  Free if nothing has
 * changed; never waits.  The proxy thread. */
void profiler_in_flight(struct profiler *p, bool any);

/* Wake the observer if it rests, so that it reads what was written.  Call this
 * before reading events.  One system call if it rests.  The proxy thread. */
void profiler_wake(struct profiler *p);

/* profiler_heap(p, server, out):
 * Copy the state of a server's heap, at most 2 ms old; while the observer rests
 * the calling thread reads it itself, and what else shows pauses.  Each word is
 * exact; together they are not a snapshot.  The proxy thread; never blocks. */
void
profiler_heap(struct profiler *p, unsigned server, struct profiler_heap *out);

/* profiler_collect(p, server, bytes):
 * Have a server's JVM collect its young generation now, by filling that with at
 * most so many bytes; PROFILER_COLLECT_FULL: the old generation, too; 0: cancel
 * the order.  Call it only if profiler_heap has set ordered; the collection
 * then shows there.  The proxy thread; one system call, never blocks.
 *
 * profiler_load_agents(p, on):
 * Set whether our agent may be loaded into JVMs that run without it.  Any
 * thread. */
void profiler_collect(struct profiler *p, unsigned server, uint64_t bytes);
void profiler_load_agents(struct profiler *p, bool on);

/* profiler_code_map(p, pid, since):
 * Have a server's JVM write the map of its compiled code, /tmp/perf-PID.map in
 * its own root, if there is none that was begun at since or later.  At most one
 * in 10 s, or a thousand times as long as the last one took.
 * Returns 0: no newer map comes now; -EAGAIN: one is being written, call again
 * a little later; -EOPNOTSUPP: the JVM is older than JDK 17; or -EPERM,
 * -EACCES: it cannot be attached to, which is logged.  Any thread; one system
 * call. */
int profiler_code_map(struct profiler *p, pid_t pid, struct instant since);

/* Copy the counters.  Any thread. */
void profiler_stats(struct profiler *p, struct profiler_stats *out);
