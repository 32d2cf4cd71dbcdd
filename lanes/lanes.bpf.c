/* lanes.bpf.c: store what each CPU runs, or for how long batch work runs beside
 * a busy lane; one of both programs is loaded.
 *
 * A lending lane is busy while it runs anything but the idle task and tasks of
 * policy SCHED_IDLE, which are batch work.  A task's policy is seen as it gets a
 * CPU.  Its core's words are written by
 * several CPUs: the count is exact, and a time may miss or count twice a span
 * whose end another CPU reads in the same nanoseconds. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stdbool.h>

#include "talechain/talechain_borrow.h"

#define POLICY_IDLE 5 /* SCHED_IDLE */
#define RING 65536    /* bytes: a page on any machine */

struct task_struct {
	int pid, tgid;
	unsigned int policy;
} __attribute__((preserve_access_index));

char lanes_license[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TALECHAIN_LANES);
	__type(key, __u32);
	__type(value, struct talechain_lane);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TALECHAIN_LANES);
	__type(key, __u32);
	__type(value, struct talechain_asker);
} askers SEC(".maps");

/* Of each borrowing lane, by which its guard is woken. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, TALECHAIN_LANES);
	__type(key, __u32);
	__array(
	    values, struct {
		    __uint(type, BPF_MAP_TYPE_RINGBUF);
		    __uint(max_entries, RING);
	    });
} rings SEC(".maps");

/* Of each core, whether it is guarded although threads ask; ours alone. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TALECHAIN_LANES);
	__type(key, __u32);
	__type(value, __u64);
} guarded SEC(".maps");

/* Wake the guard of a lane, if batch work that does not ask runs on it. */
static __always_inline void
wake(__u32 cpu, __u32 core)
{
	const volatile struct talechain_lane *l =
	    bpf_map_lookup_elem(&lanes, &cpu);
	const volatile struct talechain_asker *a =
	    bpf_map_lookup_elem(&askers, &core);
	const volatile __u64 *g = bpf_map_lookup_elem(&guarded, &core);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u64 nothing = 0;

	if (l == NULL || a == NULL || g == NULL || ring == NULL ||
	    l->since_ns == 0 || (a->threads != 0 && *g == 0))
		return;
	bpf_ringbuf_output(
	    ring, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
}

static __always_inline __u64
core_busy_ns(const volatile struct talechain_lane *core, __u64 now)
{
	__u64 hold = core->hold, changed = core->changed_ns;

	return core->busy_ns + (hold != 0 && now > changed ? now - changed : 0);
}

/* The core's times first, so that who sees hold sees them. */
static __always_inline void
lend(struct talechain_lane *l, volatile struct talechain_lane *core, bool busy,
    __u64 now)
{
	bool last = core->hold == 1;

	if (l->busy == busy)
		return;
	l->busy = busy;
	if (!busy) {
		if (last) {
			core->busy_ns += now - core->changed_ns;
			core->changed_ns = now;
		}
		if (__sync_fetch_and_add(&core->hold, -1) == 1 && !last) {
			core->busy_ns += now - core->changed_ns;
			core->changed_ns = now;
		}
		return;
	}
	if (core->hold == 0)
		core->changed_ns = now;
	if (__sync_fetch_and_add(&core->hold, 1) != 0)
		return;
	for (unsigned i = 0; i < TALECHAIN_BESIDE; i++)
		if (l->beside[i] != 0)
			wake(l->beside[i] - 1U, l->core);
}

static __always_inline void
borrow(struct talechain_lane *l, const volatile struct talechain_lane *core,
    __u32 cpu, bool batch, __u64 now)
{
	__u64 ran, beside;

	if (batch == (l->since_ns != 0))
		return;
	if (batch) {
		l->before_ns = core_busy_ns(core, now);
		/* Either we see hold here, or lend() sees since_ns. */
		__sync_lock_test_and_set(&l->since_ns, now);
		if (core->hold != 0)
			wake(cpu, l->core);
		return;
	}
	ran = now - l->since_ns;
	beside = core_busy_ns(core, now) - l->before_ns;
	l->since_ns = 0;
	/* Beyond that it is the tear of a time. */
	l->overlap_ns += beside < ran ? beside : (__s64)beside < 0 ? 0 : ran;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(store_task, bool preempt, struct task_struct *prev,
    struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), tid = (__u32)next->pid;
	struct talechain_lane *l = bpf_map_lookup_elem(&lanes, &cpu);

	if (l != NULL)
		l->running =
		    tid == 0 ? 0 : (__u64)(__u32)next->tgid << 32 | tid;
	return 0;
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(store_pair, bool preempt, struct task_struct *prev,
    struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id(), at;
	struct talechain_lane *l = bpf_map_lookup_elem(&lanes, &cpu), *core;
	bool batch;

	if (l == NULL || l->role == TALECHAIN_NO_LANE)
		return 0;
	at = l->core;
	core = bpf_map_lookup_elem(&lanes, &at);
	if (core == NULL)
		return 0;
	l->switches++;
	batch = next->pid != 0 && next->policy == POLICY_IDLE;
	if (l->role == TALECHAIN_LENDS)
		lend(l, core, next->pid != 0 && !batch, bpf_ktime_get_ns());
	else
		borrow(l, core, cpu, batch, bpf_ktime_get_ns());
	return 0;
}
