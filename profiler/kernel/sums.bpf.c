/* sums.bpf.c: epochs (sums.bpf.h), from their begin to their end.
 *
 * These programs stay attached while the others are paused.  An epoch is
 * written only if a pause overlaps it: the others have written all other epochs
 * in full. */
#include <bpf/bpf_endian.h>

#include "profiler/kernel/sums.bpf.h"
#include "profiler/kernel/task.bpf.h"

#define FAMILY_INET6 10
#define PROTOCOL_TCP 6
#define FLAG_PEEK 0x2
#define FLAG_ERRQUEUE 0x2000
#define LONGEST_NS 0xffffffffULL /* the longest time that fits a field */

/* Tailor's end of a connection to a server, by its local port.  If connections
 * to several servers have the same one, the end that sent last; if the servers'
 * ports are the same, too, sums of one server may have the cookie of a
 * connection to another, so take_sum in slice_kernel.c compares the server.
 * Addresses of servers are not compared here: behind a translation (NAT) a
 * server has another one than Tailor connected to. */
struct end {
	__u64 cookie;
	__u64 sent_ns; /* time of the last send */
	__u32 address; /* of IPv6: its last four bytes */
	__u32 server;  /* the server's port */
};

static struct end ends[65536];

/* The last four bytes of an address, as in struct end. */
static __always_inline __u32
address_fold(const struct sock_common *c, bool local)
{
	__u32 words[4] = {0};

	if (c->skc_family == FAMILY_INET6)
		bpf_probe_read_kernel(words, sizeof(words),
		    local ? &c->skc_v6_rcv_saddr : &c->skc_v6_daddr);
	else
		bpf_probe_read_kernel(&words[3], sizeof(words[3]),
		    local ? &c->skc_rcv_saddr : &c->skc_daddr);
	return words[3];
}

static __always_inline bool
port_watched(__u16 port)
{
	return watch.port[port >> 6] >> (port & 63) & 1;
}

/* The enum kernel_mark that says whose the present process is; 0: not ours. */
static __always_inline __u32
whose(void)
{
	__u8 *mark = process_mark(bpf_get_current_pid_tgid() >> 32);

	return mark != NULL ? *mark & KERNEL_MARK_WHOSE : 0;
}

/* --- what a thread does --------------------------------------------------- */

/* A run of an epoch's thread begins, or the epoch begins within a run. */
static __always_inline void
run_begin(struct epoch *e, struct cpu *cpu, __u32 tid, __u64 now)
{
	cpu->epoch_tid = tid;
	cpu->epoch_ns = now;
	e->run_handled_ns = cpu->epoch_handled_ns;
	e->run_stolen_ns = cpu->turn_stolen_ns;
	e->run_before_ns = now - cpu->turn_ns;
}

/* The run ends.  The host may have taken time of the run before the epoch
 * began: count only the time that it must have taken afterwards. */
static __always_inline void
run_end(struct epoch *e, const struct cpu *cpu, struct task_struct *p)
{
	__u64 stolen = stolen_by_now(p) - e->run_stolen_ns;

	e->handled_ns += cpu->epoch_handled_ns - e->run_handled_ns;
	if ((__s64)stolen > (__s64)e->run_before_ns)
		e->stolen_ns += stolen - e->run_before_ns;
}

static __always_inline enum epoch_state
state_off(struct task_struct *p, __u64 state, __u32 *futex)
{
	__u64 word = 0;

	if (state == 0)
		return is_throttled(p) ? EPOCH_OTHER : EPOCH_PREEMPTED;
	switch (off_reason(p, state)) {
	case TALECHAIN_OFF_SLEEPING:
		call_of(p, &word);
		*futex = word != 0;
		return EPOCH_SLEEPS;
	case TALECHAIN_OFF_DISK:
		return EPOCH_DISK;
	case TALECHAIN_OFF_BLOCKED:
		return EPOCH_BLOCKED;
	default:
		return EPOCH_OTHER;
	}
}

/* True if the thread, which has a CPU, got it at a switch that was not seen.
 * Its time until now then counts as EPOCH_OTHER. */
