/*
 * test_counter_page.c: reading a counter while the kernel changes its page.
 *
 * The test plays the kernel and the hardware: it moves the event between
 * counters, lets the hardware wrap, and changes the page in the middle of a
 * read, and checks that what comes out is the event's true value or nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/unit.h"

#include "profiler/counters/counter.h"
#include "profiler/counters/counter_page.h"

#define COUNTERS 4

/* The machine: an event that has counted truth, and where it is kept. */
static struct {
	struct perf_event_mmap_page page;
	uint64_t hardware[COUNTERS];
	unsigned width;
	uint64_t truth;
	unsigned reads;	 /* rdpmc calls */
	unsigned meddle; /* reschedule in this many further reads */
	unsigned moves;	 /* reschedules made within a read */
} m;

static uint64_t
masked(uint64_t v)
{
	return m.width == 64 ? v : v & ((UINT64_C(1) << m.width) - 1);
}

/* Put the event on hardware counter n, as the kernel does. */
static void
schedule_on(unsigned n, uint64_t start)
{
	m.page.lock++;
	m.page.index = n + 1;
	m.hardware[n] = masked(start);
	m.page.offset =
	    (int64_t)m.truth - counter_extend(m.hardware[n], m.width);
	m.page.lock++;
}

static void
schedule_off(void)
{
	m.page.lock++;
	m.page.index = 0;
	m.page.offset = (int64_t)m.truth;
	m.page.lock++;
}

static void
count(uint64_t events)
{
	unsigned n = m.page.index - 1;

	m.truth += events;
	m.hardware[n] = masked(m.hardware[n] + events);
}

static uint64_t
rdpmc(unsigned n)
{
	uint64_t value = m.hardware[n];

	assert_in_range(n, 0, COUNTERS - 1);
	m.reads++;
	if (m.meddle > 0) {
		m.meddle--;
		m.moves++;
		/* After our read, before the lock is looked at again: the
		 * event moves and the old counter gets another's value. */
		schedule_on((n + 1) % COUNTERS, 0);
		m.hardware[n] = 12345;
	}
	return value;
}

static int
setup(void **state)
{
	(void)state;
	memset(&m, 0, sizeof(m));
	m.page.cap_user_rdpmc = 1;
	m.width = 48;
	m.page.pmc_width = 48;
	return 0;
}

/* Goal: wherever the event is, the value read is what it has counted. */
TEST_WITH(test_reschedule, setup, NULL)
{
	uint64_t value, i;

	srandom(1);
	for (i = 0; i < 10000; i++) {
		schedule_on((unsigned)random() % COUNTERS,
		    (uint64_t)random() * (uint64_t)random());
		count((uint64_t)random());
		assert_true(counter_page_read(&m.page, rdpmc, &value));
		assert_int_equal(value, m.truth);
	}
}

/* Goal: a page that changes during the read gives the value after it. */
TEST_WITH(test_meddled, setup, NULL)
{
	uint64_t value;

	schedule_on(0, 7);
	count(1000);
	m.meddle = 3;
	assert_true(counter_page_read(&m.page, rdpmc, &value));
	assert_int_equal(value, 1000);
	assert_int_equal(m.moves, 3);
	assert_int_equal(m.reads, 4);
}

/* Goal: one that never holds still is given up, not spun on for ever. */
TEST_WITH(test_restless, setup, NULL)
{
	uint64_t value = 1;

	schedule_on(0, 0);
	m.meddle = UINT32_MAX;
	assert_false(counter_page_read(&m.page, rdpmc, &value));
	assert_int_equal(m.reads, COUNTER_PAGE_TRIES);
	m.meddle = 0;
	m.page.lock |= 1; /* the kernel is in the middle of it */
	assert_false(counter_page_read(&m.page, rdpmc, &value));
}

/* Goal: nothing is read where the event is not, or not to be read alone. */
TEST_WITH(test_not_here, setup, NULL)
{
	uint64_t value;

	schedule_on(2, 5);
	schedule_off();
	assert_false(counter_page_read(&m.page, rdpmc, &value));
	schedule_on(2, 5);
	m.page.cap_user_rdpmc = 0;
	assert_false(counter_page_read(&m.page, rdpmc, &value));
	m.page.cap_user_rdpmc = 1;
	assert_int_equal(m.reads, 0);
	/* Multiplexed: the bare value would be too small. */
	m.page.time_enabled = 2000;
	m.page.time_running = 1000;
	assert_false(counter_page_read(&m.page, rdpmc, &value));
}

/* Goal: a counter of any width may wrap between two reads. */
TEST_WITH(test_width, setup, NULL)
{
	static const unsigned widths[] = {32, 40, 48, 64};
	uint64_t before = 0, after = 0, start;
	size_t i;

	for (i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		m.width = widths[i];
		m.page.pmc_width = (uint16_t)m.width;
		/* Ten before the top of the signed range: the kernel starts
		 * counters below zero, so they pass zero and go on. */
		start = masked(UINT64_C(0) - 10);
		schedule_on(1, start);
		assert_true(counter_page_read(&m.page, rdpmc, &before));
		count(25);
		assert_true(counter_page_read(&m.page, rdpmc, &after));
		assert_int_equal(after - before, 25);
	}
}

/* Goal: what shares a hardware counter is read with read(2) and scaled: also
 * while it has none, where nothing may be read from the page; and a counter
 * that is gone is told as that. */
TEST_WITH(test_multiplexed, setup, NULL)
{
	static const uint64_t reading[][3] = {
	    {1000, 4000, 1000}, {1500, 4000, 4000}, {7, 4000, 0}};
	static const uint64_t value[] = {4000, 1500, 7};
	struct counter c = {.page = &m.page, .way = COUNTER_RDPMC};
	uint64_t got;
	int end[2];
	size_t i;

	assert_int_equal(pipe(end), 0);
	c.fd = end[0];
	schedule_on(2, 5);
	schedule_off();
	for (i = 0; i < sizeof(value) / sizeof(value[0]); i++) {
		assert_int_equal(write(end[1], reading[i], sizeof(reading[i])),
		    sizeof(reading[i]));
		assert_true(counter_read(&c, &got));
		assert_int_equal(got, value[i]);
	}
	close(end[1]);
	assert_false(counter_read(&c, &got));
	close(end[0]);
}
