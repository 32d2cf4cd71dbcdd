/* Goal: counters take turns: each has its share of the epochs, each pair some
 * together, both servers the same set; values are what the played hardware
 * counted, and nothing is said of what it did not. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "profiler/rates/epochs.h"
#include "profiler/counters/counter.h"

#define BIT(n) (UINT32_C(1) << (n))
#define HARDWARE (BIT(TALECHAIN_COUNTER_FAULTS) - 1)
#define KERNEL (BIT(TALECHAIN_COUNTER_COUNT) - 1 - HARDWARE)

/* The hardware: what is on grows. */
static struct {
	uint32_t on;
	unsigned most; /* of the CPU's that were on at once */
	uint64_t sum[2][EPOCH_SOURCES];
	bool broken; /* cannot be read */
} h;
static struct epochs epochs;
static struct counted_epochs out;
static struct instant now;
static unsigned generation[2];

static void
hardware_set(void *user, uint32_t sources)
{
	unsigned n = (unsigned)__builtin_popcount(sources & HARDWARE);

	(void)user;
	h.on = sources;
	h.most = n > h.most ? n : h.most;
}

static bool
hardware_read(void *user, unsigned server, unsigned source, uint64_t *sum)
{
	(void)user;
	assert_true((h.on & BIT(source)) != 0);
	*sum = h.sum[server][source];
	return !h.broken;
}

/* Of a server in an epoch: so many events of each source that is on. */
static void
run(unsigned server, const uint64_t events[EPOCH_SOURCES])
{
	for (unsigned i = 0; i < EPOCH_SOURCES; i++)
		if ((h.on & BIT(i)) != 0)
			h.sum[server][i] += events[i];
}

static void
turn(int64_t later_ns)
{
	now = instant_plus(now, later_ns);
	epochs_turn(&epochs, 2, generation, now);
}

static void
begin(uint32_t counters)
{
	static const struct epoch_hardware hardware = {
	    NULL, hardware_set, hardware_read};

	memset(&h, 0, sizeof(h));
	memset(generation, 0, sizeof(generation));
	counted_init(&out);
	now = (struct instant){1000 * (uint64_t)NS_PER_S};
	epochs_init(&epochs, counters, &hardware, &out);
	turn(0);
}

static const struct counted_epoch *
latest(void)
{
	return &out.epoch[(out.added - 1) % COUNTED_EPOCHS];
}

TEST(each_has_its_share)
{
	unsigned alone[TALECHAIN_COUNTER_COUNT] = {0};
	static unsigned pair[TALECHAIN_COUNTER_COUNT][TALECHAIN_COUNTER_COUNT];
	uint64_t events[EPOCH_SOURCES];

	for (unsigned i = 0; i < EPOCH_SOURCES; i++)
		events[i] = 5000000;
	begin(HARDWARE | KERNEL);
	assert_int_equal(epochs_sets(&epochs), 4);
	for (unsigned n = 0; n < 400; n++) {
		uint32_t set;

		run(0, events);
		run(1, events);
		turn(EPOCH_NS);
		set = latest()->server[0].counters;
		assert_int_equal(set, latest()->server[1].counters);
		for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
			alone[i] += set >> i & 1;
			for (unsigned k = 0; k < i; k++)
				pair[i][k] += (set >> i & set >> k & 1);
		}
	}
	assert_int_equal(out.added, 400);
	assert_int_equal(h.most, 1 + EPOCH_SET);
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		bool always = i == TALECHAIN_COUNTER_INSTRUCTIONS ||
			      (KERNEL & BIT(i)) != 0;

		assert_int_equal(alone[i], always ? 400 : 100);
		for (unsigned k = 0; k < i; k++)
			assert_true(pair[i][k] >= 5);
	}
	counted_fini(&out);
}

