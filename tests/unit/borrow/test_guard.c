/*
 * Goal: while a core is busy, batch work beside it does not get the CPU, and
 * before and afterwards it does, as the budget says.
 */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"
#include "borrow/guard.h"

static struct talechain_lane words[TALECHAIN_LANES];
static struct talechain_asker askers[TALECHAIN_LANES];
static uint64_t guarded[TALECHAIN_LANES];
static struct lanes_pairs pairs;
static clockid_t batch_clock;
static atomic_bool over;

static void *
batch_run(void *user)
{
	struct sched_param none = {0};

	sched_setaffinity(0, sizeof(pairs.borrows), &pairs.borrows);
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!atomic_load(&over))
		;
	return user;
}

static double
ran_ms(void)
{
	struct timespec t;

	clock_gettime(batch_clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Until it has run for 1 ms more; what else runs here has its time first. */
static void
wait_until_it_runs(void)
{
	double before = ran_ms();

	for (int i = 0; i < 6000 && ran_ms() < before + 1; i++)
		usleep(10000);
	assert_true(ran_ms() >= before + 1);
}

static void
wake_all(void *user)
{
	(void)user;
}

static void
doze(void *user, int cpu, int timeout_ms)
{
	(void)user;
	(void)cpu;
	usleep(timeout_ms > 1 ? 100 : 0);
}

/* Both lanes are imagined; only the CPU is not: one that we may use. */
static void
with_batch(int64_t budget_ns, void (*then)(void))
{
	struct guard_view view = {words, askers, guarded, doze, wake_all, NULL};
	struct lane_guard *g;
	cpu_set_t own;
	pthread_t t;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
	while (!CPU_ISSET((size_t)cpu, &own))
		cpu++;
	CPU_ZERO(&pairs.borrows);
	CPU_SET((size_t)cpu, &pairs.borrows);
	pairs.core[cpu] = (unsigned short)cpu;
	atomic_store(&over, false);
	pthread_create(&t, NULL, batch_run, NULL);
	pthread_getcpuclockid(t, &batch_clock);
	assert_int_equal(guard_start(&g, &view, &pairs, budget_ns), 0);
	wait_until_it_runs();
	then();
	guard_stop(&g);
	wait_until_it_runs();
	atomic_store(&over, true);
	pthread_join(t, NULL);
}

static void
set(unsigned long long hold)
{
	for (unsigned i = 0; i < TALECHAIN_LANES; i++) {
		__atomic_store_n(
		    &words[i].changed_ns, instant_now().ns, __ATOMIC_RELEASE);
		__atomic_store_n(&words[i].hold, hold, __ATOMIC_RELEASE);
	}
}

static void
hold_and_let_go(void)
{
	struct instant begun;
	double before;

	for (int i = 0; i < 3; i++) {
		set(1);
		usleep(1000);
		before = ran_ms();
		begun = instant_now();
		usleep(200000);
		assert_true(
		    ran_ms() - before <
		    (double)instant_since(instant_now(), begun) / 1e6 / 2);
		set(0);
		wait_until_it_runs();
	}
	set(1);
}

TEST(test_not_beside_a_busy_core)
{
	with_batch(0, hold_and_let_go);
	set(0);
}

static void
runs_on(void)
{
	set(1);
	wait_until_it_runs();
	set(0);
}

TEST(test_within_the_budget)
{
	with_batch(3600 * NS_PER_S, runs_on);
}
