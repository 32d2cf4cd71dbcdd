/*
 * stress.c: see stress.h.
 *
 * Each writer thread has a ring of its own and writes gusts of several laps as
 * fast as it can; between gusts it waits for one sweep of the observer, so
 * that on a machine with few CPUs not everything is lost.  The observer is
 * slow on purpose now and then.  Behind it one reader keeps up as it can and
 * one waits to be overtaken.
 */
#include "tests/unit/talechain/stress.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "talechain/timeline/cursor.h"
#include "talechain/timeline/timeline.h"

#define WRITERS 3
#define READERS 2
#define RING_LOG2 8
#define STREAM_LOG2 12
#define GUST 5000

struct stress {
	uint64_t events; /* of each writer */
	struct talechain_channel *channel[WRITERS];
	struct talechain_cursor cursor[WRITERS];
	struct timeline *timeline;
	pthread_barrier_t start;
	unsigned sweeps; /* of the observer, atomic */
	unsigned done;	 /* writers, atomic */
	bool finished;	 /* the observer, atomic */
	uint64_t appended;
	uint64_t read[READERS], missed[READERS], corrupt[READERS];
};

struct role {
	struct stress *stress;
	unsigned n;
};

/* Every field is a function of one number, so a torn copy shows. */
static uint64_t
mix(uint64_t i, uint64_t salt)
{
	return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ salt;
}

static bool
whole(const struct talechain_event *e)
{
	uint64_t i = e->arg[0];

	return e->ts == mix(i, 1) && e->arg[1] == mix(i, 2) &&
	       e->arg[2] == mix(i, 3) && e->arg[3] == mix(i, 4) &&
	       e->type == TALECHAIN_APP_MARK && e->cpu == UINT32_MAX &&
	       e->version == 1 && e->flags == 0;
}

