/*
 * Goal: a server that is stopped, frozen or out of its CPU quota is a hazard
 * from its begin to its end, by the kernel's events; one that only sleeps,
 * waits or works is none.
 */
#include "stalled.h"

#include <signal.h>

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
