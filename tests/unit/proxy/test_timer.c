/* Goal: each timer rings once, when it is due and not before, whatever else
 * is set, cleared and rung meanwhile; the kernel wakes the loop for the
 * earliest. */
#include "tests/unit/unit.h"

#include <event2/event.h>
#include <string.h>
#include <sys/timerfd.h>

#include "proxy/net/timer.h"

#define EACH 64

static struct event_base *base;
static struct timers timers;
static struct timer timer[EACH];
static char rung[4 * EACH]; /* 'a' + number, in capitals if forced */
static unsigned rings;
static struct instant now;

/* What a ring does, once. */
static void (*consequence)(unsigned who);

static void
ring(void *user, bool forced)
{
	const struct timer *t = user;
	unsigned who = (unsigned)(t - timer);

	assert_true(rings < sizeof(rung) - 1);
	assert_false(timer_is_set(t));
	rung[rings++] = (char)((forced ? 'A' : 'a') + who % 26);
	if (consequence != NULL)
		consequence(who);
}

static int
begin(void **state)
{
	(void)state;
	base = event_base_new();
	assert_non_null(base);
	assert_int_equal(timers_init(&timers, base), 0);
	for (unsigned i = 0; i < EACH; i++)
		timer_init(&timer[i], ring, &timer[i]);
	memset(rung, 0, sizeof(rung));
	rings = 0;
	consequence = NULL;
	now = instant_now();
	return 0;
}

static int
end(void **state)
{
	(void)state;
	timers_fini(&timers);
	event_base_free(base);
	return 0;
}

static void
set(unsigned who, int64_t after_ms)
{
	timer_set(&timers, &timer[who], now, after_ms * NS_PER_MS);
}

/* What rings in the next so many ms. */
static const char *
pass(int64_t ms)
{
	now = instant_plus(now, ms * NS_PER_MS);
	memset(rung, 0, sizeof(rung));
	rings = 0;
	timers_fire(&timers, now);
	return rung;
}

TEST_WITH(test_when_due, begin, end)
{
	set(0, 10);
	set(1, 5);
	set(2, 10);
	timer_set_unsorted(&timers, &timer[3], now, 7 * NS_PER_MS);
	timer_set_unsorted(&timers, &timer[4], now, 6 * NS_PER_MS);
	assert_string_equal(pass(4), "");
	assert_string_equal(pass(1), "b");
	assert_string_equal(pass(0), "");
	assert_string_equal(pass(2), "ed");
	set(1, 10);
	assert_string_equal(pass(3), "ac");
	assert_string_equal(pass(6), "");
	assert_string_equal(pass(1), "b");
	assert_string_equal(pass(1000), "");
	assert_false(instant_is_set(timers_next(&timers)));
}

/* A little old: rings in order all the same. */
TEST_WITH(test_old_now, begin, end)
{
	struct instant before = now;

	now = instant_plus(now, 3 * NS_PER_MS);
	set(0, 10);
	timer_set(&timers, &timer[1], before, 10 * NS_PER_MS);
	assert_string_equal(pass(6), "");
	assert_string_equal(pass(1), "b");
	assert_string_equal(pass(3), "a");
}

static void
clear_next(unsigned who)
{
	consequence = NULL;
	timer_clear(&timers, &timer[who + 1]);
	set(who, 5);	 /* itself again */
	set(who + 3, 0); /* due at once: with those that are */
}

TEST_WITH(test_changed_while_ringing, begin, end)
{
	for (unsigned i = 0; i < 3; i++)
		set(i, 5);
	consequence = clear_next;
	assert_string_equal(pass(5), "acd");
	assert_string_equal(pass(5), "a");
	assert_string_equal(pass(1000), "");
}

TEST_WITH(test_forced, begin, end)
{
	set(0, 5);
	timer_force(&timers, &timer[0]);
	set(0, 1000); /* does not undo it */
	set(1, 0);
	timer_force(&timers, &timer[2]);
	timer_clear(&timers, &timer[2]);
	assert_string_equal(pass(0), "Ab");
	set(0, 1000); /* it is over */
	assert_string_equal(pass(999), "");
	assert_string_equal(pass(1), "a");
}

/* Against a naive one, an array of instants: timers that are set again, cleared
 * though they are not set, and of more durations than there are lists. */
