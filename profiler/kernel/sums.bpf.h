/* sums.bpf.h: what a thread did with a request, as sums.
 *
 * An epoch of a thread begins where it receives from a watched connection and
 * ends where it sends there.  Meanwhile its time is added up by what it did; at
 * the end the sums are written as two events.  So a request costs two events,
 * not twenty to seventy, and what is lost is the order of things.
 *
 * If a thread with an epoch wakes a thread of its process that has none, the
 * woken thread becomes its heir: the request may go on there.  The thread that
 * sends the response was the one that had the request.
 *
 * An epoch's fields are written by the CPU that runs its thread and, while the
 * thread has no CPU, by the CPU that wakes the thread. */
#pragma once

#include "profiler/kernel/emit.bpf.h"

enum epoch_state {
	EPOCH_RUNS,
	EPOCH_READY,	 /* woken, and without a CPU */
	EPOCH_PREEMPTED, /* preempted, and without a CPU */
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
	__u64 cookie;	/* cookie of the server's socket */
	__u64 sum_ns[EPOCH_STATES];
	__u64 way_ns;		     /* time from Tailor's send; 0: not known */
	__u64 stolen_ns, handled_ns; /* taken of ended runs */
	__u64 fault_ns;
	/* For the present run: the CPU's accounts at its begin, and the part of
	 * the run before the epoch. */
	__u64 run_stolen_ns, run_handled_ns, run_before_ns;
	__u64 fault_from_ns; /* 1 + epoch_ran at the fault's begin; 0: none */
	__u32 state;
	__u32 futex;  /* 1: asleep in futex */
	__u32 marks;  /* enum talechain_epoch */
	__u32 handed; /* 1: the thread has an heir */
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

/* The open epoch of the task that has this CPU, or NULL. */
static __always_inline struct epoch *
epoch_here(const struct cpu *cpu)
{
	if (cpu == NULL || cpu->epoch_tid == 0 ||
	    cpu->epoch_tid != (__u32)bpf_get_current_pid_tgid())
		return NULL;
	return epoch_find(bpf_get_current_task_btf());
}

/* How long an epoch's thread, which runs, has had a CPU so far. */
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

/* The page fault ends.  Only the time on a CPU counts as fault: a wait for disk
 * is in another sum. */
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
