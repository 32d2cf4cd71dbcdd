/* sched.bpf.c: wake-ups, run queues.
 *
 * sched_waking runs in the waker's context and gives WAKEUP.  sched_wakeup runs
 * where the woken task was queued, often on another CPU, in the context of an
 * unrelated task: the wait for a CPU begins, which SCHEDULE reports. */
#include "profiler/kernel/peer.bpf.h"
#include "profiler/kernel/stack.bpf.h"

#define POLICY_IDLE 5 /* SCHED_IDLE */
#define GROUPS 8      /* groups above a task that are read, at most */
#define WAIT_MOST ((1ULL << TALECHAIN_WAIT_BITS) - 1)

/* A task's name is emitted again after this many units of 2^20 ns: 100 ms. */
#define NAME_AGE 95

/* tid << 32 | time, in units of 2^20 ns.  One word, so it cannot tear. */
static __u64 named[KERNEL_NAMES];

/* Emit a task's name, unless it was emitted in the last 100 ms and has not
 * changed: threads set their names a little after they are first seen. */
static __noinline int
name(struct task_struct *p, __u32 tid, __u32 pid, __u64 now_ns)
{
	__u64 *place = &named[tid & (KERNEL_NAMES - 1)];
	__u64 now = (__u32)(now_ns >> 20);
	__u64 text[2] = {0, 0}, old = *place;

	if (tid == 0 || (old >> 32 == tid && (__u32)(now - old) < NAME_AGE))
		return 0;
	*place = (__u64)tid << 32 | now;
	bpf_probe_read_kernel(text, sizeof(text), p->comm);
	return emit(TALECHAIN_THREAD, tid, pid, text[0], text[1]);
}

/* --- the turns of a CPU for which watched threads wait ---------------------
 *
 * Each CPU counts the watched threads that wait for it.  While there are any,
 * switches between two other tasks are reported as well: they show which tasks
 * had the CPU meanwhile.  A queue's lock is held at each of its switches and as
 * tasks are put into it, so only a thread that was moved to another CPU is
 * taken from the count at the same time as others. */

/* The CPU in whose queue a task is. */
static __always_inline __u32
queue_of(struct task_struct *p)
{
	struct task_struct___cpu *now = (void *)p;
	struct task_struct___cpu_before_5_16 *before = (void *)p;

	if (bpf_core_field_exists(now->thread_info.cpu))
		return now->thread_info.cpu;
	return bpf_core_field_exists(before->cpu) ? before->cpu : 0;
}

/* A thread begins to wait for CPU i, at runnable_ns. */
static __always_inline void
queue_enter(struct thread *t, __u32 i)
{
	__u64 from = complete_from();
	struct cpu *cpu;

	if (i >= KERNEL_CPUS)
		return;
	cpu = &cpus[i];
	if (cpu->waiters_ns != from) {
		cpu->waiters_ns = from;
		cpu->waiters = 0;
	}
	if (cpu->waiters <= 0)
		cpu->waited_ns = t->runnable_ns;
	__sync_fetch_and_add(&cpu->waiters, 1);
	t->queue = i + 1;
}

static __always_inline bool
is_waited_for(const struct cpu *cpu)
{
	return cpu->waiters > 0 && cpu->waiters_ns == complete_from();
}

/* Report the switch to the ignored thread that was not reported when it
 * happened. */
static __always_inline void
turn_begun(struct cpu *cpu)
{
	if (cpu->before != 0 && cpu->before_ns >= cpu->waited_ns)
		emit_of(cpu->before, cpu->before_ns, TALECHAIN_SCHEDULE,
		    bpf_get_current_pid_tgid(), 0, 0, cpu->before_how);
	cpu->before = 0;
}

/* The part of a SCHEDULE about how two tasks are scheduled. */
static __always_inline __u64
how_scheduled(struct task_struct *prev, struct task_struct *next)
{
	__u64 how = (__u64)(next->prio & 0xff) << 48;

	if (prev->policy == POLICY_IDLE)
		how |= TALECHAIN_BATCH;
	if (next->policy == POLICY_IDLE)
		how |= TALECHAIN_TO_BATCH;
	return how;
}

/* Report a switch between two tasks that are not watched, on a CPU for which a
 * watched thread waits.  The ignored thread's turns are reported only if
 * another task follows it than was before. */
