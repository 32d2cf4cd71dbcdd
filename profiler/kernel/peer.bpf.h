/* peer.bpf.h: processes that a server waits for.
 *
 * A process that is no server's, and wakes a sleeping thread of a server or
 * sends on a connection to one, becomes a peer: its switches and wake-ups are
 * reported for as long as servers wait for it.  What it did before that moment
 * is not known, so its first event only names it.
 *
 * Peers have a budget of their own (KERNEL_PEER_SWITCHES), so a busy one does
 * not use up that of the servers.  No state is kept for their threads: nothing
 * remains when they are watched no longer.
 *
 * Cost: an event for each wake-up of a server's thread by another process, and
 * for each send to one.  Other tasks pay for a TCP send alone: a load, and a
 * search in a map if the local port is one to which a server is connected. */
#pragma once

#include "profiler/kernel/task.bpf.h"

#define TASK_KERNEL_THREAD 0x00200000 /* of flags */

/* The place of a process, or NULL. */
static __always_inline struct kernel_peer *
peer_find(__u32 pid)
{
	struct kernel_peer *peer;

	for (__u32 i = 0; i < KERNEL_PEER_TRIES; i++) {
		peer = &watch.peer[(pid + i) & (KERNEL_PEERS - 1)];
		if (peer->pid == pid)
			return peer;
	}
	return NULL;
}

/* The place of a process, or a free one that it takes; NULL: there is none. */
static __always_inline struct kernel_peer *
peer_place(__u32 pid)
{
	struct kernel_peer *peer = peer_find(pid);

	if (peer != NULL)
		return peer;
	for (__u32 i = 0; i < KERNEL_PEER_TRIES; i++) {
		peer = &watch.peer[(pid + i) & (KERNEL_PEERS - 1)];
		if (peer->pid == 0 &&
		    __sync_val_compare_and_swap(&peer->pid, 0, pid) == 0)
			return peer;
	}
	return NULL;
}

/* Watch the present task's process, unless it is watched already.  Returns
 * since when it was, 0: it was not, for the reason in *state. */
static __always_inline __u64
peer_watch(__u8 *mark, __u32 *state, __u64 now)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct kernel_peer *peer;

	*state = TALECHAIN_PEER_WATCHED;
	if (mark_watched(*mark))
		return 1;
	peer = peer_place(pid);
	if (peer == NULL) {
		__sync_fetch_and_add(&tally.strangers, 1);
		*state = TALECHAIN_PEER_CROWDED;
		return 0;
	}
	peer->used = 1;
	if (peer->state != KERNEL_PEER_WATCHED) {
		*state = peer->state == KERNEL_PEER_BUSY ? TALECHAIN_PEER_BUSY
							 : TALECHAIN_PEER_NEW;
		return 0;
	}
	if (peer->since_ns != 0 && *mark == KERNEL_MARK_PEER)
		return peer->since_ns;
	*state = TALECHAIN_PEER_NEW;
	peer->since_ns = now;
	*mark = KERNEL_MARK_PEER;
	return 0;
}

/* The present task ends a server's wait: report the task, and watch its
 * process.
 *   to     the thread that it woke, 0: it sent
 *   ports  of its end of the connection, with the bytes sent */
static __always_inline void
peer_emit(__u64 now, __u32 to, __u64 ports, __u64 bytes)
{
	__u8 *mark = process_mark(bpf_get_current_pid_tgid() >> 32);
	__u32 state;
	__u64 since;

	if (mark == NULL || (*mark & KERNEL_MARK_WHOSE) == KERNEL_MARK_SELF ||
	    bpf_get_current_task_btf()->flags & TASK_KERNEL_THREAD)
		return;
	since = peer_watch(mark, &state, now);
	emit_at(now, TALECHAIN_PEER, to, ports | state, bytes, since);
}

/* The present task wakes a server's thread, which a signal could have ended its
 * sleep as well. */
static __always_inline void
peer_woke(struct task_struct *p, struct task_struct *waker, __u64 now)
{
	if (waker->tgid == p->tgid ||
	    (task_state(p) & STATE_INTERRUPTIBLE) == 0)
		return;
	peer_emit(now, p->pid, 0, 0);
}

/* A peer's process ends: give back its place.  Its mark stays: its last switch
 * is still to come. */
static __always_inline void
peer_end(__u32 pid)
{
	struct kernel_peer *peer = peer_find(pid);

	if (peer == NULL)
		return;
	peer->since_ns = 0;
	peer->used = 0;
	/* An exchange is a barrier: the place is free last. */
	__sync_val_compare_and_swap(&peer->pid, pid, 0);
}

/* A peer's thread gets this CPU: stop watching the peer if that happens too
 * often. */
static __always_inline void
peer_count(struct cpu *cpu, __u32 pid, __u64 now)
{
	__u32 second = now >> 30;
	struct kernel_peer *peer;
	__u8 *mark;

	if (cpu->peer_second != second) {
		cpu->peer_second = second;
		cpu->peer_switches = 0;
	}
	if (++cpu->peer_switches <= KERNEL_PEER_SWITCHES)
		return;
	peer = peer_find(pid);
	mark = process_mark(pid);
	if (peer == NULL || mark == NULL)
		return;
	if (peer->state == KERNEL_PEER_WATCHED)
		__sync_fetch_and_add(&tally.restless, 1);
	peer->state = KERNEL_PEER_BUSY;
	*mark = 0;
}
