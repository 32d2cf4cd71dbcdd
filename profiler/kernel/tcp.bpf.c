/* tcp.bpf.c: segments of watched connections, and the calls that send and
 * receive on them.
 *
 * A connection is watched if its local port is one of ours, if its remote port
 * is one of ours and its peer is this machine (which includes the client's side
 * of a request), or if a watched process uses it.  The first two are a bit in a
 * table of ports; the third is a table of cookies, read only if the local
 * port has ever been one of such a connection.  Cookies are never reused, so
 * old entries are harmless and the table drops the oldest.
 *
 * Sequence numbers, flags and windows are those of the headers; the window is
 * not scaled. */
#include <bpf/bpf_endian.h>

#include "profiler/kernel/peer.bpf.h"

#define FAMILY_INET6 10
#define PROTOCOL_TCP 6
#define STATE_TIME_WAIT 6 /* the socket is a smaller structure then */
#define STATE_CLOSE_WAIT 8
#define STATE_NEW_SYN_RECV 12
#define STATE_SYN_SENT 2
#define FLAG_PEEK 0x2
#define FLAG_ERRQUEUE 0x2000
#define FLAG_FIN 0x01
#define NAGLE_OFF 1
#define NAGLE_CORK 2
#define LOOPBACK_MASK bpf_htonl(0xff000000)
#define LOOPBACK bpf_htonl(0x7f000000)

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, KERNEL_FLOWS);
	__type(key, __u64);
	__type(value, __u8);
} flows SEC(".maps");

/* A bit for each local port of a connection that was ever in flows; of its
 * other end, if that is on this machine. */
static __u64 flow_port[65536 / 64], peer_port[65536 / 64];

/* The key of such an other end in flows: this and the ports, its own first. */
#define OTHER_END (1ULL << 63)

/* A TCP header as on the wire, up to its window. */
struct wire {
	__be16 source, destination;
	__be32 sequence, acknowledged;
	__u8 offset, flags;
	__be16 window;
};

/* The header fields of a segment. */
struct segment {
	__u32 sequence, acknowledged, bytes, window;
	__u8 flags;
};

static __always_inline bool
port_watched(__u16 port)
{
	return watch.port[port >> 6] >> (port & 63) & 1;
}

/* True if both ends of a connection have addresses of this machine: the same
 * one, or any of the loopback network. */
static __always_inline bool
peer_is_here(const struct sock_common *c)
{
	__u64 here[2], there[2];

	if (c->skc_family != FAMILY_INET6)
		return c->skc_daddr == c->skc_rcv_saddr ||
		       (c->skc_daddr & LOOPBACK_MASK) == LOOPBACK;
	bpf_probe_read_kernel(here, sizeof(here), &c->skc_v6_rcv_saddr);
	bpf_probe_read_kernel(there, sizeof(there), &c->skc_v6_daddr);
	return here[0] == there[0] && here[1] == there[1];
}

static __always_inline bool
ports_watched(const struct sock_common *c)
{
	return port_watched(c->skc_num) ||
	       (port_watched(bpf_ntohs(c->skc_dport)) && peer_is_here(c));
}

static __always_inline bool
flow_port_known(__u16 port)
{
	return flow_port[port >> 6] >> (port & 63) & 1;
}

/* Note the local port of a connection in flows and, once it has one, its other
 * end. */
static __always_inline void
flow_note(const struct sock_common *c)
{
	__u16 port = c->skc_num, other = bpf_ntohs(c->skc_dport);
	__u64 key = OTHER_END | (__u64)other << 16 | port;
	__u8 yes = 1;

	__sync_fetch_and_or(&flow_port[port >> 6], 1ULL << (port & 63));
	if (port == 0 || !peer_is_here(c))
		return;
	bpf_map_update_elem(&flows, &key, &yes, BPF_ANY);
	__sync_fetch_and_or(&peer_port[other >> 6], 1ULL << (other & 63));
}

static __always_inline bool
flow_listed(const struct sock_common *c)
{
	__u64 cookie = c->skc_cookie.counter;

	return cookie != 0 && bpf_map_lookup_elem(&flows, &cookie) != NULL;
}

/* True if a watched process uses the socket. */
static __always_inline bool
flow_known(const struct sock_common *c)
{
	return flow_port_known(c->skc_num) && flow_listed(c);
}

static __always_inline bool
flow_watched(const struct sock_common *c)
{
	return ports_watched(c) || flow_known(c);
}

/* True if the socket of a call is watched; a watched caller makes it
 * watched. */
static __always_inline bool
call_watched(struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;
	__u64 cookie;
	__u8 yes = 1;

	if (ports_watched(c) || flow_known(c))
		return true;
	if (!watched(bpf_get_current_pid_tgid()))
		return false;
	cookie = bpf_get_socket_cookie(sk);
	bpf_map_update_elem(&flows, &cookie, &yes, BPF_ANY);
	flow_note(c);
	return true;
}

static __always_inline __u64
ports(const struct sock_common *c)
{
	return (__u64)c->skc_num << 48 | (__u64)bpf_ntohs(c->skc_dport) << 32;
}

