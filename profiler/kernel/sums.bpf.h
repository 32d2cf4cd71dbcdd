/* sums.bpf.h: what a thread did with a request, as sums.
 *
 * An epoch of a thread begins where it receives from a watched connection and
 * ends where it sends there.  Meanwhile its time is added up by what it did; at
 * the end the sums are written as two events.  So a request costs two events,
 * not twenty to seventy, and what is lost is the order of things.
 *
 * A thread that has an epoch and wakes another of its process, which has none,
 * makes it heir: the request may go on there.  Which of them sends shows who
 * had it.
 *
 * The fields of an epoch belong to the CPU that runs its thread; while that is
 * off its CPU, to the one that wakes it. */
#pragma once

#include "profiler/kernel/emit.bpf.h"

enum epoch_state {
	EPOCH_RUNS,
	EPOCH_READY,	 /* woken, and without a CPU */
	EPOCH_PREEMPTED, /* the same, but it had lost one */
	EPOCH_SLEEPS,
	EPOCH_LOCK, /* in futex, until another thread of its process woke it */
	EPOCH_DISK,
	EPOCH_BLOCKED,
	EPOCH_OTHER, /* in no sum */
	EPOCH_STATES,
};

struct epoch {
	__u64 begin_ns; /* 0: none is open */
	__u64 since_ns; /* when state began */
	__u64 cookie;	/* of the server's socket */
	__u64 sum_ns[EPOCH_STATES];
	__u64 way_ns;		     /* since Tailor's send, 0: not known */
	__u64 stolen_ns, handled_ns; /* of the runs that have ended */
	__u64 fault_ns;
	/* Of the present run: what the CPU's accounts were as it began, and how
	 * much of it was before the epoch. */
	__u64 run_stolen_ns, run_handled_ns, run_before_ns;
	__u64 fault_from_ns; /* ran so long as its fault began, plus 1; or 0 */
	__u32 state;
	__u32 futex;  /* it sleeps in futex */
	__u32 marks;  /* enum talechain_epoch */
	__u32 handed; /* it has an heir */
	__u32 switches, migrations, faults, cpu;
};

/* Epoch of each task that has, or had, one. */
struct epoch_storage {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct epoch);
};
extern struct epoch_storage epochs SEC(".maps");

/* The open epoch of a task, or NULL. */
static __always_inline struct epoch *
epoch_find(struct task_struct *p)
{
	struct epoch *e = bpf_task_storage_get(&epochs, p, NULL, 0);

	return e != NULL && e->begin_ns != 0 ? e : NULL;
}

/* The same of the task that has this CPU. */
static __always_inline struct epoch *
epoch_here(const struct cpu *cpu)
{
	if (cpu == NULL || cpu->epoch_tid == 0 ||
	    cpu->epoch_tid != (__u32)bpf_get_current_pid_tgid())
		return NULL;
	return epoch_find(bpf_get_current_task_btf());
}

/* How long it has had a CPU by now. */
static __always_inline __u64
epoch_ran(const struct epoch *e, __u64 now)
{
	return e->sum_ns[EPOCH_RUNS] + (now - e->since_ns);
}

/* A page fault of this CPU's thread begins. */
static __always_inline void
epoch_fault_begin(void)
{
	struct epoch *e = epoch_here(cpu_here());

	if (e != NULL)
		e->fault_from_ns = epoch_ran(e, bpf_ktime_get_ns()) + 1;
}

/* The page fault ends.  Its wait for disk is not counted for it: that is in the
 * sums already. */
static __always_inline void
epoch_fault_end(void)
{
	struct epoch *e = epoch_here(cpu_here());

	if (e == NULL || e->fault_from_ns == 0)
		return;
	e->fault_ns += epoch_ran(e, bpf_ktime_get_ns()) + 1 - e->fault_from_ns;
	e->fault_from_ns = 0;
	e->faults++;
}
