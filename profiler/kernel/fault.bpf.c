/* fault.bpf.c: page faults of watched processes, from begin to end.
 *
 * The end of a fault has no tracepoint.  But there the kernel counts its
 * software events for minor and major faults, and a program may run at each.  A
 * fault that ends in a signal is not counted: the next fault of the thread
 * replaces its begin.
 *
 * The size of a fault is that of the largest block of pages that the thread was
 * given meanwhile: a huge page or single pages.  Sizes in between, large folios
 * and the kernel's own, cannot be attributed. */
#include "profiler/kernel/sums.bpf.h"

static __always_inline int
fault_begin(unsigned long address)
{
	__u64 task = bpf_get_current_pid_tgid();
	struct thread *t;

	if (config.sums != 0)
		epoch_fault_begin();
	if (!sampled() || !watched(task))
		return 0;
	t = thread_get((__u32)task);
	if (t == NULL)
		return 0;
	t->fault_address = address;
	t->fault_order = 0;
	t->fault_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/page_fault_user")
int
BPF_PROG(on_fault_user, unsigned long address)
{
	return fault_begin(address);
}

/* Faults while the kernel copies to or from a process in a system call. */
SEC("tp_btf/page_fault_kernel")
int
BPF_PROG(on_fault_kernel, unsigned long address)
{
	return fault_begin(address);
}

SEC("tp_btf/mm_page_alloc")
int
BPF_PROG(on_page_alloc, void *page, __u32 order)
{
	__u64 task;
	struct thread *t;

	if (!sampled() || order == 0)
		return 0; /* the common case */
	task = bpf_get_current_pid_tgid();
	if (!watched(task))
		return 0;
	t = thread_find((__u32)task);
	if (t != NULL && t->fault_ns != 0 && order > t->fault_order)
		t->fault_order = order;
	return 0;
}

static __always_inline __u64
fault_bytes(__u32 order)
{
	if (order == 0)
		return config.page_bytes;
	return order == config.huge_order ? config.page_bytes << (order & 31)
					  : 0;
}

static __always_inline int
fault_end(__u64 major)
{
	__u64 task = bpf_get_current_pid_tgid(), now;
	struct thread *t;

	if (config.sums != 0)
		epoch_fault_end();
	if (!sampled() || !watched(task))
		return 0;
	t = thread_find((__u32)task);
	if (t == NULL || t->fault_ns == 0 || !since_resumed(t->fault_ns))
		return 0;
	now = bpf_ktime_get_ns();
	emit_at(now, TALECHAIN_PAGEFAULT, t->fault_address, now - t->fault_ns,
	    fault_bytes(t->fault_order), major);
	t->fault_ns = 0;
	return 0;
}

SEC("perf_event")
int
on_fault_minor(void *ctx)
{
	(void)ctx;
	return fault_end(0);
}

SEC("perf_event")
int
on_fault_major(void *ctx)
{
	(void)ctx;
	return fault_end(1);
}