/* The other end's address if it is IPv4, also if mapped to IPv6; else 0. */
static __always_inline __u32
remote_ipv4(const struct sock_common *c)
{
	__u32 words[4];

	if (c->skc_family != FAMILY_INET6)
		return bpf_ntohl(c->skc_daddr);
	bpf_probe_read_kernel(words, sizeof(words), &c->skc_v6_daddr);
	return words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff)
		   ? bpf_ntohl(words[3])
		   : 0;
}

/* Emit the other end of a connection, with its whole address. */
static __always_inline void
emit_peer(struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;
	__u64 address[2] = {0, 0};

	if (c->skc_family == FAMILY_INET6)
		bpf_probe_read_kernel(
		    address, sizeof(address), &c->skc_v6_daddr);
	emit(TALECHAIN_SOCK_PEER, bpf_get_socket_cookie(sk), address[0],
	    address[1], ports(c) | remote_ipv4(c));
}

/* The ports and the other end's address for a call's event.  An address that
 * does not fit is emitted as an event of its own. */
static __always_inline __u64
ends_of_call(struct sock *sk)
{
	struct sock_common *c = &sk->__sk_common;
	__u32 address = remote_ipv4(c);

	if (address == 0 && flow_known(c))
		emit_peer(sk);
	return ports(c) | address;
}

/* Note that this CPU works for a watched connection, perhaps in a softirq. */
static __always_inline void
serve(void)
{
	struct cpu *cpu = cpu_here();

	if (cpu != NULL)
		cpu->served = 1;
}

/* Read the TCP header of a packet. */
static __always_inline bool
segment_read(const struct sk_buff *skb, struct segment *out)
{
	const unsigned char *at = skb->head + skb->transport_header;
	struct wire w;

	if (bpf_probe_read_kernel(&w, sizeof(w), at) < 0)
		return false;
	out->sequence = bpf_ntohl(w.sequence);
	out->acknowledged = bpf_ntohl(w.acknowledged);
	out->window = bpf_ntohs(w.window);
	out->flags = w.flags;
	out->bytes = skb->len - (__u32)(at - skb->data) - (w.offset >> 4) * 4;
	return true;
}

static __noinline int
emit_segment(
    __u32 type, const struct segment *s, __u64 cookie, __u64 local_remote)
{
	serve();
	return emit(type, cookie, (__u64)s->sequence << 32 | s->acknowledged,
	    (__u64)s->bytes << 32 | s->window, local_remote | s->flags);
}

SEC("tp_btf/tcp_probe")
int
BPF_PROG(on_tcp_probe, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp;
	struct segment s;
	__u32 type = TALECHAIN_TCP_RECV;

	if (!sampled() || !flow_watched(&sk->__sk_common) ||
	    !segment_read(skb, &s))
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (tp == NULL)
		return 0;
	if (s.bytes == 0 && (s.flags & FLAG_FIN) == 0) {
		if ((__s32)(s.acknowledged - tp->snd_una) <= 0)
			return 0; /* nothing new: a window, a keep-alive */
		type = TALECHAIN_TCP_ACK;
	}
	return emit_segment(
	    type, &s, bpf_get_socket_cookie(sk), ports(&sk->__sk_common));
}

SEC("tp_btf/net_dev_queue")
int
BPF_PROG(on_dev_queue, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;
	struct sock_common *c;
	struct segment s;

	if (!sampled() || sk == NULL)
		return 0;
	c = &sk->__sk_common;
	if (!flow_watched(c) || c->skc_state == STATE_NEW_SYN_RECV ||
	    c->skc_state == STATE_TIME_WAIT ||
	    sk->sk_protocol != PROTOCOL_TCP || !segment_read(skb, &s))
		return 0;
	return emit_segment(
	    TALECHAIN_TCP_XMIT, &s, c->skc_cookie.counter, ports(c));
}

SEC("tp_btf/tcp_retransmit_skb")
int
BPF_PROG(on_retransmit, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_skb_cb *cb;
	struct tcp_sock *tp;
	struct segment s;

	if (!sampled() || !flow_watched(&sk->__sk_common))
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (tp == NULL)
		return 0;
	cb = (void *)skb->cb;
	s.sequence = BPF_CORE_READ(cb, seq);
	s.bytes = BPF_CORE_READ(cb, end_seq) - s.sequence;
	s.flags = BPF_CORE_READ(cb, tcp_flags);
	s.acknowledged = tp->rcv_nxt;
	s.window = tp->rcv_wnd;
	return emit_segment(TALECHAIN_TCP_RETRANSMIT, &s,
	    bpf_get_socket_cookie(sk), ports(&sk->__sk_common));
}

/* Give connections a cookie early, so their first segments carry one;
 * net_dev_queue may not create any.  A connection made by a watched process has
 * no local port at its first event: the port is noted later. */
