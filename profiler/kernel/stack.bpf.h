/* stack.bpf.h: stacks of the threads that have a request: where they waited, or
 * computed, for a millisecond.
 *
 * How long a wait will be is not known as it begins, and when it is over the
 * stack of the program can be read no more.  So it is taken as a thread goes to
 * sleep, and written if the sleep was long; the kernel's is then still there.
 * Both are bounded per CPU and second.  Frames are found by frame pointers:
 * code without them hides its callers. */
#pragma once

#include "profiler/kernel/emit.bpf.h"

#define STACK_BYTES (KERNEL_STACK_FRAMES * sizeof(__u64))
#define STACK_PLACES 1024

struct stack {
	__u64 frame[KERNEL_STACK_FRAMES];
};

/* Of a sleeping thread. */
struct stacks {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACK_PLACES);
	__type(key, __u32);
	__type(value, struct stack);
};
extern struct stacks stacks SEC(".maps");

/* Count in the present second; false: that is too many. */
static __always_inline bool
stack_allowed(struct cpu *cpu, __u32 *count, __u32 most, __u64 now)
{
	if (cpu->stack_second != (__u32)(now >> 30)) {
		cpu->stack_second = now >> 30;
		cpu->stacks = cpu->looks = 0;
	}
	if (++*count <= most)
		return true;
	__sync_fetch_and_add(&tally.stackless, 1);
	return false;
}

static __noinline __attribute__((unused)) int
stack_emit(const struct stack *s, __u32 kind, __u32 pid, __u32 tid)
{
	__u64 of = (__u64)kind << 60 | (__u64)pid << 32 | tid;

	for (__u32 i = 0; i < KERNEL_STACK_FRAMES; i += 3)
		if (s->frame[i] != 0)
			emit(TALECHAIN_STACK, of | (__u64)i << 54, s->frame[i],
			    s->frame[i + 1], s->frame[i + 2]);
	return 0;
}
