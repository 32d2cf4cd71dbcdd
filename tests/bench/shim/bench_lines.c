#include "tests/bench/shim/bench_parts.h"
#include "profiler/counters/cycles.h"

#define BOUNCES 20000
#define BOUNCES_S 0.5 /* at most, if our CPUs are busy */
#define LOOKS 1000000

/* The other end of the bouncing line. */
static void *
bounce_main(void *user)
{
	struct workload *w = user;
	uint64_t seen = 0, now;

	(void)workload_pin(w->cpu);
	pthread_barrier_wait(&w->ready);
	while (__atomic_load_n(&w->stop, __ATOMIC_RELAXED) == 0) {
		now = __atomic_load_n(&w->signal, __ATOMIC_ACQUIRE);
		if (now != seen && (now & 1) != 0)
			__atomic_store_n(
			    &w->signal, seen = now + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int
bench_line(struct bench *b, double *out)
{
	static double round[BOUNCES];
	struct workload *w = b->w;
	uint64_t begin, until, value = 0;
	int err, i;

	w->cpu = b->o->producer_cpu;
	w->signal = 0;
	w->stop = 0;
	err = pthread_barrier_init(&w->ready, NULL, 2);
	if (err != 0)
		return -err;
	err = pthread_create(&w->thread, NULL, bounce_main, w);
	if (err != 0)
		goto out;
	/* Wait until it is off our CPU: under SCHED_FIFO we would starve it. */
	pthread_barrier_wait(&w->ready);
	begin = cycles_in_order();
	until = begin + (uint64_t)(b->r->hz * BOUNCES_S);
	for (i = 0; i == 0 || (i < BOUNCES && begin < until); i++) {
		begin = cycles_in_order();
		__atomic_store_n(&w->signal, ++value, __ATOMIC_RELEASE);
		while (__atomic_load_n(&w->signal, __ATOMIC_ACQUIRE) == value)
			continue;
		value++;
		round[i] = (double)(cycles_in_order() - begin);
	}
	__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
	*out = bench_median(round, (unsigned)i) / 2;
out:
	pthread_barrier_destroy(&w->ready);
	return -err;
}

double
bench_quiet(struct bench *b)
{
	uint64_t begin = cycles_in_order(), seen = 0;

	b->w->signal = 0;
	for (unsigned i = 0; i < LOOKS; i++) {
		seen ^= __atomic_load_n(&b->w->signal, __ATOMIC_RELAXED);
		__asm__ volatile("" ::"r"(seen));
	}
	return (double)(cycles_in_order() - begin) / LOOKS;
}