static void *
writer(void *arg)
{
	struct role *r = arg;
	struct talechain tc;
	unsigned seen;
	uint64_t i;

	talechain_attach(&tc, r->stress->channel[r->n], RING_LOG2);
	pthread_barrier_wait(&r->stress->start);
	for (i = 0; i < r->stress->events; i++) {
		talechain_emit_at(&tc, mix(i, 1), TALECHAIN_APP_MARK, i,
		    mix(i, 2), mix(i, 3), mix(i, 4));
		if (i % GUST != GUST - 1)
			continue;
		seen = __atomic_load_n(&r->stress->sweeps, __ATOMIC_RELAXED);
		while (__atomic_load_n(&r->stress->sweeps, __ATOMIC_RELAXED) ==
		       seen)
			sched_yield();
	}
	__atomic_fetch_add(&r->stress->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* One sweep over the channels.  Returns how much was found. */
static unsigned
sweep(struct stress *s)
{
	struct talechain_event e;
	uint64_t lost, before;
	unsigned n, k, found = 0;

	for (n = 0; n < WRITERS; n++)
		for (k = 0; k < 1u << RING_LOG2; k++) {
			before = s->cursor[n].next;
			switch (talechain_take(
			    &s->cursor[n], &e, &lost, instant_now())) {
			case TALECHAIN_TAKE_NONE:
				k = 1u << RING_LOG2;
				break;
			case TALECHAIN_TAKE_LOST:
				found++;
				break;
			case TALECHAIN_TAKE_OK:
				found++;
				/* The right event, in its place, whole. */
				if (e.arg[0] != before || !whole(&e))
					abort();
				timeline_append(s->timeline, &e, n, -1,
				    (struct instant){mix(e.arg[0], n)});
				s->appended++;
				break;
			}
		}
	return found;
}

static void *
observer(void *arg)
{
	struct stress *s = ((struct role *)arg)->stress;
	unsigned turn, found;
	bool last;

	pthread_barrier_wait(&s->start);
	do {
		last = __atomic_load_n(&s->done, __ATOMIC_ACQUIRE) == WRITERS;
		found = sweep(s);
		turn = __atomic_add_fetch(&s->sweeps, 1, __ATOMIC_RELAXED);
		if (turn % 64 < 8)
			sched_yield(); /* slow for a moment */
	} while (found > 0 || !last);
	__atomic_store_n(&s->finished, true, __ATOMIC_RELEASE);
	return NULL;
}

static void *
reader(void *arg)
{
	struct role *role = arg;
	struct stress *s = role->stress;
	struct timeline_reader *r;
	struct timeline_slot slot;
	uint64_t lost, pause;
	bool last;

	if (timeline_reader_from(&r, s->timeline) != 0)
		abort();
	timeline_seek(r, 0);
	pthread_barrier_wait(&s->start);
	for (;;) {
		last = __atomic_load_n(&s->finished, __ATOMIC_ACQUIRE);
		switch (timeline_read(r, &slot, &lost)) {
		case TIMELINE_READ_OK:
			s->read[role->n]++;
			s->corrupt[role->n] +=
			    !whole(&slot.event) || slot.channel >= WRITERS ||
			    slot.read_ns !=
				mix(slot.event.arg[0], slot.channel) ||
			    slot.seq != 2 * timeline_reader_position(r);
			break;
		case TIMELINE_READ_LOST:
			s->missed[role->n] += lost;
			break;
		case TIMELINE_READ_NONE:
			if (last) {
				timeline_reader_close(&r);
				return NULL;
			}
			sched_yield();
			break;
		}
		/* The second one waits to be overtaken. */
		pause = timeline_reader_position(r) + (3u << STREAM_LOG2);
		while (role->n == 1 && s->read[1] % 5000 == 1 &&
		       timeline_reader_head(r) < pause &&
		       !__atomic_load_n(&s->finished, __ATOMIC_ACQUIRE))
			sched_yield();
	}
}

uint64_t
stress_run(uint64_t events)
{
	struct stress s = {.events = events};
	pthread_t thread[WRITERS + READERS + 1];
	struct role role[WRITERS + READERS + 1];
	size_t bytes = talechain_bytes(RING_LOG2);
	uint64_t lost = 0, taken = 0, torn = 0;
	unsigned n, all = WRITERS + READERS + 1;

	assert_int_equal(timeline_new(&s.timeline, NULL, STREAM_LOG2), 0);
	for (n = 0; n < WRITERS; n++) {
		s.channel[n] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(s.channel[n], MAP_FAILED);
		talechain_init(s.channel[n], RING_LOG2, TALECHAIN_KIND_APP,
		    "stress", 1, n, n);
		assert_int_equal(
		    talechain_cursor_init(&s.cursor[n], s.channel[n], bytes),
		    0);
	}
	pthread_barrier_init(&s.start, NULL, all);
	for (n = 0; n < all; n++) {
		role[n].stress = &s;
		role[n].n = n < WRITERS ? n : n - WRITERS;
		assert_int_equal(pthread_create(&thread[n], NULL,
				     n < WRITERS	     ? writer
				     : n < WRITERS + READERS ? reader
							     : observer,
				     &role[n]),
		    0);
	}
	for (n = 0; n < all; n++)
		pthread_join(thread[n], NULL);
	for (n = 0; n < WRITERS; n++) {
		assert_int_equal(s.cursor[n].taken + s.cursor[n].lost +
				     s.cursor[n].abandoned,
		    events);
		assert_int_equal(s.cursor[n].rejected, 0);
		/* They were often preempted, but none of them died. */
		assert_int_equal(s.cursor[n].abandoned, 0);
		taken += s.cursor[n].taken;
		lost += s.cursor[n].lost;
		torn += s.cursor[n].torn;
		munmap(s.channel[n], bytes);
	}
	print_message("taken %lu lost %lu torn %lu, readers missed %lu %lu\n",
	    (unsigned long)taken, (unsigned long)lost, (unsigned long)torn,
	    (unsigned long)s.missed[0], (unsigned long)s.missed[1]);
	assert_true(lost > 0);
	assert_true(taken > 0);
	assert_int_equal(s.appended, taken);
	assert_int_equal(timeline_position(s.timeline), taken);
	for (n = 0; n < READERS; n++) {
		assert_int_equal(s.read[n] + s.missed[n], taken);
		assert_int_equal(s.corrupt[n], 0);
	}
	assert_true(s.missed[1] > 0);
	pthread_barrier_destroy(&s.start);
	timeline_free(&s.timeline);
	return torn;
}