static __always_inline bool
came_unseen(struct epoch *e, __u64 now)
{
	if (e->state == EPOCH_RUNS)
		return false;
	e->sum_ns[EPOCH_OTHER] += now - e->since_ns;
	e->since_ns = now;
	e->state = EPOCH_RUNS;
	__sync_fetch_and_add(&tally.unseen, 1);
	return true;
}

static __always_inline void
leaves(struct cpu *cpu, struct task_struct *p, __u64 state, __u64 now)
{
	struct epoch *e = epoch_find(p);

	if (e == NULL)
		return;
	if (!came_unseen(e, now) && cpu->epoch_tid == (__u32)p->pid)
		run_end(e, cpu, p);
	e->sum_ns[EPOCH_RUNS] += now - e->since_ns;
	e->since_ns = now;
	e->futex = 0;
	e->switches++;
	/* Store the state last: a waker reads it first. */
	__sync_lock_test_and_set(&e->state, state_off(p, state, &e->futex));
}

static __always_inline void
enters(struct cpu *cpu, struct task_struct *p, __u64 now)
{
	struct epoch *e;
	__u32 state, here;

	cpu->turn_ns = now;
	cpu->turn_stolen_ns = stolen_by_now(p);
	e = epoch_find(p);
	if (e == NULL)
		return;
	state = e->state;
	/* If its wake-up was not seen, the time at which it became ready is not
	 * known; nor if it was not seen to leave its last CPU. */
	if (state != EPOCH_READY && state != EPOCH_PREEMPTED)
		state = EPOCH_OTHER;
	e->sum_ns[state] += now - e->since_ns;
	e->since_ns = now;
	e->state = EPOCH_RUNS;
	here = bpf_get_smp_processor_id();
	e->migrations += e->cpu != here;
	e->cpu = here;
	run_begin(e, cpu, p->pid, now);
}

SEC("tp_btf/sched_switch")
int
BPF_PROG(sum_switch, bool preempt, struct task_struct *prev,
    struct task_struct *next)
{
	struct cpu *cpu = cpu_here();
	bool left = watched(task_pair(prev)), came = watched(task_pair(next));
	__u64 now;

	if (cpu == NULL)
		return 0;
	cpu->inside = 0; /* handlers do not switch */
	if (!left && !came)
		return 0;
	now = bpf_ktime_get_ns();
	if (left)
		leaves(cpu, prev, state_left(prev, preempt, ctx), now);
	cpu->epoch_tid = 0;
	if (came)
		enters(cpu, next, now);
	return 0;
}

/* --- heirs ---------------------------------------------------------------- */

/* A thread is woken: its wait is over. */
static __always_inline void
woken(struct epoch *e, bool peer, __u64 now)
{
	__u32 state = e->state, sum = state;

	if (state < EPOCH_SLEEPS || state == EPOCH_OTHER)
		return;
	if (__sync_val_compare_and_swap(&e->state, state, EPOCH_READY) != state)
		return;
	if (state == EPOCH_SLEEPS && e->futex && peer)
		sum = EPOCH_LOCK;
	if (sum < EPOCH_STATES)
		e->sum_ns[sum] += now - e->since_ns;
	e->since_ns = now;
}

/* True if a thread with epoch e (NULL: none) may take over the request of epoch
 * from: it has no request, or it handed its own on, which was not this one. */
static __always_inline bool
may_inherit(const struct epoch *e, const struct epoch *from)
{
	if (e == NULL || e->begin_ns == 0 || e->marks & TALECHAIN_EPOCH_MORE)
		return true;
	return e->handed &&
	       (e->cookie != from->cookie || e->begin_ns != from->begin_ns);
}