static __always_inline int
turn(struct cpu *cpu, struct task_struct *prev, struct task_struct *next,
    __u64 state)
{
	__u64 from = task_pair(prev), to = task_pair(next);
	__u64 now = bpf_ktime_get_ns(), how = how_scheduled(prev, next);

	if (state != 0)
		how |= (__u64)off_reason(prev, state) << TALECHAIN_OFF_SHIFT;

	name(prev, prev->pid, prev->tgid, now);
	name(next, next->pid, next->tgid, now);
	if ((__u32)to == watch.ignored) {
		cpu->before = from;
		cpu->before_ns = now;
		cpu->before_how = how;
		return 0;
	}
	if ((__u32)from == watch.ignored && cpu->before == to &&
	    cpu->before_ns >= cpu->waited_ns) {
		cpu->before = 0;
		return 0;
	}
	if ((__u32)from == watch.ignored)
		turn_begun(cpu);
	cpu->before = 0;
	emit_at(now, TALECHAIN_SCHEDULE, to, 0, 0, how);
	return 0;
}

SEC("tp_btf/sched_waking")
int
BPF_PROG(on_waking, struct task_struct *p)
{
	enum talechain_context context = TALECHAIN_CONTEXT_TASK;
	struct task_struct *waker;
	struct thread *t;
	struct cpu *cpu;
	__u32 vector = 0;
	__u64 now, futex = 0;
	__u8 mark;

	if (!sampled() || (mark = task_mark(task_pair(p))) == 0)
		return 0;
	now = bpf_ktime_get_ns();
	cpu = cpu_here();
	if (cpu != NULL && (cpu->inside & ~HANDLER_SOFTIRQ) != 0) {
		context = TALECHAIN_CONTEXT_IRQ;
	} else if (cpu != NULL && cpu->vector != 0) {
		context = TALECHAIN_CONTEXT_SOFTIRQ;
		vector = cpu->vector - 1;
		cpu->served = 1;
	}
	waker = bpf_get_current_task_btf();
	t = mark_watched(mark) ? thread_get(p->pid) : NULL;
	if (t != NULL) {
		t->waker_ns = now;
		t->waker =
		    context == TALECHAIN_CONTEXT_TASK ? task_pair(waker) : 0;
		if (since_resumed(t->futex_ns))
			futex = t->futex;
	}
	name(p, p->pid, p->tgid, now);
	name(waker, waker->pid, waker->tgid, now);
	if (context == TALECHAIN_CONTEXT_TASK &&
	    (mark & KERNEL_MARK_WHOSE) >= KERNEL_MARK_SERVER &&
	    mark_watched(mark))
		peer_woke(p, waker, now);
	emit_at(now, TALECHAIN_WAKEUP, (__u32)p->pid, (__u32)p->tgid,
	    (__u64)context << 32 | vector, futex);
	return 0;
}

static __always_inline int
runnable(struct task_struct *p, bool is_new)
{
	struct thread *t;

	if (is_new) /* its number may have been another's */
		thread_end(p->pid);
	t = thread_get(p->pid);
	if (t == NULL)
		return 0;
	queue_leave(t);
	t->runnable_ns = bpf_ktime_get_ns();
	queue_enter(t, queue_of(p));
	if (is_new) { /* a new task: its creator is the waker */
		t->waker_ns = t->runnable_ns;
		t->waker = bpf_get_current_pid_tgid();
	}
	return 0;
}

SEC("tp_btf/sched_wakeup")
int
BPF_PROG(on_wakeup, struct task_struct *p)
{
	if (!sampled() || !watched(task_pair(p)))
		return 0;
	return runnable(p, false);
}

SEC("tp_btf/sched_wakeup_new")
int
BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	if (!sampled() || !watched(task_pair(p)))
		return 0;
	return runnable(p, true);
}

/* Report the quota that a task's group, or a group above, has used up, and when
 * the kernel renews it.  Of several groups, report the one renewed last. */
static __always_inline void
quota(struct task_struct *p, __u64 now)
{
	struct sched_entity *entity = &((struct task_struct___entity *)p)->se;
	struct cfs_bandwidth *used_up = NULL, *group = NULL;
	struct hrtimer *timer = NULL;
	struct cfs_rq *queue = NULL;

	if (!bpf_core_field_exists(entity->parent) ||
	    !bpf_core_field_exists(queue->throttled) ||
	    !bpf_core_field_exists(group->period_timer) ||
	    !bpf_core_field_exists(timer->_softexpires))
		return;
	for (int i = 0; i < GROUPS && entity != NULL; i++) {
		queue = entity->cfs_rq;
		entity = entity->parent;
		if (queue == NULL || queue->tg == NULL)
			return;
		/* NOLINTNEXTLINE(clang-analyzer-core.*): a constant size */
		if (BPF_CORE_READ_BITFIELD(queue, throttled) == 0)
			continue;
		group = &queue->tg->cfs_bandwidth;
		if (used_up == NULL || group->period_timer._softexpires >
					   used_up->period_timer._softexpires)
			used_up = group;
	}
	if (used_up != NULL)
		emit_at(now, TALECHAIN_QUOTA,
		    (__u64)used_up->period_timer._softexpires,
		    (__u64)used_up->period, used_up->quota, 0);
}

