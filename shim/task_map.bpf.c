/* task_map.bpf.c: store which task each CPU runs. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "shim/task_map_abi.h"

struct task_struct {
	int pid, tgid;
} __attribute__((preserve_access_index));

char task_map_license[] SEC("license") = "Dual BSD/GPL";

struct task_map_cpu cpus[TASK_MAP_CPUS] SEC(".bss.cpus");

SEC("tp_btf/sched_switch")
int
BPF_PROG(
    on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id() & (TASK_MAP_CPUS - 1);
	__u32 tid = (__u32)next->pid;

	cpus[cpu].running = tid == 0 ? 0 : (__u64)(__u32)next->tgid << 32 | tid;
	return 0;
}
