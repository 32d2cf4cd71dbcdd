/* kernel_events.c: see the header. */
#include "kernel_events.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void
recording_init(struct recording *r)
{
	memset(r, 0, sizeof(*r));
	r->options = (struct kernel_options){.profile = PROFILER_KERNEL_LITE,
	    .slot_log2 = 16,
	    .first_number = 1};
}

void
recording_open(struct recording *r)
{
	int err = kernel_new(&r->kernel, &r->options, r->state);

	if (err < 0)
		unit_skip("%s", r->state[0].why);
	r->event = calloc(RECORDING_MAX, sizeof(*r->event));
	assert_non_null(r->event);
}

void
recording_close(struct recording *r)
{
	kernel_free(&r->kernel);
	free(r->event);
}

static void
recording_drain(struct recording *r)
{
	struct talechain_event e;
	uint64_t lost;
	unsigned i;

	for (i = 0; i < kernel_channels(r->kernel); i++) {
		struct channel *c = kernel_channel(r->kernel, i);
		enum talechain_take take;

		while ((take = talechain_take(&c->cursor, &e, &lost,
			    instant_now())) != TALECHAIN_TAKE_NONE) {
			if (take == TALECHAIN_TAKE_LOST)
				r->lost += lost;
			else if (r->count < RECORDING_MAX)
				r->event[r->count++] = e;
		}
	}
}

void
recording_begin(struct recording *r)
{
	recording_drain(r);
	r->count = 0;
	r->lost = 0;
}

static int
compare(const void *a, const void *b)
{
	const struct talechain_event *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

void
recording_end(struct recording *r)
{
	recording_drain(r);
	assert_int_equal(r->lost, 0);
	assert_true(r->count < RECORDING_MAX);
	qsort(r->event, r->count, sizeof(*r->event), compare);
}

int
recording_find(const struct recording *r, unsigned from, unsigned type,
    event_test *wanted, const void *arg)
{
	unsigned i;

	for (i = from; i < r->count; i++)
		if (r->event[i].type == type && wanted(&r->event[i], arg))
			return (int)i;
	return -1;
}

unsigned
recording_count(const struct recording *r, unsigned type, event_test *wanted,
    const void *arg)
{
	unsigned i, n = 0;

	for (i = 0; i < r->count; i++)
		n += r->event[i].type == type && wanted(&r->event[i], arg);
	return n;
}

void
recording_await(
    struct recording *r, unsigned type, event_test *wanted, const void *arg)
{
	struct instant limit = instant_plus(instant_now(), 120 * NS_PER_S);

	while (recording_find(r, 0, type, wanted, arg) < 0) {
		assert_true(instant_before(instant_now(), limit));
		sched_yield();
		recording_end(r);
	}
}

void
run_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

void
spin(int64_t ns)
{
	struct instant begin = instant_now();

	while (instant_since(instant_now(), begin) < ns)
		;
}

unsigned
usable_cpus(unsigned *cpu, unsigned n)
{
	cpu_set_t set;
	unsigned i, found = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (i = 0; i < CPU_SETSIZE && found < n; i++)
		if (CPU_ISSET(i, &set))
			cpu[found++] = i;
	return found;
}

int
interrupts_open(void)
{
	struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_CPU_CLOCK,
	    .sample_period = INTERRUPT_EVERY,
	};

	return (int)syscall(
	    SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void
recording_open_usual(struct recording *r)
{
	recording_init(r);
	recording_open(r);
}

void
recording_need(struct recording *r, enum profiler_signal signal)
{
	if (r->state[signal].on)
		return;
	recording_close(r);
	unit_skip("%s", r->state[signal].why);
}