/* Give a woken thread the request that the present thread has. */
static __always_inline void
inherit(struct cpu *cpu, struct task_struct *p, __u64 now)
{
	struct epoch *from = epoch_here(cpu), *e;

	if (from == NULL)
		return;
	e = bpf_task_storage_get(
	    &epochs, p, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (e == NULL || !may_inherit(e, from))
		return;
	*e = *from;
	e->sum_ns[EPOCH_RUNS] += now - from->since_ns;
	e->handled_ns += cpu->epoch_handled_ns - from->run_handled_ns;
	e->since_ns = now;
	e->fault_from_ns = 0;
	e->futex = 0;
	e->handed = 0;
	e->marks |= TALECHAIN_EPOCH_HEIR;
	e->state = EPOCH_READY;
	from->handed = 1;
}

static __always_inline int
waking(struct task_struct *p)
{
	struct cpu *cpu = cpu_here();
	__u64 current = bpf_get_current_pid_tgid(), now;
	struct epoch *e;
	bool peer;

	if (cpu == NULL || !watched(task_pair(p)))
		return 0;
	peer = cpu->inside == 0 && current >> 32 == (__u32)p->tgid;
	e = epoch_find(p);
	now = bpf_ktime_get_ns();
	if (e != NULL)
		woken(e, peer, now);
	/* A task that still has a CPU has not gone to sleep: no heir. */
	if (peer && cpu->epoch_tid == (__u32)current &&
	    ((struct task_struct___smp *)p)->on_cpu == 0)
		inherit(cpu, p, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int
BPF_PROG(sum_waking, struct task_struct *p)
{
	return waking(p);
}

SEC("tp_btf/sched_wakeup_new")
int
BPF_PROG(sum_wakeup_new, struct task_struct *p)
{
	return waking(p);
}

/* --- begin and end -------------------------------------------------------- */

static __always_inline void
epoch_open(struct epoch *e, struct cpu *cpu, __u64 cookie, __u64 now)
{
	__builtin_memset(e, 0, sizeof(*e));
	e->begin_ns = now;
	e->since_ns = now;
	e->cookie = cookie;
	e->cpu = bpf_get_smp_processor_id();
	run_begin(e, cpu, (__u32)bpf_get_current_pid_tgid(), now);
}

/* If a new second has begun, reset a CPU's counts, and keep the last ones if
 * they are of the second before. */
static __always_inline void
second_begins(struct cpu *cpu, __u64 now)
{
	__u32 second = now >> 30;
	bool next = second == cpu->sum_second + 1;

	if (second == cpu->sum_second)
		return;
	cpu->ended_was = next ? cpu->ended : 0;
	cpu->length_was_ns = next ? cpu->length_ns : 0;
	cpu->sum_second = second;
	cpu->sums = cpu->long_sums = cpu->ended = 0;
	cpu->length_ns = 0;
}

/* True if an epoch of this length is to be written. */
static __always_inline bool
chosen(struct cpu *cpu, __u64 length_ns, __u64 now)
{
	second_begins(cpu, now);
	cpu->ended++;
	cpu->length_ns += length_ns;
	if (cpu->ended_was > 0 &&
	    length_ns * cpu->ended_was > KERNEL_SUM_LONG * cpu->length_was_ns)
		return cpu->long_sums++ < config.sums / 2;
	/* Choose by chance: the sums are then spread over the second. */
	if (cpu->ended_was > config.sums &&
	    bpf_get_prandom_u32() % cpu->ended_was >= config.sums)
		return false;
	return cpu->sums++ < config.sums;
}

/* Tailor's end of a server's connection; NULL: the other end is not Tailor's,
 * or is not known. */
static __always_inline const struct end *
tailors_end(const struct sock_common *c)
{
	const struct end *end = &ends[bpf_ntohs(c->skc_dport)];

	return end->server == c->skc_num &&
		       end->address == address_fold(c, false)
		   ? end
		   : NULL;
}

/* A thread of a server receives a request, or more of it. */
static __always_inline void
request_came(struct sock *sk, struct cpu *cpu)
{
	const struct sock_common *c = &sk->__sk_common;
	__u64 now = bpf_ktime_get_ns(), cookie;
	const struct end *end;
	struct epoch *e;

	e = bpf_task_storage_get(&epochs, bpf_get_current_task_btf(), NULL,
	    BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (e == NULL)
		return;
	cookie = bpf_get_socket_cookie(sk);
	if (e->begin_ns != 0 && e->cookie == cookie && !e->handed &&
	    !(e->marks & TALECHAIN_EPOCH_MORE))
		return;
	epoch_open(e, cpu, cookie, now);
	end = tailors_end(c);
	if (end != NULL && end->sent_ns < now)
		e->way_ns = now - end->sent_ns;
}

SEC("tp_btf/sock_recv_length")
int
BPF_PROG(sum_recv, struct sock *sk, int ret, int flags)
{
	struct cpu *cpu = cpu_here();

	if (cpu != NULL && ret > 0 && !(flags & (FLAG_PEEK | FLAG_ERRQUEUE)) &&
	    sk->sk_protocol == PROTOCOL_TCP &&
	    port_watched(sk->__sk_common.skc_num) &&
	    whose() >= KERNEL_MARK_SERVER)
		request_came(sk, cpu);
	return 0;
}

static __always_inline __u64
two(__u64 high, __u64 low)
{
	return high << 32 | (low & LONGEST_NS);
}

/* At most 16 bits. */
static __always_inline __u64
count16(__u32 n)
{
	return n < 0xffff ? n : 0xffff;
}

static __always_inline void
epoch_emit(const struct epoch *e, __u64 tailors, __u64 now)
{
	const __u64 *sum = e->sum_ns;

	emit_at(now, TALECHAIN_EPOCH_SUM, tailors,
	    two(e->way_ns <= LONGEST_NS ? e->way_ns : 0, now - e->begin_ns),
	    two(sum[EPOCH_RUNS], sum[EPOCH_READY]),
	    two(sum[EPOCH_PREEMPTED], sum[EPOCH_SLEEPS]));
	emit_at(now, TALECHAIN_EPOCH_REST,
	    two(sum[EPOCH_LOCK], sum[EPOCH_DISK]),
	    two(sum[EPOCH_BLOCKED], e->stolen_ns),
	    two(e->handled_ns, e->fault_ns),
	    (__u64)e->marks << 48 | count16(e->switches) << 32 |
		count16(e->migrations) << 16 | count16(e->faults));
}

/* A thread sends on the connection whose request it has: end its epoch, write
 * it if needed, and begin the next one.  Returns 0. */
static __noinline int
epoch_end(struct sock *sk, struct cpu *cpu, struct epoch *e)
{
	__u64 now = bpf_ktime_get_ns(), length_ns;
	const struct end *end;
	__u32 marks;

	if (sk == NULL || cpu == NULL || e == NULL)
		return 0;
	length_ns = now - e->begin_ns;
	end = tailors_end(&sk->__sk_common);
	if (end != NULL && (!sampled() || e->begin_ns < gate.resumed_ns)) {
		if (!came_unseen(e, now) && cpu->epoch_tid != 0)
			run_end(e, cpu, bpf_get_current_task_btf());
		e->sum_ns[EPOCH_RUNS] += now - e->since_ns;
		if (length_ns <= LONGEST_NS && chosen(cpu, length_ns, now))
			epoch_emit(e, end->cookie, now);
		else
			__sync_fetch_and_add(&tally.unsummed, 1);
	}
	marks = (e->marks & TALECHAIN_EPOCH_HEIR) | TALECHAIN_EPOCH_MORE;
	epoch_open(e, cpu, e->cookie, now);
	e->marks = marks;
	return 0;
}

/* A thread of Tailor's sends to a server: remember which socket that is. */
static __always_inline void
end_note(struct sock *sk)
{
	const struct sock_common *c = &sk->__sk_common;
	struct end *end = &ends[c->skc_num];
	__u16 server = bpf_ntohs(c->skc_dport);

	if (!port_watched(server))
		return;
	end->sent_ns = bpf_ktime_get_ns();
	if (end->cookie == (__u64)c->skc_cookie.counter)
		return;
	end->server = 0;
	end->address = address_fold(c, true);
	end->cookie = bpf_get_socket_cookie(sk);
	end->server = server;
}

SEC("tp_btf/sock_send_length")
int
BPF_PROG(sum_send, struct sock *sk, int ret)
{
	struct cpu *cpu = cpu_here();
	struct epoch *e;
	__u32 mark;

	if (ret <= 0 || sk->sk_protocol != PROTOCOL_TCP)
		return 0;
	mark = whose();
	if (mark == KERNEL_MARK_SELF)
		end_note(sk);
	if (mark < KERNEL_MARK_SERVER || !port_watched(sk->__sk_common.skc_num))
		return 0;
	e = epoch_find(bpf_get_current_task_btf());
	if (e == NULL)
		return 0;
	if (e->cookie == bpf_get_socket_cookie(sk))
		return epoch_end(sk, cpu, e);
	e->marks |= TALECHAIN_EPOCH_OTHER;
	return 0;
}
