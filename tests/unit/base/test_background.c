/* Goal: a thread in the background leaves what it inherited: a real-time
 * policy, the proxy's short slice, timers of 1 ns; and passes that on. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/background.h"

/* A thread's way into the background, and what it finds there. */
struct way {
	int policy; /* before */
	int nice;
	uint64_t slice_ns;
	int result, after;
	int slack_ns;
	struct scheduling attr;
	int child_policy; /* of a thread that it starts */
};

static void *
child_main(void *user)
{
	struct way *w = user;

	w->child_policy = sched_getscheduler(0);
	return NULL;
}

/* How it is before.  Not what a test may assert: it is another thread. */
static int
thread_prepare(const struct way *w)
{
	int policy = w->policy & ~SCHED_RESET_ON_FORK;
	struct scheduling a = {.policy = (uint32_t)policy,
	    .flags = (w->policy & SCHED_RESET_ON_FORK) != 0,
	    .nice = w->nice,
	    .runtime_ns = w->slice_ns,
	    .priority = policy == SCHED_FIFO || policy == SCHED_RR};

	prctl(PR_SET_TIMERSLACK, 1UL);
	return scheduling_set(0, a);
}

static void *
way_main(void *user)
{
	struct way *w = user;
	pthread_t child;

	w->result = thread_prepare(w);
	if (w->result < 0)
		return NULL;
	w->result = background_become();
	w->after = sched_getscheduler(0);
	w->slack_ns = prctl(PR_GET_TIMERSLACK);
	scheduling_read(0, &w->attr);
	if (pthread_create(&child, NULL, child_main, w) == 0)
		pthread_join(child, NULL);
	return NULL;
}

/* Returns 0, or -EPERM if it may not be so before. */
static int
way_take(struct way *w)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, way_main, w), 0);
	pthread_join(thread, NULL);
	if (w->result == -EPERM)
		return w->result;
	assert_int_equal(w->result, 0);
	assert_int_equal(w->slack_ns, BACKGROUND_SLACK_NS);
	return 0;
}

TEST(test_ordinary)
{
	struct way plain = {.policy = SCHED_OTHER},
		   quick = {
		       .policy = SCHED_OTHER, .nice = 3, .slice_ns = 100000};

	plain.nice = quick.nice = getpriority(PRIO_PROCESS, 0);
	if (quick.nice < 19)
		quick.nice++;
	assert_int_equal(way_take(&plain), 0);
	assert_int_equal(plain.after, SCHED_BATCH);
	assert_int_equal(plain.child_policy, SCHED_BATCH);
	assert_int_equal(plain.attr.nice, plain.nice);
	/* Since Linux 6.12 there is a slice; the short one is left. */
	assert_int_equal(way_take(&quick), 0);
	assert_int_equal(quick.after, SCHED_BATCH);
	assert_int_equal(quick.attr.nice, quick.nice);
	assert_int_equal(quick.attr.runtime_ns, plain.attr.runtime_ns);
}

TEST(test_real_time)
{
	struct way way[] = {{.policy = SCHED_FIFO}, {.policy = SCHED_RR},
	    {.policy = SCHED_RR | SCHED_RESET_ON_FORK}};
	int nice = getpriority(PRIO_PROCESS, 0);

	for (unsigned i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		way[i].nice = nice;
		if (way_take(&way[i]) == -EPERM)
			unit_skip("real time is not allowed");
		assert_int_equal(
		    way[i].after & ~SCHED_RESET_ON_FORK, SCHED_BATCH);
		assert_int_equal(way[i].child_policy, SCHED_BATCH);
		assert_int_equal(way[i].attr.priority, 0);
	}
	/* It may be refused to remove that. */
	assert_int_equal(way[2].after, SCHED_BATCH | SCHED_RESET_ON_FORK);
}

TEST(test_lower_stays)
{
	struct way way = {
	    .policy = SCHED_IDLE, .nice = getpriority(PRIO_PROCESS, 0)};

	assert_int_equal(way_take(&way), 0);
	assert_int_equal(way.after, SCHED_IDLE);
}
