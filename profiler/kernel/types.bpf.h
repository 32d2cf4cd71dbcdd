/* types.bpf.h: the fields of kernel structures that the programs read.
 *
 * Only names and types matter: the loader finds the offset of each field in the
 * running kernel (CO-RE), so neither kernel headers nor the kernel's type
 * information are needed to build.  A field that some kernels name differently
 * has a structure of its own with ___ in its name. */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>

#pragma clang attribute push( \
    __attribute__((preserve_access_index)), apply_to = record)

struct atomic_counter {
	int counter;
};

struct atomic_counter64 {
	__s64 counter;
};

struct signal_struct {
	struct atomic_counter live;
	int group_exit_code;
};

struct task_struct {
	unsigned __state, flags;
	unsigned in_iowait : 1;
	int pid, tgid, prio;
	unsigned policy;
	int exit_code;
	char comm[16];
	struct signal_struct *signal;
};

/* A task on a machine with several CPUs: on_cpu is 1 while it has one. */
struct task_struct___smp {
	int on_cpu;
};

/* From 6.18 on a task knows that its CPU quota is used up. */
struct task_struct___throttled {
	bool throttled;
};

struct task_struct___freezer {
	unsigned frozen : 1;
};

/* A CPU's run queue in a guest: the time that the host had taken when the
 * queue's clock was last read, which is at the latest at the switch. */
struct rq {
	__u64 prev_steal_time_rq;
};

struct hrtimer {
	__s64 _softexpires;
};

struct cfs_bandwidth {
	__s64 period;
	__u64 quota;
	struct hrtimer period_timer;
};

struct task_group {
	struct cfs_bandwidth cfs_bandwidth;
};

/* A run queue of tasks, which before 6.18 knows that its CPU quota is used up.
 * rq exists if the kernel has groups of tasks. */
struct cfs_rq {
	int throttled; /* a bit from 6.18 on */
	int throttle_count;
	struct rq *rq;
	struct task_group *tg;
};

/* cfs_rq: where it is queued; parent: that queue's own entity. */
struct sched_entity {
	struct cfs_rq *cfs_rq;
	struct sched_entity *parent;
};

/* The CPU in whose queue a task is; before 5.16 in the task itself. */
struct thread_info___cpu {
	__u32 cpu;
};

struct task_struct___cpu {
	struct thread_info___cpu thread_info;
};

struct task_struct___cpu_before_5_16 {
	__u32 cpu;
};

struct task_struct___entity {
	struct sched_entity se;
};

struct task_struct___before_5_14 {
	long state;
};

struct in6_addr {
	__u32 words; /* all sixteen bytes */
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
	struct atomic_counter64 skc_cookie;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
};

struct tcp_sock {
	__u32 write_seq, snd_nxt, snd_una, snd_wnd, snd_cwnd;
	__u32 rcv_nxt, rcv_wnd, copied_seq;
	__u32 packets_out, mss_cache;
	__u8 nonagle : 4;
};

struct sk_buff {
	struct sock *sk;
	unsigned len;
	char cb[48];
	__u16 transport_header;
	unsigned char *head, *data;
};

struct tcp_skb_cb {
	__u32 seq, end_seq;
	__u8 tcp_flags;
};

#if defined(__TARGET_ARCH_x86)
#define CALL_FUTEX 202
struct pt_regs {
	unsigned long di, si, dx, bp, ip, sp, orig_ax;
};

struct thread_info {
	__u32 status;
};

struct task_struct___x86 {
	struct thread_info thread_info;
};
#elif defined(__TARGET_ARCH_arm64)
#define CALL_FUTEX 98
struct user_pt_regs {
	__u64 regs[31], pc, pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
	int syscallno;
};
#endif

#pragma clang attribute pop
