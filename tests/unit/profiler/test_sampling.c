/*
 * Goal: up to a rate all events are written, above it as many as that, in
 * stretches; a burst is written in full; a pause is known when it begins.
 */
#include "tests/unit/unit.h"

#include "profiler/kernel/sampling.h"

#define CPUS 2
#define MOST ((uint64_t)CPUS * SAMPLING_EVENTS_PER_S)

struct run {
	struct sampling s;
	int64_t now_ns, paused_ns;
	uint64_t written;
	unsigned pauses;
};

static struct instant
at(int64_t ns)
{
	return instant_plus((struct instant){UINT64_C(1) << 40}, ns);
}

static void
begin(struct run *r)
{
	*r = (struct run){0};
	sampling_init(&r->s, CPUS, 0, at(0));
}

/* So many events a second would be written, for a while. */
static void
pass(struct run *r, uint64_t per_s, unsigned seconds)
{
	for (unsigned i = 0; i < seconds * 1000; i++) {
		r->now_ns += NS_PER_MS;
		if (!r->s.paused)
			r->written += per_s / 1000;
		else
			r->paused_ns += NS_PER_MS;
		if (!sampling_due(&r->s, at(r->now_ns)))
			continue;
		switch (sampling_step(&r->s, at(r->now_ns), r->written)) {
		case SAMPLING_SAME:
			break;
		case SAMPLING_PAUSE:
			r->pauses++;
			assert_int_equal(r->s.paused_from.ns, at(r->now_ns).ns);
			assert_true(instant_since(r->s.paused_until,
					r->s.paused_from) >= SAMPLING_PAUSE_NS);
			break;
		case SAMPLING_RESUME:
			/* What is new: from its planned end on. */
			assert_in_range(
			    instant_since(r->s.paused_until, r->s.paused_from),
			    0, SAMPLING_PERIOD_NS);
			assert_int_equal(
			    r->s.paused_until.ns, at(r->now_ns).ns);
			break;
		}
	}
}

TEST(test_rates)
{
	struct run r;

	begin(&r);
	pass(&r, MOST, 60);
	assert_int_equal(r.pauses, 0);
	for (uint64_t times = 2; times <= 50; times *= 5) {
		begin(&r);
		pass(&r, MOST * times, 60);
		assert_in_range(r.written, MOST * 60 * 8 / 10,
		    MOST * (60 + SAMPLING_BURST_S) * 11 / 10);
		assert_true(r.pauses > 10);
		pass(&r, MOST / 2, 3);
		r.pauses = 0;
		pass(&r, MOST / 2, 60);
		assert_int_equal(r.pauses, 0);
	}
}

TEST(test_burst)
{
	struct run r;

	begin(&r);
	pass(&r, MOST / 10, 10);
	pass(&r, MOST * SAMPLING_BURST_S * 8 / 10, 1);
	assert_int_equal(r.pauses, 0);
}

/* Goal: a pause that cannot end is prolonged from where it was to end, and goes
 * on from there. */
TEST(test_prolonged)
{
	struct sampling s;
	struct instant end, later;

	sampling_init(&s, 1, 0, at(0));
	assert_int_equal(sampling_step(&s, at(1), UINT32_MAX), SAMPLING_PAUSE);
	end = s.paused_until;
	later = instant_plus(end, NS_PER_MS);
	assert_int_equal(sampling_prolong(&s, later), SAMPLING_PAUSE);
	assert_int_equal(s.paused_from.ns, end.ns);
	assert_int_equal(
	    s.paused_until.ns, instant_plus(later, SAMPLING_LATE_NS).ns);
	assert_int_equal(sampling_step(&s, later, UINT32_MAX), SAMPLING_SAME);
	assert_int_equal(
	    sampling_step(&s, s.paused_until, UINT32_MAX), SAMPLING_RESUME);
}

/* Goal: one CPU, none, or thousands: the rate is one that can be. */
TEST(test_cpus)
{
	struct sampling s;

	sampling_init(&s, 1, 0, at(0));
	assert_true(s.per_s == SAMPLING_EVENTS_PER_S);
	sampling_init(&s, 512, 0, at(0));
	assert_true(s.per_s == SAMPLING_EVENTS_MOST);
	sampling_init(&s, 2, 1000, at(0));
	assert_true(s.per_s == 2000);
}

/* Goal: what is written in a pause makes neither it nor the next one longer. */
TEST(test_sums)
{
	struct sampling s;
	int64_t now_ns = 0;
	uint64_t written = 0;

	sampling_init(&s, 1, 0, at(0));
	for (unsigned i = 0; i < 2000; i++) {
		now_ns += SAMPLING_PERIOD_NS;
		written += SAMPLING_EVENTS_PER_S / (s.paused ? 20U : 5U);
		if (sampling_step(&s, at(now_ns), written) == SAMPLING_PAUSE)
			assert_true(instant_since(s.paused_until,
					s.paused_from) < 2 * SAMPLING_PAUSE_NS);
	}
}
