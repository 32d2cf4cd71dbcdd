/*
 * Goal: while the kernel's programs are paused they write nothing of our
 * threads; afterwards all again, and nothing of the pause.  In a long one they
 * are detached, and attached again before it ends.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_events.h"

#define PAGES 64

static bool
is_mine(const struct talechain_event *e, const void *arg)
{
	return e->tid == *(const uint32_t *)arg;
}

/* Touch new memory, and sleep. */
static void
work(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, PAGES * page);
	usleep(1000);
}

TEST(test_paused)
{
	static const unsigned types[] = {
	    TALECHAIN_PAGEFAULT, TALECHAIN_SCHEDULE, TALECHAIN_SOFTIRQ};
	uint32_t me = (uint32_t)gettid();
	struct instant paused, resumed;
	struct recording r;

	recording_open_usual(&r);
	kernel_gate(r.kernel, instant_now());
	usleep(1000); /* what was under way has ended */
	recording_begin(&r);
	paused = instant_now();
	for (unsigned i = 0; i < 20; i++)
		work();
	recording_end(&r);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    recording_count(&r, types[i], is_mine, &me), 0);
	resumed = instant_now(); /* before: it may be preempted here */
	kernel_gate(r.kernel, INSTANT_NONE);
	recording_begin(&r);
	for (unsigned i = 0; i < 20; i++)
		work();
	recording_end(&r);
	assert_true(
	    recording_count(&r, TALECHAIN_PAGEFAULT, is_mine, &me) >= PAGES);
	assert_true(
	    recording_count(&r, TALECHAIN_SCHEDULE, is_mine, &me) >= 10);
	for (unsigned i = 0; i < r.count; i++) {
		const struct talechain_event *e = &r.event[i];

		if (e->type == TALECHAIN_PAGEFAULT && e->tid == me)
			assert_true(e->ts - e->arg[1] > paused.ns);
		if (e->type == TALECHAIN_SCHEDULE && low(e->arg[0]) == me)
			assert_true(e->ts - schedule_wait_ns(e) >= resumed.ns);
	}
	recording_close(&r);
}

/* Events of our switches, faults and of a softirq while we work. */
static unsigned
events_of_work(struct recording *r)
{
	uint32_t me = (uint32_t)gettid();
	unsigned n;

	recording_begin(r);
	for (unsigned i = 0; i < 20; i++)
		work();
	recording_end(r);
	n = recording_count(r, TALECHAIN_PAGEFAULT, is_mine, &me);
	return n + recording_count(r, TALECHAIN_SCHEDULE, is_mine, &me);
}

TEST(test_parked)
{
	struct instant begin = instant_now();
	struct instant until = instant_plus(begin, 10 * NS_PER_S);
	struct recording r;

	recording_open_usual(&r);
	assert_int_equal(kernel_park(r.kernel, begin), -1);
	kernel_gate(r.kernel, instant_plus(begin, NS_PER_MS));
	kernel_park(r.kernel, begin); /* too short to be worth it */
	kernel_gate(r.kernel, INSTANT_NONE);
	assert_true(events_of_work(&r) >= PAGES);

	kernel_gate(r.kernel, until);
	/* It is due again when the pause ends, and not before. */
	assert_true(kernel_park(r.kernel, begin) > 9 * NS_PER_S);
	assert_true(kernel_park(r.kernel, begin) < 10 * NS_PER_S);
	/* Were they attached, they would write now. */
	kernel_gate(r.kernel, INSTANT_NONE);
	assert_int_equal(events_of_work(&r), 0);
	assert_int_equal(kernel_park(r.kernel, until), -1);
	assert_true(events_of_work(&r) >= PAGES);
	recording_close(&r);
}
