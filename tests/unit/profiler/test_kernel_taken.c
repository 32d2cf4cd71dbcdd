/*
 * Goal: what interrupts take of a thread's run is reported, and lies within
 * that run.  Whether it is as much as was taken: long_kernel_taken.c.
 */
#include <unistd.h>

#include "kernel_events.h"

#define RUN_NS (15 * NS_PER_MS)
#define RUNS 2000 /* at most: a minute */

/* How many of this thread's interrupts are told of; each must be possible. */
static unsigned
interrupts_check(const struct recording *r)
{
	unsigned told = 0;

	for (unsigned i = 0; i < r->count; i++) {
		const struct talechain_event *e = &r->event[i];

		if (e->type != TALECHAIN_INTERRUPT ||
		    e->tid != (uint32_t)gettid())
			continue;
		assert_true(e->arg[0] >= KERNEL_TAKEN_NS);
		assert_true(e->arg[0] <= e->arg[1]);
		assert_true(e->arg[2] > 0);
		told++;
	}
	return told;
}

TEST(test_interrupted)
{
	unsigned told = 0, runs = 0;
	struct recording r;
	int fd;

	recording_open_usual(&r);
	fd = interrupts_open();
	if (fd < 0) {
		recording_close(&r);
		unit_skip("there is no timer of perf");
	}
	while (told == 0) {
		assert_int_not_equal(++runs, RUNS);
		recording_begin(&r);
		spin(RUN_NS);
		usleep(500); /* its run ends */
		recording_end(&r);
		told = interrupts_check(&r);
	}
	close(fd);
	recording_close(&r);
}
