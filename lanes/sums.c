/* sums.c: for how long batch work ran beside busy lanes. */
#include "lanes/lanes.h"

/* As in lanes.bpf.c. */
static uint64_t
busy_ns(const volatile struct talechain_lane *core, uint64_t now)
{
	uint64_t hold = core->hold, changed = core->changed_ns;

	return core->busy_ns + (hold != 0 && now > changed ? now - changed : 0);
}

struct lanes_sums
lanes_sums(const struct talechain_lane *words,
    const struct talechain_asker *askers, int core, uint64_t now)
{
	const volatile struct talechain_asker *a = &askers[core];
	uint64_t busy = busy_ns(&words[core], now);
	struct lanes_sums s = {0};
	int64_t beside;

	for (int i = 0; i < TALECHAIN_LANES; i++) {
		const volatile struct talechain_lane *l = &words[i];

		if (l->role != TALECHAIN_BORROWS || (int)l->core != core)
			continue;
		s.busy_ns += (int64_t)busy;
		beside = l->since_ns != 0 ? (int64_t)(busy - l->before_ns) : 0;
		s.overlap_ns +=
		    (int64_t)l->overlap_ns + (beside > 0 ? beside : 0);
	}
	s.overlap_ns -= (int64_t)a->napped_ns;
	if (s.overlap_ns < 0)
		s.overlap_ns = 0;
	return s;
}
