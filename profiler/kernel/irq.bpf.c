/* irq.bpf.c: softirqs, interrupts and idling: what a CPU did between tasks.
 *
 * A softirq is reported if it worked for a watched connection, delayed a
 * watched task, or took long; interrupts are stored for the context of a
 * wake-up, and their time is added up in the run of a watched task, which
 * reports the sum when it leaves its CPU (sched.bpf.c).  No kind nests within
 * itself on a CPU, so a mark set at the beginning and cleared at the end is
 * enough.  If the program was not called at an end, the sum is too small until
 * the next interrupt of that kind, or the next switch, corrects the mark:
 * handlers do not switch. */
#include "profiler/kernel/stack.bpf.h"

#define IDLE_EXIT ((__u32)-1)

/* A handler begins.  Only the outermost handler is timed. */
static __always_inline void
handler_enter(struct cpu *cpu, enum handler kind)
{
	if ((cpu->runs != 0 || cpu->epoch_tid != 0) &&
	    (cpu->inside & ~(__u32)kind) == 0)
		cpu->handler_ns = bpf_ktime_get_ns();
	cpu->inside |= kind;
}

/* A handler ends.  counts: add its time to the run, as no event reports it. */
static __always_inline void
handler_leave(struct cpu *cpu, enum handler kind, bool counts)
{
	__u32 inside = cpu->inside;
	bool epoch, run;
	__u64 took_ns;

	cpu->inside = inside & ~(__u32)kind;
	epoch = cpu->epoch_tid != 0 && cpu->handler_ns >= cpu->epoch_ns;
	run = counts && cpu->runs != 0 && cpu->handler_ns >= cpu->began_ns;
	if (inside != kind || (!epoch && !run))
		return;
	took_ns = bpf_ktime_get_ns() - cpu->handler_ns;
	if (epoch)
		cpu->epoch_handled_ns += took_ns;
	if (!run)
		return;
	cpu->handled_ns += took_ns;
	cpu->handlers++;
}

static __always_inline bool
vector_wanted(__u32 vector)
{
	return config.full || vector == KERNEL_NET_RX ||
	       vector == KERNEL_NET_TX;
}

SEC("tp_btf/softirq_raise")
int
BPF_PROG(on_softirq_raise, __u32 vector)
{
	struct cpu *cpu;

	if (!sampled() || !vector_wanted(vector) || vector >= KERNEL_SOFTIRQS)
		return 0;
	cpu = cpu_here();
	/* If it is raised again before it runs, keep the first time. */
	if (cpu != NULL && cpu->raised_ns[vector] == 0)
		cpu->raised_ns[vector] = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int
BPF_PROG(on_softirq_entry, __u32 vector)
{
	struct cpu *cpu = cpu_here();

	if (cpu == NULL || vector >= KERNEL_SOFTIRQS)
		return 0;
	handler_enter(cpu, HANDLER_SOFTIRQ);
	if (!sampled()) {
		cpu->vector = 0;
		cpu->raised_ns[vector] = 0;
		return 0;
	}
	cpu->vector = vector + 1;
	cpu->served = 0;
	cpu->raised = cpu->raised_ns[vector];
	cpu->raised_ns[vector] = 0;
	cpu->softirq_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int
BPF_PROG(on_softirq_exit, __u32 vector)
{
	struct cpu *cpu = cpu_here();
	__u64 now, took_ns;

	if (cpu == NULL)
		return 0;
	if (cpu->vector != vector + 1) {
		handler_leave(cpu, HANDLER_SOFTIRQ, true);
		return 0;
	}
	cpu->vector = 0;
	now = bpf_ktime_get_ns();
	took_ns = now - cpu->softirq_ns;
	if (took_ns < KERNEL_SLOW_NS &&
	    !(vector_wanted(vector) &&
		(cpu->served || watched(bpf_get_current_pid_tgid())))) {
		handler_leave(cpu, HANDLER_SOFTIRQ, true);
		return 0;
	}
	handler_leave(cpu, HANDLER_SOFTIRQ, false);
	emit_at(now, TALECHAIN_SOFTIRQ, vector, took_ns, cpu->raised, 0);
	return 0;
}

static __always_inline int
entered(enum handler kind)
{
	struct cpu *cpu = cpu_here();

	if (cpu != NULL)
		handler_enter(cpu, kind);
	return 0;
}

static __always_inline int
left_handler(enum handler kind)
{
	struct cpu *cpu = cpu_here();

	if (cpu != NULL)
		handler_leave(cpu, kind, true);
	return 0;
}

/* clang-format off */
#define HANDLER(tracepoint, kind)			\
	SEC("tp_btf/" #tracepoint "_entry")		\
	int						\
	BPF_PROG(on_##tracepoint##_entry)		\
	{						\
		return entered(kind);			\
	}						\
	SEC("tp_btf/" #tracepoint "_exit")		\
	int						\
	BPF_PROG(on_##tracepoint##_exit)		\
	{						\
		return left_handler(kind);		\
	}
/* clang-format on */

HANDLER(irq_handler, HANDLER_DEVICE)
HANDLER(call_function, HANDLER_CALL)
HANDLER(call_function_single, HANDLER_CALL_SINGLE)
HANDLER(irq_work, HANDLER_WORK)
HANDLER(ipi, HANDLER_IPI)

/* Write the stack of a thread that has a request and has computed for long. */
static __always_inline void
stack_sample(void *ctx, struct cpu *cpu)
{
	__u64 now, task;
	struct stack_frames s = {0};
	struct thread *t;

	if (cpu->runs == 0 || !since_resumed(cpu->began_ns))
		return;
	task = bpf_get_current_pid_tgid();
	now = bpf_ktime_get_ns();
	if (cpu->runs != (__u32)task || now - cpu->began_ns < KERNEL_STACK_NS)
		return;
	t = thread_find((__u32)task);
	if (t == NULL || t->busy == 0 ||
	    !stack_allowed(cpu, &cpu->stacks, KERNEL_STACKS, now))
		return;
	bpf_get_stack(ctx, &s, sizeof(s), BPF_F_USER_STACK);
	stack_emit(&s, TALECHAIN_STACK_RAN, task >> 32, (__u32)task);
}

/* The tick comes only while a CPU has work: samples cost no interrupt. */
SEC("tp_btf/local_timer_entry")
int
BPF_PROG(on_timer_entry)
{
	struct cpu *cpu = cpu_here();

	if (cpu == NULL)
		return 0;
	handler_enter(cpu, HANDLER_TIMER);
	if (config.stacks && sampled())
		stack_sample(ctx, cpu);
	return 0;
}

SEC("tp_btf/local_timer_exit")
int
BPF_PROG(on_timer_exit)
{
	return left_handler(HANDLER_TIMER);
}

/* Store when a CPU was idle; sched_switch reports that if a watched task runs
 * next. */
SEC("tp_btf/cpu_idle")
int
BPF_PROG(on_idle, __u32 state)
{
	struct cpu *cpu = cpu_here();
	__u64 now = bpf_ktime_get_ns();

	if (cpu == NULL)
		return 0;
	if (state != IDLE_EXIT) {
		cpu->idle_ns = now;
		cpu->idle_state = state;
	} else if (cpu->idle_ns != 0) {
		cpu->idle_end_ns = now;
		cpu->idle_took_ns = now - cpu->idle_ns;
	}
	return 0;
}
