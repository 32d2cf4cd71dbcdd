/*
 * Goal: a server that is stopped, frozen or out of its CPU quota is a hazard
 * from its begin to its end, by the kernel's events; one that only sleeps,
 * waits or works is none.
 */
#include "stalled.h"

#include <signal.h>

#include "children.h"
#include "profiler/channels/stall.h"
#include "profiler/processes/proc.h"

/* Goal: SIGSTOP begins the hazard, SIGCONT ends it, each time. */
TEST(test_stopped)
{
	pid_t pid = server_start(false);
	struct fixture *f = follow(pid);

	for (unsigned i = 1; i <= 3; i++) {
		kill(pid, SIGSTOP);
		fixture_wait_hazards(f, HAZARD_STOPPED, true, i);
		kill(pid, SIGCONT);
		fixture_wait_hazards(f, HAZARD_STOPPED, false, i);
	}
	assert_int_equal(fixture_count(f, HAZARD_QUOTA, true), 0);
	/* Its end ends that, too. */
	kill(pid, SIGSTOP);
	fixture_wait_hazards(f, HAZARD_STOPPED, true, 4);
	unfollow(f, pid);
}

/* Goal: the freezer of cgroups is the same. */
TEST(test_frozen)
{
	pid_t pid = server_start(true);
	struct fixture *f = follow(pid);
	struct cgroup g;
	bool made = group_of(&g, "freezer", pid);

	for (unsigned i = 1; made && i <= 3; i++) {
		assert_true(
		    cgroup_write(&g, g.old ? "freezer.state" : "cgroup.freeze",
			g.old ? "FROZEN" : "1"));
		fixture_wait_hazards(f, HAZARD_STOPPED, true, i);
		assert_true(
		    cgroup_write(&g, g.old ? "freezer.state" : "cgroup.freeze",
			g.old ? "THAWED" : "0"));
		fixture_wait_hazards(f, HAZARD_STOPPED, false, i);
	}
	unfollow(f, pid);
	if (made)
		cgroup_remove(&g);
	else
		skip();
}

/* Goal: a quota that is used up is one, again and again, and ends; whether they
 * are as many and as long as in the kernel's own account: long_stall.c. */
TEST(test_quota)
{
	pid_t pid = server_start(true), client;
	struct fixture *f = follow(pid);
	struct cgroup g;
	bool made = group_of(&g, "cpu", pid);

	client = client_start();
	/* So little is used up on a busy machine, too. */
	made = made && cgroup_quota(&g, 5000);
	if (made) {
		fixture_wait_hazards(f, HAZARD_QUOTA, false, 5);
		for (unsigned i = 0; i < f->hazards; i++)
			if (f->hazard[i].kind == HAZARD_QUOTA)
				assert_true(f->hazard[i].left_us <= 100000);
		assert_int_equal(fixture_count(f, HAZARD_STOPPED, true), 0);
		assert_true(cgroup_quota(&g, -1));
	}
	server_end(client);
	unfollow(f, pid);
	cgroup_remove(&g);
	if (!made)
		skip();
}

/* Goal: a server that works and sleeps without a limit has no such hazard. */
TEST(test_undisturbed)
{
	pid_t pid = server_start(false);
	struct fixture *f = follow(pid);

	fixture_wait_events(f, TALECHAIN_SCHEDULE, 400);
	assert_int_equal(fixture_count(f, HAZARD_QUOTA, true), 0);
	assert_int_equal(fixture_count(f, HAZARD_STOPPED, true), 0);
	unfollow(f, pid);
}

/* --- events that are lost, or paused -------------------------------------- */

/* The observer's part alone: server 0 is process 7. */
struct watched {
	struct stalls stalls;
	struct kernel_owners owners;
	struct hazard_state hazards[PROFILER_SERVERS];
	struct observer_output output;
	struct hazard_ring ring;
	uint32_t member[KERNEL_SERVERS][KERNEL_PROCESSES];
	uint8_t mark[8];
	struct instant begin; /* when a thread of it left its CPU */
};

