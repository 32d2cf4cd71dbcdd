#include "loadgen/send/schedule.h"

#include <math.h>

#include "base/instant.h"
#include "base/random.h"

const char *
arrivals_name(enum arrivals arrivals)
{
	static const char *const names[] = {
	    [ARRIVALS_POISSON] = "poisson",
	    [ARRIVALS_UNIFORM] = "uniform",
	    [ARRIVALS_FILE] = "file",
	    [ARRIVALS_CLOSED] = "closed",
	};

	return names[arrivals];
}

uint64_t
schedule_iteration_seed(uint64_t seed, unsigned iteration)
{
	return seed + iteration;
}

uint64_t
schedule_warmup_seed(uint64_t seed)
{
	return seed ^ UINT64_C(0x7761726d2d757021); /* "warm-up!" */
}

void
schedule_fill(enum arrivals arrivals, double rate_per_s, uint64_t seed,
    int64_t *offset_ns, size_t n)
{
	const double gap_ns = (double)NS_PER_S / rate_per_s;
	struct prng p;
	int64_t at_ns = 0;

	if (arrivals == ARRIVALS_UNIFORM) {
		/* From the start each time: rounding must not add up. */
		for (size_t i = 0; i < n; i++)
			offset_ns[i] = llround((double)(i + 1) * gap_ns);
		return;
	}
	prng_init(&p, seed);
	for (size_t i = 0; i < n; i++) {
		at_ns += llround(-log1p(-random_unit(prng_next(&p))) * gap_ns);
		offset_ns[i] = at_ns;
	}
}
