/* runtimes.bpf.c: report at the probes of a language runtime (table.c) what the
 * agent of a JVM reports.
 *
 * A server's channel is written by one thread at a time, the one that collects,
 * but slots are still reserved by an atomic addition. */
/* clang-format off */
#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
/* clang-format on */

#include "profiler/runtimes/abi.h"
#include "talechain/talechain.h"

#define CHANNEL_BYTES (TALECHAIN_HEADER_BYTES + (64 << RUNTIME_SLOT_LOG2))

char runtimes_license[] SEC("license") = "Dual BSD/GPL";

struct runtime_watch watch SEC(".data.watch") = {0};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RUNTIME_SERVERS);
	__uint(key_size, 4);
	__uint(value_size, CHANNEL_BYTES);
} channels SEC(".maps");

/* State of a process between two probes. */
struct runtime_process {
	__u64 watched; /* watch.turn << 32 | tgid of which this is the state */
	__u64 collections, safepoints;
	__u64 collection_ns, safepoint_ns; /* when each began; 0: none */
	__u64 cause;			   /* of the JVM operation that runs */
	__u64 collected;		   /* 1: in this safepoint */
};
struct runtime_process processes[RUNTIME_SERVERS] SEC(".bss.processes");

/* The server whose process hit the probe, or -1. */
static __always_inline int
server_here(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	int i;

#pragma unroll
	for (i = 0; i < RUNTIME_SERVERS; i++)
		if (watch.tgid[i] == tgid)
			return i;
	return -1;
}

/* The state of the present process, which is the server's.  What is there of
 * another, or of the time before it was watched, is forgotten: a process may be
 * killed within a collection. */
static __always_inline struct runtime_process *
process_of(int server)
{
	__u32 i = server & (RUNTIME_SERVERS - 1);
	struct runtime_process *j = &processes[i];
	__u64 watched =
	    (__u64)watch.turn[i] << 32 | bpf_get_current_pid_tgid() >> 32;

	if (j->watched != watched) {
		__builtin_memset(j, 0, sizeof(*j));
		j->watched = watched;
	}
	return j;
}

static __always_inline char *
channel_of(int server)
{
	__u32 key = (__u32)server;

	return bpf_map_lookup_elem(&channels, &key);
}

/* The arguments of a pause's event. */
struct runtime_pause {
	__u32 type;
	__u64 cause, count;
	__u64 begin_ns; /* of its end; 0: this is the begin, or unknown */
	__u32 process;	/* the only process stopped; 0: the server */
};

/* Write one event, as talechain_emit_at does. */
static __always_inline void
emit(char *memory, __u64 ts, const struct runtime_pause *p)
{
	struct talechain_channel *channel = (struct talechain_channel *)memory;
	__u64 i = __sync_fetch_and_add(&channel->head, 1);
	__u64 task = bpf_get_current_pid_tgid();
	struct talechain_event *e;

	e = (void *)(memory + TALECHAIN_HEADER_BYTES +
		     (i & ((1 << RUNTIME_SLOT_LOG2) - 1)) *
			 TALECHAIN_SLOT_BYTES);
	__sync_lock_test_and_set(&e->seq, 2 * i + 1);
	e->ts = ts;
	e->tid = task;
	e->pid = task >> 32;
	e->type = p->type;
	e->version = 1;
	e->flags = 0;
	e->cpu = bpf_get_smp_processor_id();
	e->arg[0] = p->cause;
	e->arg[1] = p->count;
	e->arg[2] = p->begin_ns != 0 ? ts - p->begin_ns : 0;
	e->arg[3] = p->process;
	__sync_lock_test_and_set(&e->seq, 2 * i + 2);
}

/* Publish the state word with the next epoch, after cause and time. */
static __always_inline void
state(char *memory, __u32 value, __u64 cause, __u64 since)
{
	struct talechain_channel *channel = (struct talechain_channel *)memory;
	__u64 old = channel->state, epoch = (old >> 8) + 1;

	channel->word[TALECHAIN_WORD_SINCE] = since;
	channel->word[TALECHAIN_WORD_CAUSE] = cause;
	__sync_lock_test_and_set(&channel->state,
	    epoch << 8 | (old & TALECHAIN_STATE_MARKING) | value);
}

/* Four characters as one number, as they are in memory. */
#define FOUR(a, b, c, d) ((__u32)(a) | (b) << 8 | (c) << 16 | (__u32)(d) << 24)
#define NAME_BYTES 40 /* longer names are not collections */