/* A watched task leaves its CPU.  ready: it is still runnable.  futex: the word
 * on which it goes to sleep, or 0. */
static __always_inline void
left(__u32 tid, enum talechain_off off, __u64 now, bool ready, __u64 futex)
{
	struct thread *t;

	if (off == TALECHAIN_OFF_DEAD) {
		thread_end(tid);
		return;
	}
	t = thread_get(tid);
	if (t == NULL)
		return;
	queue_leave(t);
	t->runnable_ns = ready ? now : 0;
	if (off == TALECHAIN_OFF_PREEMPTED)
		queue_enter(t, bpf_get_smp_processor_id());
	t->futex = futex;
	t->futex_ns = now;
}

/* Report the time that the host and interrupts took of prev's run, if the run's
 * begin on this CPU was seen; then begin the run of next. */
static __always_inline void
taken(struct cpu *cpu, struct task_struct *prev, struct task_struct *next,
    __u64 now)
{
	__u64 stolen = stolen_by_now(next), ran_ns = now - cpu->began_ns;

	if (cpu->runs != 0 && cpu->runs == (__u32)prev->pid &&
	    since_resumed(cpu->began_ns)) {
		if (stolen >= cpu->stolen_ns + KERNEL_TAKEN_NS)
			emit_at(now, TALECHAIN_STEAL, stolen - cpu->stolen_ns,
			    ran_ns, 0, 0);
		if (cpu->handled_ns >= KERNEL_TAKEN_NS)
			emit_at(now, TALECHAIN_INTERRUPT, cpu->handled_ns,
			    ran_ns, cpu->handlers, 0);
	}
	cpu->runs = watched(task_pair(next)) ? next->pid : 0;
	cpu->stolen_ns = stolen;
	cpu->began_ns = now;
	cpu->inside = 0;
	cpu->handled_ns = 0;
	cpu->handlers = 0;
}

/* Find the program's stack of a thread that sleeps in futex, if the C library
 * keeps no frame pointer there.  Returns true if found. */
static __always_inline bool
stack_of_lock(struct task_struct *p, struct stack_frames *s)
{
#if defined(__TARGET_ARCH_x86)
	struct pt_regs *regs = regs_of(p);

	return regs != NULL && regs->bp - regs->sp >= STACK_FRAME &&
	       stack_search(s, regs->ip, regs->sp) != 0;
#else
	return false;
#endif
}

/* A thread that has a request goes to sleep: take its stack. */
static __always_inline void
stack_take(
    void *ctx, struct cpu *cpu, struct task_struct *prev, bool lock, __u64 now)
{
	__u32 tid = prev->pid;
	struct thread *t = thread_find(tid);
	struct stack_frames s = {0};

	if (t == NULL || t->busy == 0)
		return;
	t->asleep_ns = 0;
	if (!stack_allowed(cpu, &cpu->looks, KERNEL_STACK_LOOKS, now))
		return;
	t->asleep_ns = now;
	if (!lock || !stack_of_lock(prev, &s))
		bpf_get_stack(ctx, &s, sizeof(s), BPF_F_USER_STACK);
	bpf_map_update_elem(&stacks, &tid, &s, BPF_ANY);
}

/* A thread gets a CPU again: write the program's stack that was taken as it
 * went to sleep, and the kernel's present one. */
static __always_inline void
stack_give(
    struct cpu *cpu, struct task_struct *next, struct thread *t, __u64 now)
{
	__u32 tid = next->pid;
	struct stack_frames *s, kernel = {0};
	__u64 asleep_ns = t->asleep_ns;

	t->asleep_ns = 0;
	if (asleep_ns == 0 || now - asleep_ns < KERNEL_STACK_NS ||
	    !since_resumed(asleep_ns) ||
	    !stack_allowed(cpu, &cpu->stacks, KERNEL_STACKS, now))
		return;
	s = bpf_map_lookup_elem(&stacks, &tid);
	if (s != NULL)
		stack_emit(s, TALECHAIN_STACK_WAITED, next->tgid, tid);
	/* This stack has no frames of the scheduler. */
	bpf_get_task_stack(next, &kernel, sizeof(kernel), 0);
	stack_emit(&kernel, TALECHAIN_STACK_KERNEL, next->tgid, tid);
}

/* A watched task leaves a CPU: count it as unseen if no reported switch gave it
 * that CPU.  A task without state may have run before it was watched. */