TEST_WITH(test_against_the_definition, begin, end)
{
	int64_t due_ms[EACH], at_ms = 0;
	uint32_t dice = 1;

	memset(due_ms, -1, sizeof(due_ms));
	for (unsigned step = 0; step < 20000; step++) {
		unsigned who;
		char expected[26] = {0};

		dice = dice * 1664525 + 1013904223;
		who = dice >> 26;
		switch (dice >> 8 & 3) {
		case 0:
			timer_clear(&timers, &timer[who]);
			due_ms[who] = -1;
			continue;
		case 1:
			set(who, dice >> 10 & 63);
			due_ms[who] = at_ms + (dice >> 10 & 63);
			continue;
		case 2:
			timer_set_unsorted(&timers, &timer[who], now,
			    (dice >> 10 & 255) * NS_PER_MS);
			due_ms[who] = at_ms + (dice >> 10 & 255);
			continue;
		default:
			break;
		}
		at_ms += dice >> 10 & 7;
		pass(dice >> 10 & 7);
		for (unsigned i = 0; i < rings; i++)
			expected[rung[i] - 'a']++;
		for (unsigned i = 0; i < EACH; i++) {
			assert_int_equal(
			    timer_is_set(&timer[i]), due_ms[i] > at_ms);
			if (due_ms[i] < 0 || due_ms[i] > at_ms)
				continue;
			due_ms[i] = -1;
			expected[i % 26]--;
		}
		for (unsigned i = 0; i < 26; i++)
			assert_int_equal(expected[i], 0);
	}
}

static int64_t
told_ns(void)
{
	struct itimerspec left;

	assert_int_equal(timerfd_gettime(timers.fd, &left), 0);
	return left.it_value.tv_sec * NS_PER_S + left.it_value.tv_nsec;
}

/* The kernel hears of an earlier one only. */
TEST_WITH(test_told, begin, end)
{
	assert_int_equal(told_ns(), 0);
	set(0, 100000);
	assert_in_range(told_ns(), 90 * NS_PER_S, 100 * NS_PER_S);
	set(1, 50000);
	assert_in_range(told_ns(), 40 * NS_PER_S, 50 * NS_PER_S);
	set(2, 200000);
	timer_clear(&timers, &timer[1]);
	assert_in_range(told_ns(), 40 * NS_PER_S, 50 * NS_PER_S);
	assert_string_equal(pass(60000), ""); /* for nothing, and once */
	assert_in_range(told_ns(), 90 * NS_PER_S, 100 * NS_PER_S);
}

/* Goal: a long timer set after a long wait does not end earlier by it; within a
 * turn the clock is read once. */
TEST_WITH(test_time_of_a_turn, begin, end)
{
	struct instant first;

	timers.recent = instant_plus(now, -10 * NS_PER_S); /* a turn long ago */
	timers_wait(&timers);
	timer_arm(&timers, &timer[0], 10 * NS_PER_S);
	first = timers.recent;
	assert_false(instant_before(first, now));
	timer_arm(&timers, &timer[1], 20 * NS_PER_S);
	assert_int_equal(timer[1].due.ns - timer[0].due.ns, 10 * NS_PER_S);
	assert_int_equal(timers.recent.ns, first.ns);
	timers_wait(&timers);
	timer_force(&timers, &timer[2]);
	assert_false(instant_before(timer[2].due, first));
}

TEST_WITH(test_the_loop_is_woken, begin, end)
{
	struct instant began = instant_now();

	timer_arm(&timers, &timer[0], 2 * NS_PER_MS);
	timer_arm(&timers, &timer[1], 60 * NS_PER_S);
	for (int i = 0; i < 2; i++) { /* and it is told again each time */
		while (rings == 0) {
			assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
			timers_turn(&timers);
		}
		assert_true(
		    instant_since(instant_now(), began) >= 2 * NS_PER_MS);
		assert_string_equal(rung, "a");
		rings = 0;
		memset(rung, 0, sizeof(rung));
		began = instant_now();
		timer_arm(&timers, &timer[0], 2 * NS_PER_MS);
	}
	timer_force(&timers, &timer[1]);
	timer_clear(&timers, &timer[0]);
	while (rings == 0) {
		assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
		timers_turn(&timers);
	}
	assert_string_equal(rung, "B");
}
