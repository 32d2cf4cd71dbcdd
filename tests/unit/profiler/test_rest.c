/*
 * Goal: an observer that rests is woken by each of its wakers, never late, and
 * what it owns is used by one thread at a time; a hazard that began during a
 * rest is there to be taken after a look.
 */
#include "resting.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ROUNDS 20000
#define RINGS (5 * OBSERVER_LOOKS)

/* --- resting and waking --------------------------------------------------- */

struct stress {
	struct observer_rest rest;
	uint64_t owned;	      /* who may touch the observer's structures */
	uint64_t asked, done; /* atomic */
	uint32_t stop;
};

/* At most about a microsecond. */
static void
idle_for_a_while(unsigned *seed)
{
	volatile unsigned left = (unsigned)rand_r(seed) % 1000;

	while (left > 0)
		left--;
}

static void *
stress_observe(void *arg)
{
	struct stress *s = arg;
	unsigned seed = 2;

	while (__atomic_load_n(&s->stop, __ATOMIC_RELAXED) == 0) {
		s->owned++;
		__atomic_store_n(&s->done,
		    __atomic_load_n(&s->asked, __ATOMIC_RELAXED),
		    __ATOMIC_RELAXED);
		idle_for_a_while(&seed); /* the rest of a sweep */
		/* No rest ends by itself. */
		s->rest.wait_ns = FOREVER_NS;
		observer_rest(&s->rest, FOREVER_NS, 0);
	}
	return NULL;
}

static void
stress_await(struct stress *s, uint64_t number)
{
	struct instant limit = instant_plus(instant_now(), FIXTURE_LIMIT_NS);

	while (__atomic_load_n(&s->done, __ATOMIC_RELAXED) < number) {
		if (!instant_before(instant_now(), limit))
			fail_msg("wake-up %llu was lost",
			    (unsigned long long)number);
		sched_yield();
	}
}

/* Goal: every wake-up is followed by a sweep, at whatever moment it comes,
 * and a borrower and the observer exclude each other. */
TEST(test_no_wake_up_is_lost)
{
	struct stress *s = aligned_alloc(64, sizeof(*s));
	uint64_t i, borrowed = 0;
	unsigned seed = 1;
	pthread_t thread;

	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	assert_int_equal(observer_rest_init(&s->rest), 0);
	s->rest.idle = 1;
	assert_int_equal(pthread_create(&thread, NULL, stress_observe, s), 0);
	for (i = 1; i <= ROUNDS; i++) {
		/* While it still sweeps, or already rests. */
		idle_for_a_while(&seed);
		if (observer_rest_borrow(&s->rest)) {
			s->owned++;
			borrowed++;
			observer_rest_return(&s->rest);
		}
		__atomic_store_n(&s->asked, i, __ATOMIC_RELAXED);
		observer_rest_wake(&s->rest);
		stress_await(s, i);
	}
	/* It rests now, or soon: then it can be borrowed. */
	while (!observer_rest_borrow(&s->rest))
		sched_yield();
	s->owned++;
	borrowed++;
	observer_rest_return(&s->rest);
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELAXED);
	observer_rest_wake(&s->rest);
	pthread_join(thread, NULL);
	/* Each rest ended once, and was preceded by one sweep. */
	assert_int_equal(s->owned, s->rest.rests + borrowed);
	observer_rest_fini(&s->rest);
	free(s);
}

/* Goal: rests get longer up to the longest, and short again after a wake-up. */
TEST(test_rests_get_longer)
{
	struct observer_rest r;

	assert_int_equal(observer_rest_init(&r), 0);
	r.idle = 1;
	observer_rest(&r, 3 * NS_PER_MS, 0);
	assert_int_equal(r.wait_ns, OBSERVER_REST_FIRST_NS);
	observer_rest(&r, 3 * NS_PER_MS, 0);
	assert_int_equal(r.wait_ns, 2 * NS_PER_MS);
	observer_rest(&r, 3 * NS_PER_MS, 0);
	assert_int_equal(r.wait_ns, 3 * NS_PER_MS);
	assert_int_equal(r.woken, 0);
	observer_rest_wake(&r);
	r.wait_ns = FOREVER_NS;
	observer_rest(&r, FOREVER_NS, 0);
	assert_int_equal(r.wait_ns, 0);
	assert_int_equal(r.woken, 1);
	assert_int_equal(r.rests, 4);
	assert_int_equal(r.state, OBSERVER_SWEEPS);
	observer_rest_fini(&r);
}