static __always_inline void
check_entered(const struct cpu *cpu, __u32 tid)
{
	if (cpu->runs != tid && cpu->began_ns != 0 &&
	    since_resumed(cpu->began_ns) && thread_find(tid) != NULL)
		__sync_fetch_and_add(&tally.unseen, 1);
}

/* A task may not run on: its server may be about to stall.  Where the observer
 * has not taken an earlier record, the kernel does not wake it again. */
static __noinline int
stir(void)
{
	__u64 nothing = 0;

	return bpf_ringbuf_output(&stirs, &nothing, sizeof(nothing), 0);
}

/* Report a switch at which a watched task or a peer gets or leaves a CPU. */
static __always_inline int
switched(
    void *ctx, struct task_struct *prev, struct task_struct *next, __u64 state)
{
	__u8 from = task_mark(task_pair(prev)), to = task_mark(task_pair(next));
	enum talechain_off off = TALECHAIN_OFF_PREEMPTED;
	__u64 now = bpf_ktime_get_ns(), wait_ns = 0, waker = 0, waker_ns = 0;
	__u64 call = 0, futex = 0, whole = 0;
	struct cpu *cpu = cpu_here();
	struct thread *t;

	if (state != 0)
		off = off_reason(prev, state);
	if (from != 0 && state == 0 && is_throttled(prev)) {
		off = TALECHAIN_OFF_THROTTLED;
		quota(prev, now);
	}
	if (from != 0 && state != 0)
		call = call_of(prev, &futex);
	if (mark_watched(from)) {
		if (cpu != NULL)
			check_entered(cpu, prev->pid);
		if (config.stacks && cpu != NULL && state != 0)
			stack_take(ctx, cpu, prev, futex != 0, now);
		left(prev->pid, off, now, state == 0, futex);
	}
	if (to == KERNEL_MARK_PEER && cpu != NULL)
		peer_count(cpu, next->tgid, now);
	t = mark_watched(to) ? thread_find(next->pid) : NULL;
	if (t != NULL) {
		if (t->runnable_ns != 0 && now > t->runnable_ns &&
		    since_resumed(t->runnable_ns))
			wait_ns = now - t->runnable_ns;
		if (since_resumed(t->waker_ns)) {
			waker = t->waker;
			waker_ns = t->waker_ns;
		}
		if (wait_ns > WAIT_MOST)
			wait_ns = WAIT_MOST;
		if (wait_ns != 0 && t->queue == bpf_get_smp_processor_id() + 1)
			whole = TALECHAIN_WHOLE;
		queue_leave(t);
		t->runnable_ns = t->waker = t->waker_ns = t->futex = 0;
	}
	if (cpu != NULL && cpu->idle_end_ns != 0 && prev->pid == 0) {
		emit_at(cpu->idle_end_ns, TALECHAIN_IDLE, cpu->idle_state,
		    cpu->idle_took_ns, 0, 0);
		cpu->idle_end_ns = 0;
	}
	name(prev, prev->pid, prev->tgid, now);
	name(next, next->pid, next->tgid, now);
	if (cpu != NULL) {
		if ((__u32)prev->pid == watch.ignored)
			turn_begun(cpu);
		cpu->before = 0;
		taken(cpu, prev, next, now);
	}
	emit_at(now, TALECHAIN_SCHEDULE, task_pair(next), waker, waker_ns,
	    (__u64)off << TALECHAIN_OFF_SHIFT | how_scheduled(prev, next) |
		call << TALECHAIN_CALL_SHIFT | whole | wait_ns);
	if (config.stacks && cpu != NULL && t != NULL && t->asleep_ns != 0)
		stack_give(cpu, next, t, now);
	if (mark_watched(from) &&
	    (off == TALECHAIN_OFF_THROTTLED || off == TALECHAIN_OFF_STOPPED))
		stir(); /* the event above is there to be read */
	return 0;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(
    on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct cpu *cpu = NULL;
	__u64 state;

	if (!sampled())
		return 0;
	if (task_mark(task_pair(prev)) == 0 &&
	    task_mark(task_pair(next)) == 0) {
		cpu = cpu_here();
		if (cpu == NULL || !is_waited_for(cpu) || prev->pid == 0 ||
		    next->pid == 0)
			return 0;
	}
	state = state_left(prev, preempt, ctx);
	return cpu != NULL ? turn(cpu, prev, next, state)
			   : switched(ctx, prev, next, state);
}

/* The name changed: emit it again. */
SEC("tp_btf/task_rename")
int
BPF_PROG(on_rename, struct task_struct *p)
{
	__u32 tid = p->pid;
	__u64 *place = &named[tid & (KERNEL_NAMES - 1)];

	if (*place >> 32 == tid)
		*place = 0;
	return 0;
}
