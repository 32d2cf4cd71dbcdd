/* kernel.h: events of the kernel, through BPF programs on tracepoints.
 *
 * The programs (*.bpf.c here) are compiled at build time into one object in
 * this program; at start it is fitted to the running kernel, verified and
 * attached.  They write into one channel for each CPU, mapped read only, which
 * the observer drains like any other.  The watched processes and ports are in
 * memory mapped by both sides: no system call and no privilege is needed after
 * the start.
 *
 * What a kernel lacks (a tracepoint, a helper, permission) switches off only
 * the signals that need it; each has a reason in its state.
 *
 * Not here: probes at functions (kprobes, fentry).  They break with kernel
 * versions, and many kernels refuse them.
 *
 * Costs about 0.2 s at start, 4 KiB + 64 B * slots for each CPU, 5 MiB and a
 * byte for each process number;
 * docs/signals.md says what it costs the machine. */
#pragma once

#include "profiler/channels/channel.h"
#include "profiler/kernel/abi.h"

struct kernel;

struct kernel_options {
	enum profiler_kernel profile; /* not PROFILER_KERNEL_OFF */
	bool syscalls;
	bool sums;   /* sums with any profile; PROFILER_KERNEL_SUMS has them */
	bool stacks; /* stacks of waits and computing, if allowed */
	unsigned slot_log2;    /* slots of a channel: log2, 6 .. 20 */
	unsigned events_per_s; /* limit per CPU before a pause; 0: default */
	uint32_t first_number; /* number of the first channel */
};

/* Load and attach what this kernel supports, and watch this process.
 *   state  PROFILER_SIGNALS elements: for each signal, whether it is on, or why
 *          not.  Filled in also on failure.
 * Returns 0 if any signal is on; else *out is NULL and a negative errno:
 * -EPERM not privileged, -ENOTSUP this kernel cannot, -ENOMEM, -EINVAL.
 * Blocks for some tenths of a second.  Any one thread. */
int kernel_new(struct kernel **out, const struct kernel_options *options,
    struct profiler_signal_state *state);

/* Detach and free everything.  No channel may be in use. */
void kernel_free(struct kernel **kp);

/* Channels of the kernel's programs, one for each CPU; borrowed. */
unsigned kernel_channels(const struct kernel *k);
struct channel *kernel_channel(const struct kernel *k, unsigned i);

/* Watch a process as one of a server's, and what it forks from now on, unless
 * alone is set.  A process that is watched already stays as it is.
 * Returns 0, -ENOSPC (the server has KERNEL_PROCESSES) or -ERANGE (no such
 * number).  One thread at a time. */
int kernel_watch(struct kernel *k, unsigned server, pid_t pid, bool alone);

/* True if the processes that watched ones fork are watched, too; false if the
 * kernel refused that.  Any thread. */
bool kernel_follows(const struct kernel *k);

/* True if a process is watched as a server's, or is our own.  Any thread. */
bool kernel_watches(const struct kernel *k, pid_t pid);

/* Stop watching a server's living processes; unread events of ended ones still
 * belong to the server.  The thread of kernel_watch. */
void kernel_unwatch(struct kernel *k, unsigned server);

/* Processes of a server now, at most KERNEL_PROCESSES, in any order; those that
 * have ended unseen are taken out.  Returns how many.  Some microseconds; the
 * same thread. */
unsigned
kernel_members(struct kernel *k, unsigned server, pid_t out[KERNEL_PROCESSES]);

/*
 * kernel_watch_port(k, port), kernel_server_port(k, server, port):
 * Watch the connections of a TCP port; events on a server's port belong to the
 * server.
 * Any thread.
 */
void kernel_watch_port(struct kernel *k, uint16_t port);
void kernel_server_port(struct kernel *k, unsigned server, uint16_t port);

/* Report no events of one of our threads.  Any thread. */
void kernel_ignore_thread(struct kernel *k, pid_t tid);

/* A time in which the programs write no events of tasks, segments and
 * faults. */
struct kernel_pause {
	struct instant from, until;
	uint64_t most_per_s; /* events that are recorded without a pause */
};

/* Pause or resume the programs, depending on how much they write (sampling.h).
 * Returns true at a change, with *out set: if a pause begins, the pause as it
 * is planned; if it ends or is prolonged, the time from its planned end on.
 * The observer; some loads once each SAMPLING_PERIOD_NS. */
bool
kernel_sample(struct kernel *k, struct instant now, struct kernel_pause *out);

/* A descriptor that is readable while a thread of a server that may not run (a
 * quota, a signal) has left its CPU since the last kernel_take_stirs: its event
 * is to be read then.  Borrowed. */
int kernel_stirs(const struct kernel *k);

/* Forget these.  Before reading the events; some loads.  The observer. */
void kernel_take_stirs(struct kernel *k);

/* True while the programs are paused.  The observer. */
bool kernel_is_paused(const struct kernel *k);

/* Pause the programs until a moment, or resume them (INSTANT_NONE).  The
 * observer. */
void kernel_gate(struct kernel *k, struct instant until);

/* During a pause, detach the programs that run often: a program that only finds
 * the pause costs its thread some 90 ns, thirty times a request.  Attach them
 * again before the pause ends; if that fails, the pause lasts longer.  Where
 * the kernel refuses this with the privileges that are left, programs stay
 * attached.  Returns the time until the next call, ns; -1: at the next pause.
 * The attach thread; 1 to 7 ms for detaching or attaching. */
int64_t kernel_park(struct kernel *k, struct instant now);

/* Read the kernel's counters of events that it did not write.  Some
 * microseconds; one thread at a time. */
void kernel_count(struct kernel *k);

/* The number of events not written so far, as of the last kernel_count: their
 * program was running already on that CPU, or the CPU has no channel.  Any
 * thread. */
uint64_t kernel_missed(const struct kernel *k);

/* Losses that the programs have counted so far.  Borrowed; any thread reads
 * words of it, relaxed (count_read). */
const struct kernel_tally *kernel_tally(const struct kernel *k);