/* The cause of a collection from the name of the VM operation, such as
 * G1CollectForAllocation, ParallelGCSystemGC, GenCollectFull (in JDK 25
 * ParallelGCCollect, SerialGCCollect) or CollectForMetadataAllocation. */
static __always_inline __u64
cause_of(const char *name)
{
	__u64 cause = TALECHAIN_CAUSE_OTHER;
	__u32 four;
	int i;

#pragma unroll
	for (i = 0; i < NAME_BYTES - 4; i++) {
		four = FOUR((__u8)name[i], (__u8)name[i + 1], (__u8)name[i + 2],
		    (__u8)name[i + 3]);
		if (four == FOUR('M', 'e', 't', 'a'))
			return TALECHAIN_CAUSE_METADATA;
		if (four == FOUR('D', 'u', 'm', 'p') ||
		    four == FOUR('I', 'n', 's', 'p'))
			return TALECHAIN_CAUSE_HEAP_DUMP;
		if (four == FOUR('A', 'l', 'l', 'o'))
			cause = TALECHAIN_CAUSE_ALLOCATION;
		if (four == FOUR('F', 'u', 'l', 'l') ||
		    four == FOUR('S', 'y', 's', 't') ||
		    four == FOUR('G', 'C', 'C', 'o'))
			cause = TALECHAIN_CAUSE_EXPLICIT;
	}
	return cause;
}

SEC("usdt")
int
BPF_USDT(on_operation, const char *text, long length)
{
	int server = server_here();
	char name[NAME_BYTES] = "";

	if (server < 0)
		return 0;
	/* The name is not terminated. */
	if (length > 0 && length < NAME_BYTES)
		bpf_probe_read_user(name, (__u32)length, text);
	process_of(server)->cause = cause_of(name);
	return 0;
}

/* Get the state and the channel of the process that hit the probe.  False: it
 * is no server's process. */
static __always_inline bool
process_here(struct runtime_process **j, char **memory)
{
	int server = server_here();

	if (server < 0)
		return false;
	*j = process_of(server);
	*memory = channel_of(server);
	return *memory != NULL;
}

/* The server of which the process that hit the probe is a worker, or -1. */
static __always_inline int
server_of_worker(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	int i, k;

	for (i = 0; i < RUNTIME_SERVERS; i++)
		for (k = 0; k < RUNTIME_WORKERS; k++)
			if (watch.worker[i][k] == tgid)
				return i;
	return -1;
}

/* Workers that collect: key: process; value: since when. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RUNTIME_SERVERS *RUNTIME_WORKERS);
	__type(key, __u32);
	__type(value, __u64);
} collecting SEC(".maps");

static __noinline int
worker_begin(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	__u64 now = bpf_ktime_get_ns();

	if (server_of_worker() >= 0)
		bpf_map_update_elem(&collecting, &tgid, &now, BPF_ANY);
	return 0;
}

/* A worker's collection does not change the server's state: only the end of the
 * collection is reported. */
static __noinline int
worker_end(__u64 cause)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct runtime_pause p = {.type = TALECHAIN_JVM_GC_END};
	int server = server_of_worker();
	__u64 *begin_ns;
	char *memory;

	if (server < 0)
		return 0;
	memory = channel_of(server);
	begin_ns = bpf_map_lookup_elem(&collecting, &tgid);
	if (memory == NULL || begin_ns == NULL)
		return 0;
	p.cause = cause;
	p.begin_ns = *begin_ns;
	p.process = tgid;
	emit(memory, bpf_ktime_get_ns(), &p);
	bpf_map_delete_elem(&collecting, &tgid);
	return 0;
}

/* A collection begins.  cause: 0: the cause of the JVM operation counts. */
static __always_inline int
collection_begin(__u64 cause)
{
	__u64 now = bpf_ktime_get_ns();
	struct runtime_pause p = {.type = TALECHAIN_JVM_GC_BEGIN};
	struct runtime_process *j;
	char *memory;

	if (!process_here(&j, &memory))
		return 0;
	if (cause != 0)
		j->cause = cause;
	j->collection_ns = now;
	j->collected = 1;
	p.count = ++j->collections;
	p.cause = j->cause;
	state(memory, TALECHAIN_JVM_GC, p.cause, now);
	emit(memory, now, &p);
	return 0;
}

