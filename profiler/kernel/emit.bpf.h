/* emit.bpf.h: what all programs share: the channels, the watched processes, and
 * the state kept between two events.
 *
 * The memory itself is in memory.bpf.c.  Programs run with migration disabled
 * and interrupts on, so one may be interrupted by another on the same CPU at
 * any point: slots are reserved by an atomic addition, and an interrupted slot
 * is completed after the ones that follow it.
 *
 * Cost: a task that is not watched pays the hook itself and the load of its
 * process's byte; an event costs about 80 ns. */
#pragma once

/* clang-format off */
#include "profiler/kernel/types.bpf.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */

#include "profiler/kernel/abi.h"
#include "talechain/talechain.h"

extern const volatile struct kernel_config config;
extern struct kernel_watch watch;
extern struct kernel_tally tally;
extern struct kernel_gate gate;

/* One channel for each CPU; sizes are set by the loader. */
struct channels {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, TALECHAIN_HEADER_BYTES);
};
extern struct channels channels SEC(".maps");

/* Wakes the observer, which sleeps until one of the records, of nothing, is
 * here.  As large as a page: set by the loader. */
struct stirs {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};
extern struct stirs stirs SEC(".maps");

/* State of a thread of a watched process. */
struct thread {
	__u64 runnable_ns; /* when it began to wait for a CPU; 0: not waiting */
	__u64 waker_ns;	   /* time of the last wake-up; 0: reported */
	__u64 waker;	   /* pid << 32 | tid of the waker; 0: an interrupt */
	__u64 fault_ns;	   /* when its page fault began; 0: none */
	__u64 fault_address;
	__u64 call_ns; /* when its system call began; 0: none */
	__u64 parameter[3];
	__u32 call;
	__u32 fault_order;  /* largest order of a block of pages it got */
	__u64 asleep_ns;    /* when it fell asleep with a request, or 0 */
	__u64 futex;	    /* the word that it sleeps on; 0: none */
	__u64 futex_ns;	    /* since when it sleeps on futex */
	__u32 busy;	    /* 1: received a request, sent nothing since */
	__u32 reclaim_kind; /* enum talechain_reclaim */
	__u64 reclaim_ns;   /* since when it frees memory; 0: it does not */
	__u32 queue; /* the CPU that counts it in waiters, + 1; 0: none */
	__u32 pad;
};

/* State of each thread of a watched process, by tid. */
struct threads {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KERNEL_THREADS);
	__type(key, __u32);
	__type(value, struct thread);
};
extern struct threads threads SEC(".maps");

/* Interruptions of a thread on its CPU, each a bit of cpu.inside. */
enum handler {
	HANDLER_SOFTIRQ = 1,
	HANDLER_DEVICE = 2,
	HANDLER_TIMER = 4,
	HANDLER_CALL = 8, /* a call by another CPU */
	HANDLER_CALL_SINGLE = 16,
	HANDLER_WORK = 32,
	HANDLER_IPI = 64, /* arm64: any from another CPU */
};

/* State of a CPU.  Softirqs do not nest, nor do interrupts of one kind. */
struct cpu {
	__u64 softirq_ns;		  /* when vector began */
	__u64 raised_ns[KERNEL_SOFTIRQS]; /* 0: not raised, or unknown */
	__u64 raised;			  /* raised_ns of vector */
	__u32 vector;			  /* running softirq + 1; 0: none */
	__u32 inside;			  /* enum handler, all that run */
	__u32 served; /* the softirq handled a watched connection */
	__u32 idle_state;
	__u64 idle_ns;	    /* when it began to idle */
	__u64 idle_end_ns;  /* when it stopped idling; 0: reported */
	__u64 idle_took_ns; /* how long it idled */
	__u64 began_ns;	    /* when the task in runs got the CPU */
	__u64 stolen_ns;    /* what the host had taken of the CPU by then */
	__u32 runs;	    /* tid of a watched task; 0: none, or not seen */
	__u32 handlers;	    /* number that ended in its run */
	__u64 handler_ns;   /* when the outermost handler began */
	__u64 handled_ns;   /* time that all handlers took */
	__u32 stack_second; /* the 2^30 ns that stacks and looks count */
	__u32 stacks, looks;
	/* For sums.bpf.h.  epoch_tid: the thread that has the CPU and an epoch,
	 * 0: none; epoch_ns: since when; epoch_handled_ns: what interrupts have
	 * ever taken from such threads. */
	__u32 epoch_tid;
	__u32 sum_second;	/* the 2^30 ns that the following count */
	__u32 sums, long_sums;	/* events written */
	__u32 ended, ended_was; /* epochs that ended in it; before it */
	__u64 length_ns, length_was_ns; /* sums of their lengths */
	__u64 epoch_ns;
	__u64 epoch_handled_ns;
	__u64 turn_ns;	      /* when a watched thread last got the CPU */
	__u64 turn_stolen_ns; /* what the host had taken by then */
	/* Watched threads that began to wait for this CPU since waiters_ns,
	 * which is complete_from(), and have got no CPU yet; waited_ns: since
	 * when there are any. */
	__s32 waiters;
	__u32 peer_switches; /* to peers, in peer_second */
	__u64 waiters_ns, waited_ns;
	/* The task, pid << 32 | tid, whose turn the ignored thread interrupted,
	 * 0: none; when, and the last argument of that switch. */
	__u64 before, before_ns, before_how;
	__u32 peer_second; /* the 2^30 ns that peer_switches counts */
} __attribute__((aligned(64)));

