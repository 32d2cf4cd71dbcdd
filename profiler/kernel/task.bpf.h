/* task.bpf.h: what a task's own record says as it leaves its CPU: why, in which
 * system call, and what the host has taken of that CPU. */
#pragma once

#include "profiler/kernel/emit.bpf.h"

/* The kernel's bits of a task's state, the same in all supported versions. */
#define STATE_INTERRUPTIBLE 0x1
#define STATE_UNINTERRUPTIBLE 0x2
#define STATE_STOPPED 0xc /* stopped or traced */
#define STATE_DEAD 0xb0	  /* zombie, dead */
#define STATE_NOLOAD 0x400
#define STATE_FROZEN 0x8000 /* by the freezer of cgroups, version 1 */

#define X86_TS_COMPAT 0x2	/* in a system call of 32 bits */
#define ARM64_PSTATE_32BIT 0x10 /* a program of 32 bits */
#define CALLS ((1 << TALECHAIN_CALL_BITS) - 1)

/* True if the freezer of cgroup v2 has frozen a task; its state is then that of
 * a task asleep.  The kernel marks a task that waits for the child of its vfork
 * as frozen, too, but that wait is not interruptible. */
static __always_inline bool
is_frozen(struct task_struct *p, __u64 state)
{
	struct task_struct___freezer *task = (void *)p;

	if ((state & STATE_INTERRUPTIBLE) == 0 ||
	    !bpf_core_field_exists(task->frozen))
		return false;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): a constant size */
	return BPF_CORE_READ_BITFIELD(task, frozen) != 0;
}

/* Why a task leaves its CPU in a state that is not runnable. */
static __always_inline enum talechain_off
off_reason(struct task_struct *prev, __u64 state)
{
	if (state & STATE_DEAD)
		return TALECHAIN_OFF_DEAD;
	if (state & (STATE_STOPPED | STATE_FROZEN) || is_frozen(prev, state))
		return TALECHAIN_OFF_STOPPED;
	if ((state & STATE_UNINTERRUPTIBLE) == 0 || state & STATE_NOLOAD)
		return TALECHAIN_OFF_SLEEPING;
	/* NOLINTNEXTLINE(clang-analyzer-core.*): a constant size */
	return BPF_CORE_READ_BITFIELD(prev, in_iowait) != 0
		   ? TALECHAIN_OFF_DISK
		   : TALECHAIN_OFF_BLOCKED;
}

/* A task's state, STATE_ bits; the field's name depends on the kernel's
 * version. */
static __always_inline __u64
task_state(struct task_struct *p)
{
	struct task_struct___before_5_14 *old = (void *)p;

	if (bpf_core_field_exists(p->__state))
		return p->__state;
	return BPF_CORE_READ(old, state);
}

/* The state, STATE_ bits, in which a task leaves its CPU at a sched_switch; 0:
 * it may run on.
 *   ctx  the program's: its fourth argument, if the kernel gives it, is the
 *        state at the decision; a waker may have changed the task's since
 * Before Linux 6.16 that argument is wrong for a task that a pending signal
 * kept from sleeping: only the task's own state is TASK_RUNNING then.  No waker
 * can have set that: it needs the run queue's lock, which the switch holds. */
static __always_inline __u64
state_left(struct task_struct *prev, bool preempt, const __u64 *ctx)
{
	__u64 now = task_state(prev);

	if (preempt || now == 0)
		return 0;
	return config.state_given ? (__u32)ctx[3] : now;
}

/* True if the CPU quota of a task's cgroup is used up.  False if the kernel has
 * no quotas, or keeps this elsewhere. */
static __always_inline bool
is_throttled(struct task_struct *p)
{
	struct task_struct___throttled *now = (void *)p;
	struct task_struct___entity *before = (void *)p;
	struct cfs_rq *queue = NULL;

	if (bpf_core_field_exists(now->throttled))
		return BPF_CORE_READ(now, throttled);
	if (!bpf_core_field_exists(before->se.cfs_rq) ||
	    !bpf_core_field_exists(queue->throttle_count))
		return false;
	queue = BPF_CORE_READ(before, se.cfs_rq);
	return queue != NULL && BPF_CORE_READ(queue, throttle_count) > 0;
}

/* Time that the host has taken so far, ns, of the CPU that a task has or
 * leaves.  0 if the CPU is not virtual, or if the kernel does not account for
 * this at each switch. */
static __always_inline __u64
stolen_by_now(struct task_struct *p)
{
	struct task_struct___entity *task = (void *)p;
	struct cfs_rq *queue = NULL;
	struct rq *cpu = NULL;

	if (!bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(queue->rq) ||
	    !bpf_core_field_exists(cpu->prev_steal_time_rq))
		return 0;
	return task->se.cfs_rq->rq->prev_steal_time_rq;
}

/* A task's registers as it entered the kernel, or NULL: this kernel does not
 * let programs read them (before 5.15). */
static __always_inline struct pt_regs *
regs_of(struct task_struct *p)
{
	if (!bpf_core_enum_value_exists(
		enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return NULL;
	return (void *)bpf_task_pt_regs(p);
}

/* The number of the system call that a task sleeps in, plus 1; 0: there is none
 * (as in a page fault), or the program is of 32 bits and has other numbers, or
 * the number cannot be read.  A thread of the kernel's own within a process
 * (io_uring) has no instruction pointer.
 *   futex  receives the word that it sleeps on in futex, else is unchanged */
static __always_inline __u64
call_of(struct task_struct *p, __u64 *futex)
{
	struct pt_regs *regs = regs_of(p);
	__u64 first;
	__s64 number;

	if (regs == NULL)
		return 0;
#if defined(__TARGET_ARCH_x86)
	if (regs->ip == 0 ||
	    ((struct task_struct___x86 *)p)->thread_info.status & X86_TS_COMPAT)
		return 0;
	number = (__s64)regs->orig_ax;
	first = regs->di;
#elif defined(__TARGET_ARCH_arm64)
	if (regs->user_regs.pc == 0 ||
	    regs->user_regs.pstate & ARM64_PSTATE_32BIT)
		return 0;
	number = regs->syscallno;
	first = regs->user_regs.regs[0];
#endif
	if (number == CALL_FUTEX)
		*futex = first;
	return number >= 0 && number < CALLS ? (__u64)number + 1 : 0;
}
