/*
 * test_sampler.c: what a sample of words holds, and what the clock steps by.
 */
#include <pthread.h>

#include "tests/unit/unit.h"

#include "profiler/counters/cycles.h"
#include "shim/sampler.h"

#define SAMPLES 20000

/* Two words that a thread counts up, the second always behind the first. */
struct words {
	_Alignas(128) uint64_t first;
	_Alignas(128) uint64_t second;
	_Alignas(128) uint32_t stop;
};

static uint64_t
word(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void *
count(void *user)
{
	struct words *w = user;
	uint64_t n = 0;

	while (__atomic_load_n(&w->stop, __ATOMIC_RELAXED) == 0) {
		__atomic_store_n(&w->first, ++n, __ATOMIC_RELEASE);
		__atomic_store_n(&w->second, n, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Sample while they are counted; every value must be of its moment. */
static void
sample_truly(uint64_t period)
{
	static struct words w;
	struct sampler s = {.signals = 2, .tag = &w.second, .period = period};
	struct shim_sample last = {{0, 0}, {0}, 0}, now;
	uint64_t first, second;
	pthread_t thread;
	unsigned i;

	w = (struct words){0, 0, 0};
	s.signal[0].word = &w.first;
	s.signal[1].word = &w.second;
	assert_int_equal(pthread_create(&thread, NULL, count, &w), 0);
	for (i = 0; i < SAMPLES; i++) {
		first = word(&w.first);
		second = word(&w.second);
		sampler_take(&s, &now);
		assert_in_range(now.value[0], first, word(&w.first));
		assert_in_range(now.value[1], second, word(&w.second));
		assert_in_range(now.tag, now.value[1], word(&w.second));
		assert_true(now.clock.begin <= now.clock.end);
		assert_true(now.clock.begin >= last.clock.end);
		last = now;
		sampler_wait(&s, now.clock.begin);
		assert_true(cycles_in_order() - now.clock.begin >= period);
	}
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* Goal: a sample holds what the words were between two looks around it. */
TEST(test_at_once)
{
	sample_truly(0);
}

/* Goal: the same where the words are read ahead. */
TEST(test_ahead)
{
	sample_truly(SAMPLER_AHEAD);
}