/* Goal: with requests in flight a calm observer rests shortly, and the first
 * request ends a rest only if the rest would last. */
TEST(test_calm_rests)
{
	struct observer_rest r;
	struct instant now;

	assert_int_equal(observer_rest_init(&r), 0);
	r.wait_ns = 16 * NS_PER_MS;
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_NS);
	assert_int_equal(r.wait_ns, OBSERVER_CALM_NS);
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
	assert_int_equal(r.wait_ns, OBSERVER_CALM_RINGS_NS);

	r.idle = 1;
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_NS);
	now = r.until;
	observer_rest_set(&r, true, instant_plus(now, -OBSERVER_CALM_NS));
	assert_int_equal(r.wakes, 0);
	observer_rest_set(&r, true, instant_plus(now, -OBSERVER_CALM_NS - 1));
	assert_int_equal(r.wakes, 1);
	observer_rest(&r, 16 * NS_PER_MS, 0);
	observer_rest_set(&r, true, r.until);
	assert_int_equal(r.wakes, 2);
	observer_rest_fini(&r);
}

/* Goal: a request that begins as a calm observer ceases to be one is not late:
 * it ends no rest by what is known of the last one, so the next is short. */
TEST(test_no_long_rest_after_a_calm_one)
{
	struct observer_rest r;

	assert_int_equal(observer_rest_init(&r), 0);
	r.idle = 1;
	r.wait_ns = 16 * NS_PER_MS;
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_NS);
	observer_rest_set(&r, true, r.until);
	assert_int_equal(r.wakes, 0);
	observer_rest(&r, 16 * NS_PER_MS, 0);
	assert_int_equal(r.wait_ns, OBSERVER_CALM_NS);
	observer_rest_fini(&r);
}

/* Goal: requests that follow each other closely end no rest of a calm observer,
 * and do not make it rest shorter. */
TEST(test_close_requests_end_no_rest)
{
	struct observer_rest r;

	assert_int_equal(observer_rest_init(&r), 0);
	r.idle = 1;
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
	for (unsigned i = 0; i < 5; i++) {
		observer_rest_set(&r, true, r.from);
		observer_rest_set(&r, false, r.from);
		observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
		assert_int_equal(r.wait_ns, OBSERVER_CALM_RINGS_NS);
	}
	assert_int_equal(r.wakes, 0);
	observer_rest(&r, 16 * NS_PER_MS, OBSERVER_CALM_RINGS_NS);
	assert_int_equal(r.wait_ns, 2 * OBSERVER_CALM_RINGS_NS);
	observer_rest_set(&r, true, r.from);
	assert_int_equal(r.wakes, 1);
	observer_rest_fini(&r);
}

/* Goal: what may be a stall ends a calm rest, and no wait for a pause of a JVM
 * begins. */
TEST(test_stall_ends_a_rest)
{
	struct observer_rest r;

	assert_int_equal(observer_rest_init(&r), 0);
	r.stall = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	observer_rest(&r, OBSERVER_REST_NS, OBSERVER_CALM_RINGS_NS);
	assert_false(r.stirred);
	assert_int_equal(r.woken, 1);
	close(r.stall);
	observer_rest_fini(&r);
}

/* Goal: a source ends a short rest and no deep one, and what it announced
 * meanwhile is no reason for the next to end; a deep one ends with any
 * request. */
