/*
 * Goal: a slot that is overwritten while it is copied is never taken for
 * whole.  The reader looks only at the slot that comes next to the writer.
 */
#include "tests/unit/unit.h"

#include <pthread.h>

#include "base/instant.h"
#include "talechain/timeline/ring.h"

#define SLOTS 4
#define WORDS 12

static uint64_t slot[SLOTS][WORDS];
static uint64_t head; /* atomic */
static bool stop;     /* atomic */

static void *
writer(void *arg)
{
	uint64_t words[WORDS], i, k;

	(void)arg;
	for (i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
		for (k = 0; k < WORDS; k++)
			words[k] = i * 16 + k;
		ring_store(slot[i % SLOTS], words, WORDS, i);
		__atomic_store_n(&head, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

TEST(test_copy)
{
	struct instant begun = instant_now();
	uint64_t words[WORDS], seq, i, k, refused = 0, whole = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
	while ((refused < 2000 || whole < 2000) &&
	       instant_since(instant_now(), begun) < 5 * NS_PER_S) {
		i = __atomic_load_n(&head, __ATOMIC_ACQUIRE) % SLOTS;
		seq = ring_seq(slot[i]);
		if (seq == 0 || seq % 2 == 1)
			continue;
		if (!ring_copy(words, slot[i], WORDS, seq)) {
			refused++;
			continue;
		}
		whole++;
		assert_int_equal(words[0], seq);
		for (k = 1; k < WORDS; k++)
			assert_int_equal(words[k], (seq / 2 - 1) * 16 + k);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	print_message("whole %lu refused %lu\n", (unsigned long)whole,
	    (unsigned long)refused);
	assert_true(whole > 0);
}

TEST(test_judge)
{
	assert_int_equal(ring_judge(0, 0, 8), RING_EMPTY);
	assert_int_equal(ring_judge(1, 0, 8), RING_BUSY);
	assert_int_equal(ring_judge(2, 0, 8), RING_READY);
	assert_int_equal(ring_judge(3, 0, 8), RING_ABSURD);
	assert_int_equal(ring_judge(17, 0, 8), RING_LAPPED);
	assert_int_equal(ring_judge(18, 0, 8), RING_LAPPED);
	assert_int_equal(ring_judge(19, 0, 8), RING_ABSURD);
	assert_int_equal(ring_judge(2 * 5 + 2, 13, 8), RING_EMPTY);
	assert_int_equal(ring_judge(UINT64_MAX, 7, 8), RING_ABSURD);
	/* Slot 0 holds entry 8 of 8 slots: head is 9 .. 16. */
	assert_int_equal(ring_resume(18, 12, 8), 6);
	assert_int_equal(ring_resume(18, 0, 8), 3);
	assert_int_equal(ring_resume(18, UINT64_MAX, 8), 10);
}