extern struct cpu cpus[KERNEL_CPUS];

/* The state of this CPU, or NULL. */
static __always_inline struct cpu *
cpu_here(void)
{
	__u32 i = bpf_get_smp_processor_id();

	return i < KERNEL_CPUS ? &cpus[i] : NULL;
}

/* enum kernel_mark of each process; the loader sets how many pages. */
struct processes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, KERNEL_PAGE);
};
extern struct processes processes SEC(".maps");

/* The byte of a process; NULL: its number was not possible when we started. */
static __always_inline __u8 *
process_mark(__u32 tgid)
{
	__u32 page = tgid / KERNEL_PAGE;
	__u8 *mark = bpf_map_lookup_elem(&processes, &page);

	return mark != NULL ? &mark[tgid % KERNEL_PAGE] : NULL;
}

/* True while events are written. */
static __always_inline bool
sampled(void)
{
	return gate.paused == 0;
}

/* Since when no event of a task that is watched is missing. */
static __always_inline __u64
complete_from(void)
{
	__u64 resumed = gate.resumed_ns, unwatched = gate.unwatched_ns;

	return resumed > unwatched ? resumed : unwatched;
}

/* True if no event is missing since a stored time, which then is still of
 * use. */
static __always_inline bool
since_resumed(__u64 ns)
{
	return ns >= complete_from();
}

/* The mark of a task, pid << 32 | tid; 0: none of its events are reported. */
static __always_inline __u8
task_mark(__u64 task)
{
	__u8 *mark = process_mark(task >> 32);

	if (mark == NULL || *mark == 0)
		return 0;
	return (__u32)task != watch.ignored ? *mark : 0;
}

/* True if a task with a mark is a server's or ours; of a peer's only switches
 * and wake-ups are reported (peer.bpf.h). */
static __always_inline bool
mark_watched(__u8 mark)
{
	return mark != 0 && mark != KERNEL_MARK_PEER;
}

/* True if a task, pid << 32 | tid, is watched as a server's or ours. */
static __always_inline bool
watched(__u64 task)
{
	return mark_watched(task_mark(task));
}

/* A task as pid << 32 | tid. */
static __always_inline __u64
task_pair(const struct task_struct *p)
{
	return (__u64)(__u32)p->tgid << 32 | (__u32)p->pid;
}

/* The state of a thread, or NULL. */
static __always_inline struct thread *
thread_find(__u32 tid)
{
	return bpf_map_lookup_elem(&threads, &tid);
}

/* The state of a thread, created if missing; NULL: there is no room. */
static __always_inline struct thread *
thread_get(__u32 tid)
{
	struct thread *t = thread_find(tid);
	struct thread none = {0};

	if (t != NULL)
		return t;
	bpf_map_update_elem(&threads, &tid, &none, BPF_NOEXIST);
	t = thread_find(tid);
	if (t == NULL)
		__sync_fetch_and_add(&tally.crowded, 1);
	return t;
}

/* A thread waits for a CPU no longer, or not yet; call this before runnable_ns
 * changes. */
static __always_inline void
queue_leave(struct thread *t)
{
	__u32 i = t->queue - 1;

	t->queue = 0;
	if (i < KERNEL_CPUS && since_resumed(t->runnable_ns))
		__sync_fetch_and_add(&cpus[i].waiters, -1);
}

/* A thread ends: forget its state. */
static __always_inline void
thread_end(__u32 tid)
{
	struct thread *t = thread_find(tid);

	if (t == NULL)
		return;
	queue_leave(t);
	bpf_map_delete_elem(&threads, &tid);
}

/* Write one event of a task, pid << 32 | tid.  The busy mark and the publishing
 * store are exchanges: full barriers on every architecture, and 5 ns each on
 * x86. */
static __always_inline void
emit_of(
    __u64 task, __u64 ts, __u32 type, __u64 a0, __u64 a1, __u64 a2, __u64 a3)
{
	__u32 cpu = bpf_get_smp_processor_id();
	char *channel = bpf_map_lookup_elem(&channels, &cpu);
	struct talechain_event *e;
	__u64 i;

	if (channel == NULL) {
		__sync_fetch_and_add(&tally.ringless, 1);
		return;
	}
	i = __sync_fetch_and_add(
	    &((struct talechain_channel *)channel)->head, 1);
	e = (void *)(channel + TALECHAIN_HEADER_BYTES +
		     (i & config.slot_mask) * TALECHAIN_SLOT_BYTES);
	__sync_lock_test_and_set(&e->seq, 2 * i + 1);
	e->ts = ts;
	e->tid = task;
	e->pid = task >> 32;
	e->type = type;
	e->version = 1;
	e->flags = 0;
	e->cpu = cpu;
	e->arg[0] = a0;
	e->arg[1] = a1;
	e->arg[2] = a2;
	e->arg[3] = a3;
	__sync_lock_test_and_set(&e->seq, 2 * i + 2);
}

/* Write one event of the task that has this CPU. */
static __always_inline void
emit_at(__u64 ts, __u32 type, __u64 a0, __u64 a1, __u64 a2, __u64 a3)
{
	emit_of(bpf_get_current_pid_tgid(), ts, type, a0, a1, a2, a3);
}

/* Write one event with the present time, as a subprogram.  Returns 0. */
static __noinline __attribute__((unused)) int
emit(__u32 type, __u64 a0, __u64 a1, __u64 a2, __u64 a3)
{
	emit_at(bpf_ktime_get_ns(), type, a0, a1, a2, a3);
	return 0;
}
