/* counters.c: the table of counters, and the ring of epochs. */
#include "talechain/events/counters.h"

#include <string.h>

static const char *const units[] = {
    [TALECHAIN_PER_SECOND] = "million per second",
    [TALECHAIN_PER_CPU_SECOND] = "per second of CPU time",
    [TALECHAIN_PER_INSTRUCTIONS] = "per 1000 instructions",
};

static const struct talechain_counter_kind kinds[] = {
#define TALECHAIN_X(symbol, code, event, per, group, parent)        \
	{code, event, TALECHAIN_PER_##per, TALECHAIN_GROUP_##group, \
	    TALECHAIN_COUNTER_##parent},
    TALECHAIN_COUNTERS(TALECHAIN_X)
#undef TALECHAIN_X
};

_Static_assert(TALECHAIN_COUNTER_COUNT <= 32, "bits of struct counted");

const struct talechain_counter_kind *
talechain_counter_kind(unsigned counter)
{
	return &kinds[counter];
}

const char *
talechain_counter_unit(unsigned counter)
{
	return units[kinds[counter].per];
}

int
talechain_counter_find(const char *code)
{
	for (int i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if (strcmp(kinds[i].code, code) == 0)
			return i;
	return TALECHAIN_COUNTER_NONE;
}

void
counted_init(struct counted_epochs *e)
{
	memset(e, 0, sizeof(*e));
	pthread_mutex_init(&e->lock, NULL);
}

void
counted_fini(struct counted_epochs *e)
{
	pthread_mutex_destroy(&e->lock);
}

void
counted_on(struct counted_epochs *e, uint32_t counters)
{
	pthread_mutex_lock(&e->lock);
	e->on = counters;
	pthread_mutex_unlock(&e->lock);
}

void
counted_add(struct counted_epochs *e, const struct counted_epoch *epoch)
{
	pthread_mutex_lock(&e->lock);
	e->epoch[e->added++ % COUNTED_EPOCHS] = *epoch;
	pthread_mutex_unlock(&e->lock);
}

bool
counted_find(struct counted_epochs *e, struct instant at, int server,
    struct counted *out)
{
	bool over = false;

	*out = (struct counted){.counters = 0};
	pthread_mutex_lock(&e->lock);
	/* From the latest epoch backwards. */
	for (uint64_t i = e->added; i > 0 && i + COUNTED_EPOCHS > e->added;
	     i--) {
		const struct counted_epoch *one =
		    &e->epoch[(i - 1) % COUNTED_EPOCHS];

		if (!instant_before(at, one->end))
			break; /* in a gap, or not over */
		over = true;
		if (instant_before(at, one->begin))
			continue;
		if (server >= 0 && server < COUNTED_SERVERS)
			*out = one->server[server];
		break;
	}
	over |= e->on == 0;
	pthread_mutex_unlock(&e->lock);
	return over;
}
