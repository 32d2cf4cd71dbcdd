/*
 * Goal: a job's end is told as it was, and what cannot be run is told apart
 * from what runs and fails.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "borrow/job.h"

static int
nothing(void *user)
{
	(void)user;
	return 0;
}

static int
refuse(void *user)
{
	return *(int *)user;
}

static int
shell(const char *script, struct job_end *end)
{
	char text[200], *argv[] = {"sh", "-c", text, NULL};
	sigset_t none;
	int entered;

	snprintf(text, sizeof(text), "%s", script);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return job_run(argv, nothing, NULL, end, &entered);
}

TEST(test_ends)
{
	struct job_end end;

	assert_int_equal(shell("exit 7", &end), 0);
	assert_true(WIFEXITED(end.status));
	assert_int_equal(WEXITSTATUS(end.status), 7);
	assert_int_equal(shell("kill -USR2 $$", &end), 0);
	assert_true(WIFSIGNALED(end.status));
	assert_int_equal(WTERMSIG(end.status), SIGUSR2);
	assert_true(end.wall_ns > 0);
}

TEST(test_not_run)
{
	char *argv[] = {"/nowhere/at/all", NULL};
	int entered, no = -EBUSY;
	struct job_end end;

	assert_int_equal(job_run(argv, nothing, NULL, &end, &entered), -ENOENT);
	assert_true(entered);
	argv[0] = "/etc/passwd";
	assert_int_equal(job_run(argv, nothing, NULL, &end, &entered), -EACCES);
	assert_int_equal(job_run(argv, refuse, &no, &end, &entered), -EBUSY);
	assert_false(entered);
}

/* Whether a line of the state of a job matches. */
static bool
state_has(const char *pattern)
{
	char text[64],
	    *argv[] = {"grep", "-q", text, "/proc/self/status", NULL};
	struct job_end end;
	sigset_t none;
	int entered;

	snprintf(text, sizeof(text), "%s", pattern);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	assert_int_equal(job_run(argv, nothing, NULL, &end, &entered), 0);
	return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
}

/* Goal: the program has the signals as we had them, the mask and what is
 * ignored; a SIGCHLD that is ignored keeps nobody from waiting. */
TEST(test_signals)
{
	assert_true(state_has("^SigBlk:.0*$"));
	assert_true(state_has("^SigIgn:.*[02468ace]....$"));
	signal(SIGCHLD, SIG_IGN);
	assert_true(state_has("^SigIgn:.*[13579bdf]....$"));
	signal(SIGCHLD, SIG_DFL);
}
