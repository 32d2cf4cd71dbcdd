/* syscall.bpf.c: system calls of watched processes.
 *
 * Off unless configured (profiler.kernel=all): while these programs are
 * attached, every system call of every process takes the kernel's slow path,
 * about 150 ns, to find that its process is not watched.
 *
 * From Linux 6.13 on a task may be preempted inside these programs.  A
 * half-written event then blocks the channel, so preemption is switched
 * off around it where the kernel allows that, from 6.10 on. */
#include "profiler/kernel/emit.bpf.h"

extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

SEC("tp_btf/sys_enter")
int
BPF_PROG(on_call, struct pt_regs *regs, long number)
{
	__u64 task = bpf_get_current_pid_tgid();
	struct thread *t;

	if (!sampled() || !watched(task))
		return 0;
	t = thread_get((__u32)task);
	if (t == NULL)
		return 0;
	t->call = number;
#if defined(__TARGET_ARCH_x86)
	t->parameter[0] = regs->di;
	t->parameter[1] = regs->si;
	t->parameter[2] = regs->dx;
#elif defined(__TARGET_ARCH_arm64)
	t->parameter[0] = regs->user_regs.regs[0];
	t->parameter[1] = regs->user_regs.regs[1];
	t->parameter[2] = regs->user_regs.regs[2];
#endif
	t->call_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int
BPF_PROG(on_call_end)
{
	__u64 task = bpf_get_current_pid_tgid(), now;
	struct thread *t;

	if (!sampled() || !watched(task))
		return 0;
	t = thread_find((__u32)task);
	if (t == NULL || t->call_ns == 0 || !since_resumed(t->call_ns))
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_preempt_disable)
		bpf_preempt_disable();
	emit_at(now, TALECHAIN_SYSCALL,
	    (__u64)t->call << 48 | ((now - t->call_ns) & 0xffffffffffff),
	    t->parameter[0], t->parameter[1], t->parameter[2]);
	if (bpf_preempt_enable)
		bpf_preempt_enable();
	t->call_ns = 0;
	return 0;
}
