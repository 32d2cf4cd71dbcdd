/*
 * Goal: hazards arrive in order, wake their reader once per burst and never
 * fail to; and when there are too many, each server's final state still
 * arrives.
 */
#include "tests/unit/unit.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "profiler/channels/hazard_ring.h"

static struct hazard
make(unsigned server, enum hazard_kind kind, bool begin, uint64_t at)
{
	return (struct hazard){.server = (uint8_t)server,
	    .kind = (uint8_t)kind,
	    .begin = begin,
	    .at = {at},
	    .seen = {at}};
}

static bool
readable(const struct hazard_ring *r)
{
	struct pollfd p = {.fd = r->fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static struct hazard_ring *
ring_new(void)
{
	struct hazard_ring *r = aligned_alloc(64, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(hazard_ring_init(r), 0);
	return r;
}

static void
ring_free(struct hazard_ring *r)
{
	hazard_ring_fini(r);
	free(r);
}

/* Goal: one wakeup for a burst, none while the reader is not done, and an
 * empty ring leaves the descriptor quiet. */
TEST(test_wakeups)
{
	struct hazard_ring *r = ring_new();
	struct hazard h;
	unsigned i;

	assert_false(hazard_ring_take(r, &h));
	assert_false(readable(r));
	for (i = 0; i < 10; i++) {
		h = make(0, HAZARD_GC, i % 2 == 0, i + 1);
		assert_true(hazard_ring_post(r, &h));
	}
	assert_true(readable(r));
	assert_int_equal(r->wakes, 1);
	for (i = 0; i < 10; i++) {
		assert_true(hazard_ring_take(r, &h));
		assert_int_equal(h.at.ns, i + 1);
	}
	assert_int_equal(r->wakes, 1);
	assert_false(hazard_ring_take(r, &h));
	assert_false(readable(r));
	h = make(0, HAZARD_GC, true, 1);
	hazard_ring_post(r, &h);
	assert_true(readable(r));
	assert_int_equal(r->wakes, 2);
	assert_true(hazard_ring_take(r, &h));
	assert_false(hazard_ring_take(r, &h));
	assert_false(readable(r));
	ring_free(r);
}

/* Goal: with far too many, the final states are told, each once. */
TEST(test_overflow)
{
	bool level[PROFILER_SERVERS][HAZARD_KIND_COUNT],
	    told[PROFILER_SERVERS][HAZARD_KIND_COUNT];
	struct hazard_ring *r = ring_new();
	unsigned round, i, n, s, k, lost;
	struct hazard h;

	srand(3);
	memset(told, 0, sizeof(told));
	memset(level, 0, sizeof(level));
	for (round = 0; round < 200; round++) {
		n = (unsigned)rand() % 1000;
		lost = 0;
		for (i = 0; i < n; i++) {
			s = (unsigned)rand() % PROFILER_SERVERS;
			k = (unsigned)rand() % HAZARD_KIND_COUNT;
			level[s][k] = !level[s][k];
			h = make(s, (enum hazard_kind)k, level[s][k], i + 1);
			lost += !hazard_ring_post(r, &h);
		}
		assert_int_equal(
		    lost, n > HAZARD_RING_SLOTS ? n - HAZARD_RING_SLOTS : 0);
		while (hazard_ring_take(r, &h)) {
			assert_int_not_equal(told[h.server][h.kind], h.begin);
			told[h.server][h.kind] = h.begin;
		}
		assert_memory_equal(told, level, sizeof(told));
		assert_false(readable(r));
	}
	ring_free(r);
}

struct stress {
	struct hazard_ring *ring;
	unsigned posts;
	int done; /* eventfd: all is posted */
	bool final[PROFILER_SERVERS][HAZARD_KIND_COUNT];
};

static void *
stress_post(void *arg)
{
	struct stress *t = arg;
	unsigned i, s, k, seed = 9;
	uint64_t one = 1;
	struct hazard h;

	for (i = 0; i < t->posts; i++) {
		s = (unsigned)rand_r(&seed) % PROFILER_SERVERS;
		k = (unsigned)rand_r(&seed) % HAZARD_KIND_COUNT;
		t->final[s][k] = !t->final[s][k];
		h = make(s, (enum hazard_kind)k, t->final[s][k], i + 1);
		hazard_ring_post(t->ring, &h);
		/* Bursts of many lengths, so that both ends catch up. */
		if (rand_r(&seed) % 64 == 0)
			sched_yield();
	}
	assert_int_equal(write(t->done, &one, sizeof(one)), sizeof(one));
	return NULL;
}

static void
stress_take(
    struct hazard_ring *r, bool told[PROFILER_SERVERS][HAZARD_KIND_COUNT])
{
	struct hazard h;

	while (hazard_ring_take(r, &h)) {
		assert_int_not_equal(told[h.server][h.kind], h.begin);
		told[h.server][h.kind] = h.begin;
	}
}

/* Goal: across threads no wakeup is lost, nothing is told twice, and the end
 * state is right, with and without losses. */
TEST(test_stress)
{
	bool told[PROFILER_SERVERS][HAZARD_KIND_COUNT];
	struct stress t = {.posts = 300000};
	struct pollfd p[2] = {{.events = POLLIN}, {.events = POLLIN}};
	struct hazard h;
	pthread_t thread;

	memset(told, 0, sizeof(told));
	t.ring = ring_new();
	t.done = eventfd(0, EFD_CLOEXEC);
	p[0].fd = t.ring->fd;
	p[1].fd = t.done;
	assert_int_equal(pthread_create(&thread, NULL, stress_post, &t), 0);
	do {
		assert_in_range(poll(p, 2, 120000), 1, 2);
		if (p[0].revents != 0)
			stress_take(t.ring, told);
	} while (p[1].revents == 0);
	pthread_join(thread, NULL);
	/* Nobody posts any more: what there still is must show. */
	if (!readable(t.ring))
		assert_false(hazard_ring_take(t.ring, &h));
	stress_take(t.ring, told);
	assert_memory_equal(told, t.final, sizeof(told));
	close(t.done);
	ring_free(t.ring);
}
