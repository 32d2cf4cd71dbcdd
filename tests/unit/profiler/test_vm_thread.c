/*
 * Goal: a thread that sleeps is known to, and its next run ends a wait, whether
 * poll(2) or an observer that follows a JVM's page: then a pause is found
 * without polling for it.
 */
#include "fake_page.h"
#include "resting.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAME "VM Thread"
#define TRIES 100

enum todo { DO_NOTHING, DO_SPIN, DO_SAFEPOINT, DO_END };

/* A thread that plays the JVM's: it sleeps until it is to do something. */
struct player {
	pthread_t thread;
	sem_t go, done;
	pid_t tid;
	enum todo what;
	uint32_t spin;
	struct fake_page *fake;
	struct vm_thread vm;
};

static void
play(struct player *p)
{
	switch (p->what) {
	case DO_SPIN:
		sem_post(&p->done);
		while (__atomic_load_n(&p->spin, __ATOMIC_RELAXED) != 0)
			continue;
		break;
	case DO_SAFEPOINT:
		fake_safepoint_begin(p->fake);
		break;
	case DO_NOTHING:
	case DO_END:
		break;
	}
}

static void *
player_run(void *arg)
{
	struct player *p = arg;

	prctl(PR_SET_NAME, NAME);
	p->tid = gettid();
	do {
		sem_post(&p->done);
		while (sem_wait(&p->go) < 0)
			continue;
		play(p);
	} while (p->what != DO_END);
	return NULL;
}

static void
player_do(struct player *p, enum todo what)
{
	p->what = what;
	sem_post(&p->go);
	while (sem_wait(&p->done) < 0)
		continue;
}

static bool
asleep(void *arg)
{
	struct player *p = arg;

	return !vm_thread_runs(&p->vm);
}

static void
player_stop(struct player *p)
{
	p->what = DO_END;
	sem_post(&p->go);
	pthread_join(p->thread, NULL);
	sem_destroy(&p->go);
	sem_destroy(&p->done);
}

static bool
readable(const struct vm_thread *v, int milliseconds)
{
	struct pollfd fd = {.fd = v->fd, .events = POLLIN};

	return poll(&fd, 1, milliseconds) > 0;
}

/* Followed, and asleep.  Skips where perf is not permitted. */
static void
player_start(struct player *p)
{
	int err;

	memset(p, 0, sizeof(*p));
	sem_init(&p->go, 0, 0);
	sem_init(&p->done, 0, 0);
	assert_int_equal(pthread_create(&p->thread, NULL, player_run, p), 0);
	while (sem_wait(&p->done) < 0)
		continue;
	err = vm_thread_open(&p->vm, getpid());
	if (err < 0) {
		player_stop(p);
		unit_skip("perf_event_open: %s", strerror(-err));
	}
	player_do(p, DO_NOTHING);
	assert_true(eventually(asleep, p));
	while (readable(&p->vm, 0))
		continue;
}

/* Goal: while it has something to do it runs; what it does in between can be
 * waited for. */
TEST(test_runs)
{
	struct player p;

	player_start(&p);
	p.spin = 1;
	player_do(&p, DO_SPIN);
	assert_true(readable(&p.vm, 60000));
	assert_true(vm_thread_runs(&p.vm));
	__atomic_store_n(&p.spin, 0, __ATOMIC_RELAXED);
	while (sem_wait(&p.done) < 0)
		continue;
	assert_true(eventually(asleep, &p));
	player_stop(&p);
	vm_thread_close(&p.vm);
	assert_int_equal(p.vm.fd, -1);
}

/* Goal: more switches than the ring has room for are no matter. */
TEST(test_many)
{
	struct player p;
	unsigned i;

	player_start(&p);
	for (i = 0; i < 2000; i++)
		player_do(&p, DO_NOTHING);
	assert_true(eventually(asleep, &p));
	while (readable(&p.vm, 0))
		continue;
	player_do(&p, DO_NOTHING);
	assert_true(readable(&p.vm, 60000));
	player_stop(&p);
	vm_thread_close(&p.vm);
}

