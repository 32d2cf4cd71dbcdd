/* process.bpf.c: the processes of servers.  What a watched process forks is
 * watched from its first moment until its end.
 *
 * The kernel reports a fork before the child can run, so nothing of it is
 * missed.  A process that ends gives back its place in the list; its byte
 * stays until a fork gives its number to another process, because its last
 * switch is still to come. */
#include "profiler/kernel/peer.bpf.h"

#define MEMBERS_MASK (KERNEL_SERVERS * KERNEL_PROCESSES - 1)
_Static_assert((MEMBERS_MASK & (MEMBERS_MASK + 1)) == 0, "a mask");

/* The server of a mark; KERNEL_SERVERS or more: none. */
static __always_inline __u32
mark_server(__u8 mark)
{
	return (__u32)(mark & KERNEL_MARK_WHOSE) - KERNEL_MARK_SERVER;
}

/* In a server's list, replace one process (was) by another (is); 0: a free
 * place.  Returns 1 if the first one was there, else 0.  The mask changes
 * nothing: it shows the verifier that the place is in the list. */
static __noinline int
member_replace(__u32 server, __u32 was, __u32 is)
{
	__u32 *place;

	for (__u32 i = 0; i < KERNEL_PROCESSES; i++) {
		place = &watch.member[0][0] +
			((server * KERNEL_PROCESSES + i) & MEMBERS_MASK);
		if (*place == was &&
		    __sync_val_compare_and_swap(place, was, is) == was)
			return 1;
	}
	return 0;
}

/* The mark of a process whose parent has this mark; 0: it is not watched. */
static __always_inline __u8
mark_of_child(__u8 parent, __u32 pid)
{
	__u32 server = mark_server(parent);

	if (server >= KERNEL_SERVERS || parent & KERNEL_MARK_ALONE)
		return 0;
	if (member_replace(server, 0, pid))
		return parent;
	__sync_fetch_and_add(&tally.refused, 1);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int
BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = child->pid;
	__u8 *from, *mark;

	if (pid != (__u32)child->tgid)
		return 0; /* a thread */
	from = process_mark(parent->tgid);
	mark = process_mark(pid);
	if (mark == NULL) {
		if (from != NULL && mark_server(*from) < KERNEL_SERVERS)
			__sync_fetch_and_add(&tally.refused, 1);
		return 0;
	}
	/* Remove the last process of this number, if its end was not seen. */
	if (mark_server(*mark) < KERNEL_SERVERS)
		member_replace(mark_server(*mark), pid, 0);
	*mark = from != NULL ? mark_of_child(*from, pid) : 0;
	return 0;
}

SEC("tp_btf/sched_process_exec")
int
BPF_PROG(on_exec, struct task_struct *p)
{
	if (watched(task_pair(p)))
		emit(TALECHAIN_EXEC, 0, 0, 0, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int
BPF_PROG(on_exit, struct task_struct *p)
{
	__u32 tid = p->pid;
	__u8 *mark, whose = task_mark(task_pair(p));
	int status;

	thread_end(tid); /* it may have been watched before */
	if (whose == 0)
		return 0;
	if (BPF_CORE_READ(p, signal, live.counter) > 0)
		return 0; /* only a thread ended */
	if (whose == KERNEL_MARK_PEER) {
		peer_end(p->tgid);
		return 0;
	}
	status = BPF_CORE_READ(p, signal, group_exit_code);
	if (status == 0)
		status = p->exit_code;
	emit(TALECHAIN_EXIT, (__u32)status, 0, 0, 0);
	mark = process_mark(p->tgid);
	if (mark != NULL && mark_server(*mark) < KERNEL_SERVERS)
		member_replace(mark_server(*mark), p->tgid, 0);
	return 0;
}