SEC("tp_btf/inet_sock_set_state")
int
BPF_PROG(on_state, struct sock *sk, int old_state, int new_state)
{
	struct sock_common *c = &sk->__sk_common;

	if (new_state == STATE_SYN_SENT ? call_watched(sk) : ports_watched(c))
		bpf_get_socket_cookie(sk);
	else if (flow_port_known(0) && flow_listed(c))
		flow_note(c);
	if (new_state == STATE_SYN_SENT && sampled() &&
	    watched(bpf_get_current_pid_tgid()))
		emit_peer(sk);
	return 0;
}

/* Why bytes stayed in the socket; docs/signals.md has the order.  MSG_MORE is
 * not visible here: it is assumed if nothing is in flight, the window is open
 * and no other reason can hold back a small piece. */
static __always_inline enum talechain_held
held_reason(struct tcp_sock *tp, __u32 unsent)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.*): a constant size */
	unsigned nonagle = BPF_CORE_READ_BITFIELD(tp, nonagle);

	if (unsent == 0)
		return TALECHAIN_HELD_NOT;
	if (nonagle & NAGLE_CORK)
		return TALECHAIN_HELD_CORK;
	if (tp->packets_out > 0 && (nonagle & NAGLE_OFF) == 0 &&
	    unsent < tp->mss_cache)
		return TALECHAIN_HELD_NAGLE;
	if (tp->packets_out >= tp->snd_cwnd)
		return TALECHAIN_HELD_CONGESTION;
	if ((__s32)(tp->snd_una + tp->snd_wnd - tp->write_seq) < 0)
		return TALECHAIN_HELD_WINDOW;
	if (tp->packets_out == 0 && unsent < tp->mss_cache)
		return TALECHAIN_HELD_CORK;
	return TALECHAIN_HELD_OTHER;
}

/* Note that a server's thread received a request (busy = 1) or sent a response
 * (0): in between, the thread's stacks are of interest. */
static __always_inline void
note_busy(const struct sock_common *c, __u32 busy)
{
	__u64 task = bpf_get_current_pid_tgid();
	struct thread *t;
	__u8 *mark;

	if (!config.stacks || !port_watched(c->skc_num))
		return;
	mark = process_mark(task >> 32);
	if (mark == NULL || (*mark & KERNEL_MARK_WHOSE) < KERNEL_MARK_SERVER)
		return; /* Tailor's, or not watched */
	t = thread_get((__u32)task);
	if (t != NULL)
		t->busy = busy;
}

/* If a call sent to a connection of a server's on this machine, report who
 * did. */
static __noinline int
peer_sent(struct sock *sk, int bytes)
{
	const struct sock_common *c;
	struct tcp_sock *tp;
	__u64 key;

	if (sk == NULL)
		return 0;
	c = &sk->__sk_common;
	key = OTHER_END | (__u64)c->skc_num << 16 | bpf_ntohs(c->skc_dport);
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (tp == NULL || bpf_map_lookup_elem(&flows, &key) == NULL)
		return 0;
	peer_emit(bpf_ktime_get_ns(), 0, ports(c),
	    (__u64)(tp->write_seq - (__u32)bytes) << 32 | (__u32)bytes);
	return 0;
}

static __always_inline bool
peer_port_known(__u16 port)
{
	return peer_port[port >> 6] >> (port & 63) & 1;
}

SEC("tp_btf/sock_send_length")
int
BPF_PROG(on_send, struct sock *sk, int ret)
{
	struct tcp_sock *tp;
	__u32 unsent, end;

	if (!sampled() || ret <= 0 || sk->sk_protocol != PROTOCOL_TCP)
		return 0;
	if (peer_port_known(sk->__sk_common.skc_num))
		peer_sent(sk, ret);
	if (!call_watched(sk))
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (tp == NULL)
		return 0;
	end = tp->write_seq;
	unsent = end - tp->snd_nxt;
	note_busy(&sk->__sk_common, 0);
	return emit(TALECHAIN_SOCK_SEND, bpf_get_socket_cookie(sk),
	    (__u64)(end - (__u32)ret) << 32 | (__u32)ret,
	    (__u64)unsent << 32 | held_reason(tp, unsent), ends_of_call(sk));
}

SEC("tp_btf/sock_recv_length")
int
BPF_PROG(on_recv, struct sock *sk, int ret, int flags)
{
	struct tcp_sock *tp;
	__u32 end, left;

	if (!sampled() || ret <= 0 || flags & (FLAG_PEEK | FLAG_ERRQUEUE) ||
	    sk->sk_protocol != PROTOCOL_TCP || !call_watched(sk))
		return 0;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (tp == NULL)
		return 0;
	end = tp->copied_seq;
	left = tp->rcv_nxt - end;
	/* FIN has a sequence number but is no byte: subtract it from what is
	 * left or, if this call read it, from the end. */
	if (sk->__sk_common.skc_state == STATE_CLOSE_WAIT) {
		if (left > 0)
			left--;
		else
			end--;
	}
	note_busy(&sk->__sk_common, 1);
	return emit(TALECHAIN_SOCK_RECV, bpf_get_socket_cookie(sk),
	    (__u64)(end - (__u32)ret) << 32 | (__u32)ret, left,
	    ends_of_call(sk));
}