TEST(test_deep_rests)
{
	struct observer_rest r;
	int source = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	assert_int_equal(observer_rest_init(&r), 0);
	r.source[0] = source;
	r.idle = 1;
	r.wait_ns = OBSERVER_REST_NS / 2;
	eventfd_write(source, 1);
	observer_rest(&r, OBSERVER_REST_NS, OBSERVER_CALM_NS);
	assert_true(r.stirred);
	assert_int_equal(r.wait_ns, 0);

	r.wait_ns = OBSERVER_REST_NS;
	observer_rest_set(&r, false, instant_now());
	assert_false(observer_rest(&r, 2 * OBSERVER_REST_NS, OBSERVER_CALM_NS));
	assert_false(r.stirred);
	assert_int_equal(r.wait_ns, 2 * OBSERVER_REST_NS);
	assert_int_equal(r.woken, 1);
	assert_false(observer_rest_deep(&r));

	/* Even at its very end. */
	observer_rest_set(&r, true, r.until);
	assert_int_equal(r.wakes, 1);
	observer_rest_set(&r, false, instant_now());
	r.wait_ns = OBSERVER_REST_NS;
	r.busy_ns = 0; /* as if that request was long ago */
	assert_true(observer_rest(&r, FOREVER_NS, OBSERVER_CALM_NS));
	observer_rest_fini(&r);
	close(source);
}

/* --- an observer that rests ----------------------------------------------- */

static struct channel *agent;

static struct rest_rig *
rig_with_agent(enum profiler_poll poll)
{
	struct rest_rig *r = rest_rig_new(poll);

	assert_int_equal(
	    channel_new_inside(&agent, 1, TALECHAIN_KIND_JVM, "agent", 6), 0);
	agent->server = 0;
	r->o.rest.wait_ns = FOREVER_NS; /* no rest ends by itself */
	assert_true(observer_add_channel(&r->o, agent, instant_now()));
	return r;
}

static void
rig_with_agent_free(struct rest_rig *r)
{
	observer_stop(&r->o);
	channel_free(&agent);
	rest_rig_free(r);
}

static void
collect(uint64_t epoch, bool begin)
{
	__atomic_store_n(&agent->memory->word[TALECHAIN_WORD_SINCE],
	    instant_now().ns, __ATOMIC_RELAXED);
	__atomic_store_n(&agent->memory->state,
	    epoch << 8 | (begin ? TALECHAIN_JVM_GC : TALECHAIN_JVM_RUNNING),
	    __ATOMIC_RELEASE);
}

/* Goal: what began while it rests is there after a look, on this thread and
 * at once; and the wake-up is followed by polling, which finds the end. */
TEST(test_look)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_SLEEP);
	struct hazard h;

	observer_rest_set(&r->o.rest, false, instant_now());
	assert_int_equal(observer_start(&r->o), 0);
	assert_true(eventually(rest_rig_rests, r));
	collect(1, true);
	assert_false(hazard_ring_take(&r->hazards, &h));
	assert_true(observer_look(&r->o));
	assert_true(hazard_ring_take(&r->hazards, &h));
	assert_int_equal(h.kind, HAZARD_GC);
	assert_int_equal(h.begin, 1);
	assert_false(hazard_ring_take(&r->hazards, &h));

	observer_rest_set(&r->o.rest, true, instant_now());
	collect(2, false);
	assert_true(eventually(rest_rig_has_hazard, r));
	collect(3, true);
	assert_true(eventually(rest_rig_has_hazard, r));
	assert_int_equal(r->o.output.counters.hazards_lost, 0);
	rig_with_agent_free(r);
}

/* Goal: a command wakes it, and so does the end. */
TEST(test_command)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_RELAX);
	struct observer_command exit = {.kind = COMMAND_SERVER_EXIT, .pid = 1};

	observer_rest_set(&r->o.rest, false, instant_now());
	assert_int_equal(observer_start(&r->o), 0);
	assert_true(eventually(rest_rig_rests, r));
	exit.at = instant_now();
	assert_true(command_push(&r->commands, &exit));
	observer_rest_wake(&r->o.rest);
	assert_true(eventually(rest_rig_has_hazard, r));
	rig_with_agent_free(r);
}

/* Goal: with requests in flight it polls for a server's agent; it rests if
 * there are only rings, and a command ends that. */