/* Goal: where there is no such thread, that is known. */
TEST(test_none)
{
	struct vm_thread v;

	assert_int_equal(vm_thread_open(&v, getpid()), -ESRCH);
	assert_int_equal(v.fd, -1);
	vm_thread_close(&v);
}

/* --- an observer of a page ------------------------------------------------ */

static struct player player;
static struct fake_page fake;

static struct rest_rig *
rig_of_page(void)
{
	struct observer_command page = {.kind = COMMAND_PAGE};
	char why[PAGE_TEXT];
	struct rest_rig *r;

	player_start(&player);
	fake_init(&fake, NULL);
	fake_add_jvm(&fake, "Serial");
	player.fake = &fake;
	r = rest_rig_new(PROFILER_POLL_SLEEP);
	assert_int_equal(
	    hsperf_page_open_fd((struct hsperf_page **)&page.source, fake.fd,
		geteuid(), 42, why),
	    0);
	((struct hsperf_page *)page.source)->vm = player.vm;
	assert_true(command_push(&r->commands, &page));
	return r;
}

static void
rig_of_page_free(struct rest_rig *r)
{
	observer_stop(&r->o);
	player_stop(&player);
	hsperf_page_free(&r->o.page[0]);
	fake_fini(&fake);
	rest_rig_free(r);
}

/* Goal: a safepoint ends a rest that is not deep, with nothing in flight. */
TEST(test_ends_a_rest)
{
	struct rest_rig *r = rig_of_page();

	observer_rest_set(&r->o.rest, false, instant_now());
	r->o.quiet_ns = r->o.rest_ns = OBSERVER_REST_NS;
	assert_int_equal(observer_start(&r->o), 0);
	/* A rest may be over by itself as the safepoint begins. */
	for (unsigned tries = 0; count_read(&r->o.rest.woken) == 0; tries++) {
		assert_int_not_equal(tries, TRIES);
		assert_true(eventually(rest_rig_rests, r));
		player_do(&player, DO_SAFEPOINT);
		assert_true(eventually(rest_rig_has_hazard, r));
		fake_safepoint_end(&fake, 100);
		assert_true(eventually(rest_rig_has_hazard, r));
	}
	rig_of_page_free(r);
}

/* Goal: with requests in flight it rests, too, while the thread sleeps. */
TEST(test_rests_in_flight)
{
	struct rest_rig *r = rig_of_page();

	assert_int_equal(observer_start(&r->o), 0);
	assert_true(eventually(rest_rig_rests, r));
	player_do(&player, DO_SAFEPOINT);
	assert_true(eventually(rest_rig_has_hazard, r));
	rig_of_page_free(r);
}

/* Goal: a page is polled while a pause is in force or its thread runs, and
 * where there is no such thread. */
TEST(test_polls)
{
	struct rest_rig *r = rig_of_page();
	struct hsperf_page *p;

	observer_sweep(&r->o, instant_now());
	p = r->o.page[0];
	assert_false(hsperf_page_polls(p));
	player_do(&player, DO_SAFEPOINT);
	assert_true(eventually(asleep, &player));
	observer_sweep(&r->o, instant_now());
	assert_true(hsperf_page_polls(p));
	fake_safepoint_end(&fake, 100);
	observer_sweep(&r->o, instant_now());
	assert_false(hsperf_page_polls(p));

	player.spin = 1;
	player_do(&player, DO_SPIN);
	assert_true(hsperf_page_polls(p));
	__atomic_store_n(&player.spin, 0, __ATOMIC_RELAXED);
	while (sem_wait(&player.done) < 0)
		continue;
	assert_true(eventually(asleep, &player));
	vm_thread_close(&p->vm);
	assert_true(hsperf_page_polls(p));
	rig_of_page_free(r);
}
