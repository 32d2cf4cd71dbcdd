/*
 * kernel_events.h: for tests of the kernel's events: open them for this
 * process, take what came, look for what should be there.
 *
 * Where programs may not be attached the tests are skipped, with the reason.
 */
#pragma once

#include "tests/unit/unit.h"

#include "profiler/kernel/kernel.h"

#define RECORDING_MAX 200000

struct recording {
	struct kernel_options options; /* change before recording_open */
	struct profiler_signal_state state[PROFILER_SIGNALS];
	struct kernel *kernel;
	struct talechain_event *event; /* owned; in order of time */
	unsigned count;
	uint64_t lost; /* in the rings */
};

/* lite, no system calls, the largest rings that make sense. */
void recording_init(struct recording *r);

/* Skips the test when there is no permission. */
void recording_open(struct recording *r);

/* Both: with the usual options. */
void recording_open_usual(struct recording *r);

/* Skips the test, with the reason, where that signal is not to be had. */
void recording_need(struct recording *r, enum profiler_signal signal);
void recording_close(struct recording *r);

/* Forget what came so far. */
void recording_begin(struct recording *r);

/* Take what has come since, sorted by time; none may be lost. */
void recording_end(struct recording *r);

/* The first event from index on of this type that is as wanted; -1: none. */
typedef bool event_test(const struct talechain_event *e, const void *arg);
int recording_find(const struct recording *r, unsigned from, unsigned type,
    event_test *wanted, const void *arg);
unsigned recording_count(const struct recording *r, unsigned type,
    event_test *wanted, const void *arg);

/* What comes late, but must: take events, as recording_end does, until there is
 * such a one; fail at a limit. */
void recording_await(
    struct recording *r, unsigned type, event_test *wanted, const void *arg);

/* Fields that share an argument. */
static inline uint32_t
high(uint64_t arg)
{
	return (uint32_t)(arg >> 32);
}

static inline uint32_t
low(uint64_t arg)
{
	return (uint32_t)arg;
}

/* Of a SCHEDULE: how long the next thread had waited for its CPU; the system
 * call that the last one left it in, plus 1. */
static inline uint64_t
schedule_wait_ns(const struct talechain_event *e)
{
	return e->arg[3] & ((UINT64_C(1) << TALECHAIN_WAIT_BITS) - 1);
}

static inline unsigned
schedule_call(const struct talechain_event *e)
{
	return e->arg[3] >> TALECHAIN_CALL_SHIFT &
	       ((1U << TALECHAIN_CALL_BITS) - 1);
}

/* Run this thread on that CPU only. */
void run_on(unsigned cpu);

/* Compute for so long. */
void spin(int64_t ns);

/* CPUs this process may use, at most n; how many there are. */
unsigned usable_cpus(unsigned *cpu, unsigned n);

/* A timer of this thread that only interrupts it, so often, in ns of its time;
 * -1: none is to be had. */
#define INTERRUPT_EVERY 20000
int interrupts_open(void);
