/* epochs.c: choose the set of each epoch, and compute its counts. */
#include "profiler/rates/epochs.h"

#include <string.h>

#include "base/hash.h"

#define BIT(source) (UINT32_C(1) << (source))
#define RATIO_MAX 1e15 /* thousandths of a unit; a larger value is wrong */

static bool
is_hardware(unsigned counter)
{
	return talechain_counter_kind(counter)->group != TALECHAIN_GROUP_NONE;
}

/* The sources in each set: counters of the kernel, and those that others are
 * divided by. */
static uint32_t
always(uint32_t counters)
{
	uint32_t sources = 0;

	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		if ((counters & BIT(i)) == 0)
			continue;
		if (!is_hardware(i))
			sources |= BIT(i) | BIT(EPOCH_CPU_TIME);
		else
			sources |= BIT(TALECHAIN_COUNTER_INSTRUCTIONS);
	}
	return sources;
}

void
epochs_init(struct epochs *e, uint32_t counters,
    const struct epoch_hardware *hardware, struct counted_epochs *out)
{
	*e = (struct epochs){
	    .always = always(counters), .hardware = *hardware, .out = out};
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if ((counters & ~e->always & BIT(i)) != 0)
			e->order[e->others++] = (uint8_t)i;
	counted_on(out, counters);
}

unsigned
epochs_sets(const struct epochs *e)
{
	if (e->others == 0)
		return e->always != 0;
	return (e->others + EPOCH_SET - 1) / EPOCH_SET;
}

/* Shuffle the order (Fisher and Yates). */
static void
order_shuffle(struct epochs *e)
{
	for (unsigned i = e->others; i > 1; i--) {
		unsigned k = (unsigned)(hash_number(e->epochs * 64 + i) % i);
		uint8_t moved = e->order[i - 1];

		e->order[i - 1] = e->order[k];
		e->order[k] = moved;
	}
}

/* Switch to the next set: the next EPOCH_SET counters of the order, or fewer at
 * its end. */
static void
set_next(struct epochs *e)
{
	if (e->next >= e->others) {
		order_shuffle(e);
		e->next = 0;
	}
	e->set = e->always;
	for (unsigned i = 0; i < EPOCH_SET && e->next < e->others; i++)
		e->set |= BIT(e->order[e->next++]);
	e->epochs++;
	e->hardware.set(e->hardware.user, e->set);
}

/* Compute a counter's value in thousandths of its unit.  False: too little ran
 * for a ratio, or the value is too large. */
static bool
ratio(unsigned counter, const uint64_t *sum, int64_t time_ns, uint64_t *milli)
{
	double count = (double)sum[counter], value = -1;
	uint64_t base;

	switch (talechain_counter_kind(counter)->per) {
	case TALECHAIN_PER_SECOND:
		value = count / (double)time_ns * 1e6;
		break;
	case TALECHAIN_PER_CPU_SECOND:
		base = sum[EPOCH_CPU_TIME];
		if (base >= EPOCH_CPU_LEAST_NS)
			value = count / (double)base * 1e12;
		break;
	case TALECHAIN_PER_INSTRUCTIONS:
		base = sum[TALECHAIN_COUNTER_INSTRUCTIONS];
		if (base >= EPOCH_INSTRUCTIONS_LEAST)
			value = count / (double)base * 1e6;
		break;
	}
	if (value < 0 || value > RATIO_MAX)
		return false;
	*milli = (uint64_t)(value + 0.5);
	return true;
}

/* Read the sums of sources that are on.  Returns the set of those known. */
static uint32_t
sums_read(const struct epochs *e, unsigned server, uint64_t *sum)
{
	uint32_t known = 0;

	for (unsigned i = 0; i < EPOCH_SOURCES; i++)
		if ((e->set & BIT(i)) != 0 &&
		    e->hardware.read(e->hardware.user, server, i, &sum[i]))
			known |= BIT(i);
	return known;
}

static void
server_end(const struct epochs *e, unsigned server, int64_t time_ns,
    struct counted *out)
{
	uint64_t sum[EPOCH_SOURCES] = {0};
	uint32_t known = sums_read(e, server, sum) & e->known[server];
	uint32_t counters;

	/* A scaled sum may decrease a little: then it gives no count. */
	for (unsigned i = 0; i < EPOCH_SOURCES; i++) {
		if (sum[i] < e->first[server][i])
			known &= ~BIT(i);
		sum[i] =
		    (known & BIT(i)) != 0 ? sum[i] - e->first[server][i] : 0;
	}
	counters = known & e->out->on;
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if ((counters & BIT(i)) != 0 &&
		    ratio(i, sum, time_ns, &out->milli[i]))
			out->counters |= BIT(i);
}

static void
epoch_end(struct epochs *e, unsigned servers, const unsigned *generation,
    struct instant now)
{
	struct counted_epoch one = {.begin = e->begin, .end = now};
	int64_t time_ns = instant_since(now, e->begin);

	/* Ignore an epoch that took much longer: its end was late. */
	if (time_ns > 2 * EPOCH_NS)
		return;
	for (unsigned i = 0; i < servers; i++)
		if (generation[i] == e->generation[i])
			server_end(e, i, time_ns, &one.server[i]);
	counted_add(e->out, &one);
}

int64_t
epochs_turn(struct epochs *e, unsigned servers, const unsigned *generation,
    struct instant now)
{
	struct instant due = instant_plus(e->begin, EPOCH_NS);

	if (e->always == 0)
		return -1;
	if (e->counting && instant_before(now, due))
		return instant_since(due, now);
	if (e->counting)
		epoch_end(e, servers, generation, now);
	set_next(e);
	e->counting = true;
	e->begin = now;
	for (unsigned i = 0; i < servers; i++) {
		e->generation[i] = generation[i];
		e->known[i] = sums_read(e, i, e->first[i]);
	}
	return EPOCH_NS;
}