static void
watched_init(struct watched *w, enum talechain_off off, int64_t quota_ns)
{
	struct talechain_event e = {.type = TALECHAIN_SCHEDULE,
	    .tid = 7,
	    .pid = 7,
	    .arg = {0, 0, 0, (uint64_t)off << TALECHAIN_OFF_SHIFT}};
	struct talechain_event quota = {.type = TALECHAIN_QUOTA, .pid = 7};

	memset(w, 0, sizeof(*w));
	assert_int_equal(timeline_new(&w->output.timeline, NULL, 10), 0);
	assert_int_equal(hazard_ring_init(&w->ring), 0);
	w->output.hazards = &w->ring;
	w->member[0][0] = 7;
	w->mark[7] = KERNEL_MARK_SERVER;
	w->owners = (struct kernel_owners){
	    .mark = w->mark, .marks = 8, .member = w->member};
	for (unsigned i = 0; i < PROFILER_SERVERS; i++)
		w->hazards[i].output = &w->output;
	w->stalls.hazards = w->hazards;
	w->stalls.owners = &w->owners;
	w->begin = instant_now();
	e.ts = quota.ts = w->begin.ns;
	quota.arg[0] = instant_plus(w->begin, quota_ns).ns;
	if (quota_ns > 0)
		stalls_event(&w->stalls, &quota);
	stalls_event(&w->stalls, &e);
}

static void
watched_fini(struct watched *w)
{
	hazard_ring_fini(&w->ring);
	timeline_free(&w->output.timeline);
}

/* What is in force so long after the begin. */
static enum stall
in_force(struct watched *w, int64_t after_ns)
{
	stalls_sweep(&w->stalls, instant_plus(w->begin, after_ns));
	return w->hazards[0].stall;
}

/* Goal: if events are lost, a quota ends when it is renewed; else it ends when
 * the server runs, however late that is. */
TEST(test_quota_lost)
{
	struct watched w;

	watched_init(&w, TALECHAIN_OFF_THROTTLED, 50 * NS_PER_MS);
	assert_int_equal(in_force(&w, NS_PER_MS), STALL_QUOTA);
	assert_int_equal(in_force(&w, 60 * NS_PER_MS), STALL_QUOTA);
	stalls_lost(&w.stalls);
	assert_false(stalls_want_check(&w.stalls));
	assert_int_equal(in_force(&w, 49 * NS_PER_MS), STALL_QUOTA);
	assert_int_equal(in_force(&w, 50 * NS_PER_MS), STALL_NONE);
	assert_int_equal(in_force(&w, 60 * NS_PER_MS), STALL_NONE);
	watched_fini(&w);
}

/* Goal: if events are lost, a stopped process is checked; what was read before
 * it stopped, of another process, or without need, changes nothing. */
TEST(test_stop_lost)
{
	struct watched w;
	struct instant later;

	watched_init(&w, TALECHAIN_OFF_STOPPED, 0);
	stalls_lost(&w.stalls); /* not in force yet: it may have ended */
	assert_false(stalls_want_check(&w.stalls));
	assert_int_equal(in_force(&w, NS_PER_MS), STALL_NONE);
	watched_fini(&w);
	watched_init(&w, TALECHAIN_OFF_STOPPED, 0);
	later = instant_plus(w.begin, NS_PER_MS);
	assert_int_equal(in_force(&w, NS_PER_MS), STALL_STOPPED);
	assert_false(stalls_want_check(&w.stalls));
	stalls_checked(&w.stalls, 0, 7, later);
	assert_int_equal(in_force(&w, NS_PER_S), STALL_STOPPED);
	stalls_lost(&w.stalls);
	assert_true(stalls_want_check(&w.stalls));
	assert_false(stalls_want_check(&w.stalls));
	assert_int_equal(w.stalls.check[0], 7);
	stalls_checked(&w.stalls, 0, 6, later);
	stalls_checked(&w.stalls, 0, 7, (struct instant){w.begin.ns - 1});
	assert_int_equal(in_force(&w, NS_PER_S), STALL_STOPPED);
	stalls_checked(&w.stalls, 0, 7, later);
	assert_int_equal(in_force(&w, NS_PER_S), STALL_NONE);
	watched_fini(&w);
}

