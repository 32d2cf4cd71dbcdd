/* workload.c: the producer's loops.
 *
 * The true counts are taken between turns, so the cycles of a turn hold exactly
 * its changes. */
#include "tests/bench/shim/workload.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "profiler/counters/cycles.h"

/* Check for the end of a turn once in this many changes. */
#define CHANGES_AT_ONCE 16

int
workload_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? -errno : 0;
}

uint64_t
workload_pushed(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_THREAD, &use) < 0)
		return 0;
	return (uint64_t)use.ru_nivcsw;
}

/* Read concurrently. */
static void
truth_add(struct workload_truth *t, uint64_t changes, uint64_t cycles)
{
	__atomic_store_n(&t->changes, t->changes + changes, __ATOMIC_RELAXED);
	__atomic_store_n(&t->cycles, t->cycles + cycles, __ATOMIC_RELEASE);
}

struct workload_truth
workload_truth(const struct workload *w, unsigned i)
{
	const struct workload_truth *t = &w->truth[i];
	struct workload_truth out;
	uint64_t after;

	/* Written once a turn: equal reads are consistent. */
	do {
		out.cycles = __atomic_load_n(&t->cycles, __ATOMIC_ACQUIRE);
		out.changes = __atomic_load_n(&t->changes, __ATOMIC_ACQUIRE);
		after = __atomic_load_n(&t->cycles, __ATOMIC_ACQUIRE);
	} while (after != out.cycles);
	return out;
}

/* One turn of loop i. */
static void
turn(struct workload *w, unsigned i)
{
	const unsigned amount = w->loop[i].work;
	uint64_t value = w->signal, before = value, begin, now;

	__atomic_store_n(&w->tag, i + 1, __ATOMIC_RELEASE);
	begin = cycles_in_order();
	do {
		for (unsigned k = 0; k < CHANGES_AT_ONCE; k++) {
			__atomic_store_n(&w->signal, ++value, __ATOMIC_RELAXED);
			workload_work(amount);
		}
		now = cycles_now();
	} while (now - begin < w->turn_cycles &&
		 __atomic_load_n(&w->stop, __ATOMIC_RELAXED) == 0);
	truth_add(&w->truth[i], value - before, cycles_in_order() - begin);
}

static void *
workload_main(void *user)
{
	struct workload *w = user;
	unsigned i = 0;

	(void)workload_pin(w->cpu);
	pthread_barrier_wait(&w->ready);
	while (__atomic_load_n(&w->stop, __ATOMIC_RELAXED) == 0) {
		turn(w, i);
		i = (i + 1) % w->loops;
	}
	w->pushed += workload_pushed();
	return NULL;
}

int
workload_start(struct workload *w, int cpu)
{
	int err;

	w->cpu = cpu;
	w->signal = w->tag = 0;
	w->stop = 0;
	memset(w->truth, 0, sizeof(w->truth));
	err = pthread_barrier_init(&w->ready, NULL, 2);
	if (err != 0)
		return -err;
	err = pthread_create(&w->thread, NULL, workload_main, w);
	if (err != 0) {
		pthread_barrier_destroy(&w->ready);
		return -err;
	}
	pthread_barrier_wait(&w->ready);
	return 0;
}

void
workload_stop(struct workload *w)
{
	__atomic_store_n(&w->stop, 1, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
	pthread_barrier_destroy(&w->ready);
}
