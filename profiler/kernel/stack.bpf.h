/* stack.bpf.h: stacks of the threads that have a request: where they waited, or
 * computed, for a millisecond.
 *
 * The length of a wait is not known at its begin, and at its end the program's
 * stack can no longer be read.  So the program's stack is taken as a thread
 * goes to sleep, and written if the sleep was long; the kernel's stack can
 * still be read then.  Taking and writing are bounded per CPU and second.
 *
 * Frames are found by frame pointers: code without them hides its callers.  In
 * a wait for a lock the innermost function is the C library's, which mostly
 * keeps no frame pointer: there the stack is searched for the saved one of its
 * caller in HotSpot. */
#pragma once

#include "profiler/kernel/emit.bpf.h"

#define STACK_BYTES (KERNEL_STACK_FRAMES * sizeof(__u64))
#define STACK_PLACES 1024
#define STACK_WORDS 48	    /* of a stack that are searched */
#define STACK_FRAME 0x10000 /* bytes; no frame is larger */
#define STACK_CODE 0x10000  /* no code lies below */

struct stack_frames {
	__u64 frame[KERNEL_STACK_FRAMES];
};

/* The stack of each sleeping thread, by tid. */
struct stacks {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACK_PLACES);
	__type(key, __u32);
	__type(value, struct stack_frames);
};
extern struct stacks stacks SEC(".maps");

/* The frame that a saved frame pointer leads to. */
struct frame {
	__u64 next, back; /* the caller's frame; the return address */
};

/* Read the frame at bp.  False: there is none, as the next is not above it. */
static __always_inline bool
frame_read(struct frame *f, __u64 bp)
{
	return bpf_probe_read_user(f, sizeof(*f), (void *)bp) == 0 &&
	       f->next - bp - 1 < STACK_FRAME && f->back >= STACK_CODE;
}

/* Find the stack of a thread whose innermost function, at ip, keeps no frame
 * pointer: it goes on at the first word above sp that leads to two frames.  The
 * function that owns the first of these is left out.  Returns 1 if found, or
 * 0. */
static __noinline __attribute__((unused)) int
stack_search(struct stack_frames *s, __u64 ip, __u64 sp)
{
	struct frame f, above;
	__u64 bp = 0;
	__u32 i;

	for (i = 0; i < STACK_WORDS; i++, sp += sizeof(bp)) {
		if (bpf_probe_read_user(&bp, sizeof(bp), (void *)sp) != 0)
			return 0;
		if (bp - sp - 1 < STACK_FRAME && frame_read(&f, bp) &&
		    frame_read(&above, f.next))
			break;
	}
	if (s == NULL || i == STACK_WORDS)
		return 0;
	s->frame[0] = ip;
	for (i = 1; i < KERNEL_STACK_FRAMES; i++) {
		s->frame[i] = f.back;
		if (!frame_read(&f, f.next))
			break;
	}
	return 1;
}

/* Add one to a count of the present second.  False: it exceeds most. */
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

/* Write a stack of a thread as STACK events, three frames each; kind is an enum
 * talechain_stack.  Returns 0. */
static __noinline __attribute__((unused)) int
stack_emit(const struct stack_frames *s, __u32 kind, __u32 pid, __u32 tid)
{
	__u64 of = (__u64)kind << 60 | (__u64)pid << 32 | tid;

	for (__u32 i = 0; i < KERNEL_STACK_FRAMES; i += 3)
		if (s->frame[i] != 0)
			emit(TALECHAIN_STACK, of | (__u64)i << 54, s->frame[i],
			    s->frame[i + 1], s->frame[i + 2]);
	return 0;
}