/* Follow a process of which little is recorded before a pause. */
static struct fixture *
follow_sparsely(pid_t pid)
{
	struct fixture *f = fixture_new();
	struct profiler_signal_state state[PROFILER_SIGNALS];

	f->options.kernel = PROFILER_KERNEL_LITE;
	f->options.kernel_slot_log2 = 14;
	f->options.kernel_events = 2000;
	fixture_start(f);
	profiler_signals(f->profiler, state);
	if (!state[PROFILER_SIGNAL_SCHEDULER].on) {
		server_end(pid);
		fixture_free(f);
		unit_skip("%s", state[PROFILER_SIGNAL_SCHEDULER].why);
	}
	profiler_server_process(f->profiler, 0, pid);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	return f;
}

/* Stop, or freeze, until that is seen: it may fall into a pause. */
static void
stop_seen(struct fixture *f, void (*stop)(void *arg, bool stops), void *arg)
{
	for (unsigned tries = 0;; tries++) {
		assert_true(tries < 40);
		stop(arg, true);
		for (unsigned i = 0; i < 300; i++) {
			fixture_drain(f);
			if (fixture_count(f, HAZARD_STOPPED, true) > 0)
				return;
			usleep(10000);
		}
		stop(arg, false);
	}
}

/* Give the kernel's programs so much to write that they pause, or wait for the
 * end of the pause. */
static void
pause_changes(struct fixture *f)
{
	struct instant limit = instant_plus(instant_now(), FIXTURE_LIMIT_NS);
	struct profiler_stats s;
	uint64_t before;

	profiler_stats(f->profiler, &s);
	before = s.kernel_unsampled_ns;
	while (s.kernel_unsampled_ns == before) {
		assert_true(instant_before(instant_now(), limit));
		for (unsigned i = 0; i < 200; i++)
			usleep(1);
		profiler_stats(f->profiler, &s);
	}
}

static void
by_signal(void *pid, bool stops)
{
	kill(*(pid_t *)pid, stops ? SIGSTOP : SIGCONT);
}

static void
by_group(void *group, bool stops)
{
	const struct cgroup *g = group;

	if (g->old)
		assert_true(cgroup_write(
		    g, "freezer.state", stops ? "FROZEN" : "THAWED"));
	else
		assert_true(
		    cgroup_write(g, "cgroup.freeze", stops ? "1" : "0"));
}

/* Goal: a process that is continued in a pause of the events, and sleeps again
 * before it ends, is stopped no longer. */
TEST(test_continued_in_pause)
{
	pid_t pid = child_new();
	struct fixture *f = follow_sparsely(pid);

	stop_seen(f, by_signal, &pid);
	assert_true(proc_is_stopped(pid));
	pause_changes(f);
	fixture_drain(f);
	assert_int_equal(fixture_count(f, HAZARD_STOPPED, false), 0);
	kill(pid, SIGCONT);
	fixture_wait_hazards(f, HAZARD_STOPPED, false, 1);
	assert_false(proc_is_stopped(pid));
	server_end(pid);
	fixture_end_exit(f);
	fixture_free(f);
}

/* Goal: a frozen process stays so in a pause, and after it. */
TEST(test_frozen_in_pause)
{
	pid_t pid = server_start(false);
	struct fixture *f = follow_sparsely(pid);
	struct cgroup g;
	bool made = group_of(&g, "freezer", pid), stopped;
	unsigned ends;

	if (made) {
		stop_seen(f, by_group, &g);
		stopped = proc_is_stopped(pid);
		pause_changes(f);
		pause_changes(f);
		usleep(100000);
		fixture_drain(f);
		ends = fixture_count(f, HAZARD_STOPPED, false);
		by_group(&g, false); /* frozen, it could not be killed */
		assert_true(stopped);
		assert_int_equal(ends, 0);
		fixture_wait_hazards(f, HAZARD_STOPPED, false, 1);
	}
	unfollow(f, pid);
	if (made)
		cgroup_remove(&g);
	else
		skip();
}
