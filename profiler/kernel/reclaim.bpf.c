/* reclaim.bpf.c: memory that a watched thread had to free before it got some.
 *
 * A thread reclaims for itself when its cgroup is at its limit, or the machine
 * has too little free, and compacts when it needs a larger block.  All are
 * rare, and each is one event, written at its end.  If one happens within
 * another, only the outer one is reported. */
#include "profiler/kernel/emit.bpf.h"

static __always_inline int
reclaim_begin(__u32 kind)
{
	__u64 task = bpf_get_current_pid_tgid();
	struct thread *t;

	if (!sampled() || !watched(task))
		return 0;
	t = thread_get((__u32)task);
	if (t == NULL || (t->reclaim_ns != 0 && since_resumed(t->reclaim_ns)))
		return 0;
	t->reclaim_kind = kind;
	t->reclaim_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int
reclaim_end(__u32 kind, __u64 pages)
{
	__u64 task = bpf_get_current_pid_tgid(), now;
	struct thread *t;

	if (!watched(task))
		return 0;
	t = thread_find((__u32)task);
	if (t == NULL || t->reclaim_ns == 0 || t->reclaim_kind != kind)
		return 0;
	now = bpf_ktime_get_ns();
	if (sampled() && since_resumed(t->reclaim_ns))
		emit_at(now, TALECHAIN_RECLAIM, kind, now - t->reclaim_ns,
		    pages, 0);
	t->reclaim_ns = 0;
	return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int
BPF_PROG(on_group_reclaim)
{
	return reclaim_begin(TALECHAIN_RECLAIM_GROUP);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int
BPF_PROG(on_group_reclaim_end, unsigned long pages)
{
	return reclaim_end(TALECHAIN_RECLAIM_GROUP, pages);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int
BPF_PROG(on_direct_reclaim)
{
	return reclaim_begin(TALECHAIN_RECLAIM_DIRECT);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int
BPF_PROG(on_direct_reclaim_end, unsigned long pages)
{
	return reclaim_end(TALECHAIN_RECLAIM_DIRECT, pages);
}

SEC("tp_btf/mm_compaction_begin")
int
BPF_PROG(on_compaction)
{
	return reclaim_begin(TALECHAIN_RECLAIM_COMPACTION);
}

SEC("tp_btf/mm_compaction_end")
int
BPF_PROG(on_compaction_end)
{
	return reclaim_end(TALECHAIN_RECLAIM_COMPACTION, 0);
}