TEST(test_only_rings)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_SLEEP);
	struct observer_command exit = {.kind = COMMAND_SERVER_EXIT, .pid = 1};

	r->o.sleep_ns = OBSERVER_CALM_NS - 1;
	assert_int_equal(observer_start(&r->o), 0);
	collect(1, true);
	assert_true(eventually(rest_rig_has_hazard, r));
	collect(2, false);
	assert_true(eventually(rest_rig_has_hazard, r));
	assert_int_equal(count_read(&r->o.rest.rests), 0);
	observer_stop(&r->o);

	agent->server = -1;
	r->o.stop = 0;
	assert_int_equal(observer_start(&r->o), 0);
	assert_true(eventually(rest_rig_rests, r));
	exit.at = instant_now();
	assert_true(command_push(&r->commands, &exit));
	observer_rest_wake(&r->o.rest);
	assert_true(eventually(rest_rig_has_hazard, r));
	rig_with_agent_free(r);
}

/* Goal: an observer that spins never rests, and is never borrowed. */
TEST(test_spin)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_SPIN);

	observer_rest_set(&r->o.rest, false, instant_now());
	assert_int_equal(observer_start(&r->o), 0);
	collect(1, true);
	assert_true(eventually(rest_rig_has_hazard, r));
	assert_false(observer_look(&r->o));
	assert_int_equal(count_read(&r->o.rest.rests), 0);
	rig_with_agent_free(r);
}

static bool
has_all_events(void *arg)
{
	struct rest_rig *r = arg;

	return count_read(&r->o.output.counters.events) == RINGS;
}

/* Goal: the longest rests are where no pause is in force, little was written,
 * and no ring is a service's; as soon as it has read more, they are shorter.
 * What has to be polled is no reason. */
TEST(test_quiet)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_SLEEP);
	struct instant now = instant_now();
	struct channel *proxy, *app;
	struct talechain tc;

	r->o.rest_ns = OBSERVER_REST_NS;
	r->o.quiet_ns = OBSERVER_REST_QUIET_NS;
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_QUIET_NS);
	collect(1, true);
	observer_sweep(&r->o, now);
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_NS);
	collect(2, false);
	observer_sweep(&r->o, now);
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_QUIET_NS);

	assert_int_equal(
	    channel_new_inside(&proxy, 2, TALECHAIN_KIND_PROXY, "p", 10), 0);
	assert_true(observer_add_channel(&r->o, proxy, now));
	talechain_attach(&tc, proxy->memory, 10);
	for (unsigned i = 0; i <= OBSERVER_QUIET_EVENTS; i++) {
		assert_int_equal(
		    observer_longest_ns(&r->o), OBSERVER_REST_QUIET_NS);
		talechain_emit(&tc, TALECHAIN_APP_MARK, i, 0, 0, 0);
		observer_sweep(&r->o, now);
	}
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_NS);
	r->o.read = 0; /* as after a rest */

	assert_int_equal(
	    channel_new_inside(&app, 3, TALECHAIN_KIND_APP, "app", 6), 0);
	assert_true(observer_add_channel(&r->o, app, now));
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_NS);
	app->ending = true;
	while (r->o.channels > 2)
		observer_sweep(&r->o, now);
	assert_int_equal(observer_longest_ns(&r->o), OBSERVER_REST_QUIET_NS);
	channel_free(&app);
	channel_free(&proxy);
	rig_with_agent_free(r);
}

/* Goal: one wake-up is enough for all rings, however many there are. */
TEST(test_all_rings)
{
	struct rest_rig *r = rig_with_agent(PROFILER_POLL_SLEEP);
	struct channel *c[RINGS];
	struct talechain tc[RINGS];
	unsigned i;

	for (i = 0; i < RINGS; i++) {
		assert_int_equal(channel_new_inside(&c[i], i + 2,
				     TALECHAIN_KIND_APP, "app", 6),
		    0);
		assert_true(observer_add_channel(&r->o, c[i], instant_now()));
		talechain_attach(&tc[i], c[i]->memory, 6);
	}
	observer_rest_set(&r->o.rest, false, instant_now());
	assert_int_equal(observer_start(&r->o), 0);
	assert_true(eventually(rest_rig_rests, r));
	for (i = 0; i < RINGS; i++)
		talechain_emit(&tc[i], TALECHAIN_APP_MARK, i, 0, 0, 0);
	observer_rest_wake(&r->o.rest);
	assert_true(eventually(has_all_events, r));
	observer_stop(&r->o);
	for (i = 0; i < RINGS; i++)
		channel_free(&c[i]);
	rig_with_agent_free(r);
}
