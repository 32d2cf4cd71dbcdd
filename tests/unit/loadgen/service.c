#include "tests/unit/loadgen/service.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/instant.h"
#include "base/random.h"

#define LONG 1000000 /* requests for the truth */

static double
exponential(struct prng *p)
{
	return -log1p(-random_unit(prng_next(p)));
}

/* When work that could begin at begin_s is over: it stops during pauses. */
static double
work(const struct service *s, double phase_s, double begin_s, double work_s)
{
	if (s->pause_every_s <= 0)
		return begin_s + work_s;
	for (;;) {
		double into_s = fmod(begin_s + phase_s, s->pause_every_s);
		if (into_s < s->pause_s) {
			begin_s += s->pause_s - into_s;
			into_s = s->pause_s;
		}
		if (into_s + work_s <= s->pause_every_s)
			return begin_s + work_s;
		work_s -= s->pause_every_s - into_s;
		begin_s += s->pause_every_s - into_s;
	}
}

static void
count(
    const struct service *s, const int64_t *ns, size_t n, struct rate_trial *t)
{
	for (size_t i = 0; i < SEARCH_SLICES; i++) {
		size_t from = n * i / SEARCH_SLICES;
		size_t to = n * (i + 1) / SEARCH_SLICES;
		struct trial_slice *slice = &t->slices[i];
		int64_t *copy = calloc(to - from + 1, sizeof(*copy));
		*slice = (struct trial_slice){.requests = to - from};
		for (size_t k = from; k < to; k++) {
			slice->over_most += ns[k] > s->limit_ns;
			copy[k - from] = ns[k];
		}
		slice->over_least = slice->over_most;
		array_sort_int64(copy, to - from);
		slice->median_ns = copy[(to - from) / 2];
		free(copy);
	}
}

void
service_try(
    struct service *s, double rate_per_s, double seconds, struct rate_trial *t)
{
	size_t n = (size_t)ceil(rate_per_s * seconds);
	size_t warm = n / 5;
	int64_t *ns = calloc(n, sizeof(*ns));
	double now_s = 0, free_s = 0;
	struct prng p;

	prng_init(&p, s->seed++);
	double phase_s = random_unit(prng_next(&p)) * s->pause_every_s;
	double speed = 1 + s->noise * (2 * random_unit(prng_next(&p)) - 1);
	for (size_t i = 0; i < warm + n; i++) {
		now_s += exponential(&p) / rate_per_s;
		double mean_s = s->mean_s * speed;
		double work_s =
		    s->exponential ? exponential(&p) * mean_s : mean_s;
		free_s = work(s, phase_s, fmax(now_s, free_s), work_s);
		if (i >= warm)
			ns[i - warm] = (int64_t)(1e9 * (free_s - now_s));
	}
	t->rate_per_s = rate_per_s;
	t->late = s->most_per_s > 0 && rate_per_s > s->most_per_s;
	count(s, ns, n, t);
	free(ns);
}

double
service_truth(const struct service *s, double percent, double seconds)
{
	double low = 0, high = 1 / s->mean_s;

	for (int i = 0; i < 14; i++) {
		struct service copy = *s;
		struct rate_trial t;
		double rate = (low + high) / 2;
		size_t n = 0, over = 0;
		for (copy.seed = 1000; n < LONG;) {
			service_try(&copy, rate, seconds, &t);
			for (size_t k = 0; k < SEARCH_SLICES; k++) {
				n += t.slices[k].requests;
				over += t.slices[k].over_most;
			}
		}
		if ((double)over <= (double)n * (1 - percent / 100))
			low = rate;
		else
			high = rate;
	}
	return low;
}

unsigned
service_search(struct service *s, struct rate_search *search, double short_s,
    double budget_s)
{
	enum search_step step;
	unsigned trials = 0;
	double rate;

	for (;;) {
		double full_s = fmax(short_s * SEARCH_FULL,
		    10 / (1 - search->percent / 100) /
			(search->count > 0
				? search->tried[search->count - 1].rate_per_s
				: 1));
		step = rate_search_next(
		    search, budget_s < 4 * 1.2 * full_s, &rate);
		if (step == SEARCH_DONE)
			break;
		struct rate_trial t = {.full = step == SEARCH_TRY_FULL};
		double least = (t.full ? 10 : 2) / (1 - search->percent / 100);
		double seconds =
		    fmax(short_s * (t.full ? SEARCH_FULL : 1), least / rate);
		if (1.2 * seconds > budget_s)
			break;
		budget_s -= 1.2 * seconds;
		service_try(s, rate, seconds, &t);
		rate_search_add(search, &t);
		trials++;
	}
	return trials;
}
