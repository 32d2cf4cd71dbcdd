#include "borrow/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/instant.h"

/* Signals that are not waited for: those of our own faults. */
static const int own[] = {
    SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPIPE};

/* Signals that the terminal sends to the program, too. */
static const int of_terminal[] = {
    SIGINT, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};

/* A message of the new process that it cannot run the program. */
struct failure {
	int err;
	int entered;
};

struct child {
	sigset_t mask;		   /* as it was */
	struct sigaction on_child; /* what SIGCHLD did */
	int failures;		   /* a struct failure is written there */
};

_Noreturn static void
child_run(
    const struct child *c, char **argv, int (*enter)(void *user), void *user)
{
	struct failure f = {.err = enter(user)};

	if (f.err == 0) {
		sigaction(SIGCHLD, &c->on_child, NULL);
		sigprocmask(SIG_SETMASK, &c->mask, NULL);
		execvp(argv[0], argv);
		f = (struct failure){.err = -errno, .entered = 1};
	}
	if (write(c->failures, &f, sizeof(f)) < 0)
		_exit(125);
	_exit(127);
}

/* The program has stopped or ended.  False: it has ended. */
static bool
child_goes_on(pid_t pid, struct job_end *out)
{
	int status;
	pid_t changed;

	while ((changed = waitpid(pid, &status, WNOHANG | WUNTRACED)) != 0) {
		if (changed < 0 && errno == EINTR)
			continue;
		if (changed < 0 || !WIFSTOPPED(status)) {
			out->status = changed < 0 ? 0 : status;
			return false;
		}
		kill(getpid(), SIGSTOP); /* until we are continued */
		kill(pid, SIGCONT);
	}
	return true;
}

static bool
is_of_terminal(int signal)
{
	for (unsigned i = 0; i < COUNT(of_terminal); i++)
		if (of_terminal[i] == signal)
			return true;
	return false;
}

static void
child_wait(pid_t pid, const sigset_t *set, struct job_end *out)
{
	siginfo_t info;

	while (child_goes_on(pid, out)) {
		if (sigwaitinfo(set, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		if (info.si_code != SI_KERNEL || !is_of_terminal(info.si_signo))
			kill(pid, info.si_signo);
	}
}

static int64_t
children_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * NS_PER_S +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * NS_PER_US;
}

int
job_run(char **argv, int (*enter)(void *user), void *user, struct job_end *out,
    int *entered)
{
	struct failure f = {0};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	struct child c;
	struct instant begun;
	int failures[2];
	sigset_t set;
	ssize_t got;
	pid_t pid;

	*entered = 0;
	if (pipe2(failures, O_CLOEXEC) < 0)
		return -errno;
	c.failures = failures[1];
	sigfillset(&set);
	for (unsigned i = 0; i < COUNT(own); i++)
		sigdelset(&set, own[i]);
	sigprocmask(SIG_BLOCK, &set, &c.mask);
	/* If it is ignored, ends are not waited for. */
	sigaction(SIGCHLD, &usual, &c.on_child);
	begun = instant_now();
	pid = fork();
	if (pid == 0)
		child_run(&c, argv, enter, user);
	f.err = pid < 0 ? -errno : 0;
	close(failures[1]);
	do
		got = pid < 0 ? 0 : read(failures[0], &f, sizeof(f));
	while (got < 0 && errno == EINTR);
	close(failures[0]);
	if (pid > 0 && f.err == 0)
		child_wait(pid, &set, out);
	else if (pid > 0)
		waitpid(pid, NULL, 0);
	out->wall_ns = instant_since(instant_now(), begun);
	out->cpu_ns = children_cpu_ns();
	*entered = f.entered;
	return f.err;
}

void
job_exit(int status)
{
	struct rlimit none = {0};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t set;

	if (!WIFSIGNALED(status))
		exit(WEXITSTATUS(status));
	/* The program has dumped its core; ours says nothing. */
	setrlimit(RLIMIT_CORE, &none);
	sigaction(WTERMSIG(status), &usual, NULL);
	sigemptyset(&set);
	sigaddset(&set, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	exit(128 + WTERMSIG(status));
}