TEST(values_are_what_was_counted)
{
	const uint64_t events[EPOCH_SOURCES] = {
	    [TALECHAIN_COUNTER_INSTRUCTIONS] = 2000000000,
	    [TALECHAIN_COUNTER_CYCLES] = 3000000000,
	    [TALECHAIN_COUNTER_DTLB_MISSES] = 500000,
	    [TALECHAIN_COUNTER_FAULTS] = 30,
	    [EPOCH_CPU_TIME] = 100 * NS_PER_MS};
	const uint64_t few[EPOCH_SOURCES] = {
	    [TALECHAIN_COUNTER_INSTRUCTIONS] = 1000,
	    [TALECHAIN_COUNTER_CYCLES] = 3000,
	    [EPOCH_CPU_TIME] = 1000};
	struct instant first;
	struct counted c;

	begin(BIT(TALECHAIN_COUNTER_CYCLES) |
	      BIT(TALECHAIN_COUNTER_DTLB_MISSES) |
	      BIT(TALECHAIN_COUNTER_FAULTS));
	first = now;
	assert_false(counted_find(&out, first, 0, &c)); /* not over */
	run(0, events);
	run(1, few);
	turn(EPOCH_NS / 2);
	assert_int_equal(out.added, 0);
	turn(EPOCH_NS / 2);
	assert_true(counted_find(&out, instant_plus(now, -1), 0, &c));
	/* Instructions count, but are not in the list. */
	assert_int_equal(c.counters, out.on);
	assert_int_equal(c.milli[TALECHAIN_COUNTER_CYCLES], 1500000);
	assert_int_equal(c.milli[TALECHAIN_COUNTER_DTLB_MISSES], 250);
	assert_int_equal(c.milli[TALECHAIN_COUNTER_FAULTS], 300000);
	/* Too little ran for a ratio. */
	assert_true(counted_find(&out, first, 1, &c));
	assert_int_equal(c.counters, 0);
	assert_true(counted_find(&out, instant_plus(first, -1), 0, &c));
	assert_int_equal(c.counters, 0);
	assert_false(counted_find(&out, now, 0, &c));
	counted_fini(&out);
}

TEST(what_is_not_known_is_not_said)
{
	const uint64_t events[EPOCH_SOURCES] = {
	    [TALECHAIN_COUNTER_INSTRUCTIONS] = 2000000000};
	const uint64_t all = BIT(TALECHAIN_COUNTER_INSTRUCTIONS);

	begin(BIT(TALECHAIN_COUNTER_INSTRUCTIONS));
	run(0, events);
	run(1, events);
	generation[1] = 1; /* other threads */
	turn(EPOCH_NS);
	assert_int_equal(latest()->server[0].counters, all);
	assert_int_equal(latest()->server[0].milli[0], 2000000);
	assert_int_equal(latest()->server[1].counters, 0);
	/* It went back, as a scaled count may. */
	h.sum[0][TALECHAIN_COUNTER_INSTRUCTIONS] -= 5;
	run(1, events);
	turn(EPOCH_NS);
	assert_int_equal(latest()->server[0].counters, 0);
	assert_int_equal(latest()->server[1].counters, all);
	h.broken = true;
	turn(EPOCH_NS);
	assert_int_equal(latest()->server[1].counters, 0);
	h.broken = false; /* but where it began is not known */
	turn(EPOCH_NS);
	assert_int_equal(latest()->server[1].counters, 0);
	assert_int_equal(out.added, 4);
	turn(3 * EPOCH_NS); /* late */
	assert_int_equal(out.added, 4);
	counted_fini(&out);
	/* Without counters there is no turn. */
	begin(0);
	assert_int_equal(epochs_turn(&epochs, 2, generation, now), -1);
	counted_fini(&out);
}

/* Goal: libpfm4 knows each name, on whatever machine. */
TEST(events_have_names)
{
	struct counter_number number;

	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		const struct talechain_counter_kind *k =
		    talechain_counter_kind(i);

		assert_int_not_equal(
		    counter_number_find(&number, k->event, NULL), -EINVAL);
		assert_int_equal(talechain_counter_find(k->code), i);
		assert_true(k->parent < (int)i);
	}
	assert_int_equal(talechain_counter_find("no"), -1);
}