/* A collection ends; one whose begin was not seen is not reported. */
static __always_inline int
collection_end(void)
{
	__u64 now = bpf_ktime_get_ns();
	struct runtime_pause p = {.type = TALECHAIN_JVM_GC_END};
	struct runtime_process *j;
	char *memory;

	if (!process_here(&j, &memory) || j->collection_ns == 0)
		return 0;
	p.count = j->collections;
	p.cause = j->cause;
	p.begin_ns = j->collection_ns;
	j->collection_ns = 0;
	state(memory, TALECHAIN_JVM_RUNNING, p.cause, now);
	emit(memory, now, &p);
	return 0;
}

SEC("usdt")
int
BPF_USDT(on_gc_begin)
{
	return collection_begin(0);
}

SEC("usdt")
int
BPF_USDT(on_gc_end)
{
	return collection_end();
}

/* True if this is the process's first thread.  In Node other threads have heaps
 * of their own, and their collections stop only themselves. */
static __always_inline bool
is_first_thread(void)
{
	__u64 task = bpf_get_current_pid_tgid();

	return (__u32)task == task >> 32;
}

SEC("uprobe")
int
on_v8_begin(void *context)
{
	if (!is_first_thread())
		return 0;
	if (server_here() < 0)
		return worker_begin();
	return collection_begin(TALECHAIN_CAUSE_V8);
}

SEC("uprobe")
int
on_v8_end(void *context)
{
	if (!is_first_thread())
		return 0;
	if (server_here() < 0)
		return worker_end(TALECHAIN_CAUSE_V8);
	return collection_end();
}

/* V8 begins or ends marking of its old generation, in steps between and within
 * the program's own work.  This changes the state, but not its epoch. */
static __always_inline int
marking(__u64 flag)
{
	__u64 now = bpf_ktime_get_ns();
	struct talechain_channel *channel;
	struct runtime_process *j;
	char *memory;
	__u64 old;

	if (!is_first_thread() || !process_here(&j, &memory))
		return 0;
	channel = (struct talechain_channel *)memory;
	old = channel->state;
	if ((old & TALECHAIN_STATE_MARKING) == flag)
		return 0;
	channel->word[TALECHAIN_WORD_SINCE] = now;
	channel->word[TALECHAIN_WORD_CAUSE] = TALECHAIN_CAUSE_V8;
	__sync_lock_test_and_set(
	    &channel->state, (old & ~(__u64)TALECHAIN_STATE_MARKING) | flag);
	return 0;
}

SEC("uprobe")
int
on_v8_marking_begin(void *context)
{
	return marking(TALECHAIN_STATE_MARKING);
}

SEC("uprobe")
int
on_v8_marking_end(void *context)
{
	return marking(0);
}

/* Collections of younger generations are many and short: not reported. */
#define PYTHON_OLDEST 2

SEC("usdt")
int
BPF_USDT(on_python_begin, int generation)
{
	if (generation != PYTHON_OLDEST)
		return 0;
	if (server_here() < 0)
		return worker_begin();
	return collection_begin(TALECHAIN_CAUSE_CPYTHON);
}

SEC("usdt")
int
BPF_USDT(on_python_end)
{
	if (server_here() < 0)
		return worker_end(TALECHAIN_CAUSE_CPYTHON);
	return collection_end();
}

SEC("usdt")
int
BPF_USDT(on_safepoint_begin)
{
	__u64 now = bpf_ktime_get_ns();
	struct runtime_pause p = {.type = TALECHAIN_JVM_SAFEPOINT_BEGIN};
	struct runtime_process *j;
	char *memory;

	if (!process_here(&j, &memory))
		return 0;
	/* The cause is not known yet. */
	j->cause = TALECHAIN_CAUSE_UNKNOWN;
	j->collected = 0;
	j->safepoint_ns = now;
	p.count = ++j->safepoints;
	emit(memory, now, &p);
	return 0;
}

SEC("usdt")
int
BPF_USDT(on_safepoint_end)
{
	__u64 now = bpf_ktime_get_ns();
	struct runtime_pause p = {.type = TALECHAIN_JVM_SAFEPOINT_END};
	struct runtime_process *j;
	char *memory;

	if (!process_here(&j, &memory))
		return 0;
	p.count = j->safepoints;
	p.cause = j->collected ? j->cause : TALECHAIN_CAUSE_NOT_GC;
	p.begin_ns = j->safepoint_ns;
	j->safepoint_ns = 0;
	emit(memory, now, &p);
	return 0;
}
