/* supervisor.c: starts servers and keeps them running.
 *
 * A launched server is a child with a pidfd, in its own process group, because
 * its command may be a script that does not exec the server.  Signals go to the
 * group, and the server has ended when all processes of the group have, as any
 * of them might keep the port.  It is then started again after a delay, which
 * doubles while the server keeps ending within seconds.  Orphans become our
 * children, and are reaped.  If Tailor itself dies, the kernel ends its
 * children (SIGTERM), but not their children. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/background.h"
#include "base/file.h"
#include "base/log.h"
#include "base/topology.h"
#include "daemon/inspect.h"
#include "daemon/privileges.h"
#include "daemon/daemon.h"
#include "proxy/request/proxy.h"
#include "proxy/upstream/server.h"

#define NOT_STARTED 126	       /* exit status of a child that could not exec */
#define TIMER_SLACK_NS 50000UL /* the kernel's default */
#define STEADY_NS (10 * NS_PER_S) /* a healthy start lives longer */
#define RESTART_DELAY_MAX_NS (30 * NS_PER_S)
#define GROUP_LOOK_NS (20 * NS_PER_MS) /* between checks of the group */

static struct proxy *
proxy_of(const struct server *s)
{
	return s->upstream->user;
}

void
supervisor_again(struct server *s)
{
	s->program.state = CHILD_WAITING;
	timer_arm(&s->upstream->loop->timers, &s->program.restart_timer,
	    s->program.restart_delay_ns);
}

static void
on_restart(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	if (s->upstream->stopping)
		return;
	s->restarts++;
	if (supervisor_launch(s) < 0)
		supervisor_again(s);
}

/* Do the second half of a requested restart. */
static void
child_again(struct server *s)
{
	if (s->upstream->stopping)
		return;
	if (s->next.due) {
		s->maintenance.stage = OUT_OF_SERVICE; /* for the new server */
		return;
	}
	s->maintenance.stage = STARTING;
	s->program.quick_ends = 0;
	on_restart(s, false);
}

static void
child_describe(int status, char *out, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(out, size, "signal %d", WTERMSIG(status));
	else
		snprintf(out, size, "status %d", WEXITSTATUS(status));
}

/* Advice to the operator about a program that ended after its start; NULL:
 * none. */
static const char *
child_advice(const struct server *s, int status)
{
	int64_t lived_ns = instant_since(instant_now(), s->program.launched);

	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED)
		return "tailor's user cannot enter its directory";
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_STARTED + 1)
		return "there is no such program, or tailor's user may not "
		       "run it";
	return lived_ns < STEADY_NS ? "the program ended soon after its start; "
				      "its output says why"
				    : NULL;
}

/* The child has ended: reap it. */
static void
child_reap(struct server *s)
{
	char *how = s->program.last_end;
	const char *advice;
	int status = 0;

	while (waitpid(s->program.pid, &status, 0) < 0 && errno == EINTR)
		;
	child_describe(status, how, sizeof(s->program.last_end));
	log_event(s->program.state == CHILD_STOPPING ? LOG_LEVEL_NOTICE
						     : LOG_LEVEL_WARNING,
	    "server_exited", "server=%s pid=%d how=\"%s\"", s->config->name,
	    (int)s->program.pid, how);
	advice = child_advice(s, status);
	if (s->program.state != CHILD_STOPPING && advice != NULL)
		log_event(LOG_LEVEL_ERROR, "launch_failed",
		    "server=%s command=\"%s\" advice=\"%s: check "
		    "servers[%u].launch\"",
		    s->config->name, s->config->argv[0], advice, s->index);
	event_del(&s->program.ended);
	close(s->program.pidfd);
	s->program.pidfd = -1;
	profiler_server_process(proxy_of(s)->profiler, s->index, 0);
	s->program.pid = 0;
}

/* The program and all processes that it started have ended. */
static void
child_over(struct server *s, bool stopping)
{
	int64_t lived = instant_since(instant_now(), s->program.launched);

	timer_clear(&s->upstream->loop->timers, &s->program.kill_timer);
	s->program.group = 0;
	if (stopping) {
		s->program.state = CHILD_NONE;
		if (s->maintenance.stage == STOPPING)
			child_again(s);
		return;
	}
	s->program.quick_ends =
	    lived > STEADY_NS ? 0 : s->program.quick_ends + 1;
	if (lived > STEADY_NS)
		s->program.restart_delay_ns = RESTART_DELAY_NS;
	else if (s->program.restart_delay_ns < RESTART_DELAY_MAX_NS / 2 &&
		 s->restarts > 0)
		s->program.restart_delay_ns *= 2;
	supervisor_again(s);
}

/* True if a process is left in the program's group.  Processes that have become
 * another user cannot be ended and do not count. */
static bool
group_lives(const struct server *s)
{
	return s->program.group > 0 && kill(-s->program.group, 0) == 0;
}

static void
on_group(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	supervisor_reap(proxy_of(s));
	if (group_lives(s))
		timer_arm(&s->upstream->loop->timers, &s->program.group_timer,
		    GROUP_LOOK_NS);
	else
		child_over(s, !s->program.again);
}

static void
on_child(evutil_socket_t fd, short what, void *user)
{
	struct server *s = user;
	bool stopping = s->program.state == CHILD_STOPPING;
	struct timers *timers = &s->upstream->loop->timers;

	(void)fd;
	(void)what;
	child_reap(s);
	server_lost(s);
	supervisor_reap(proxy_of(s));
	if (!group_lives(s)) {
		child_over(s, stopping);
		return;
	}
	log_event(LOG_LEVEL_WARNING, "server_left_processes",
	    "server=%s group=%d advice=\"processes that launch.command started "
	    "outlived the command and are ended now: let the command exec the "
	    "server\"",
	    s->config->name, (int)s->program.group);
	s->program.state = CHILD_STOPPING;
	s->program.again = !stopping;
	if (!stopping) {
		kill(-s->program.group, SIGTERM);
		timer_arm(
		    timers, &s->program.kill_timer, s->config->stop_timeout_ns);
	}
	timer_arm(timers, &s->program.group_timer, GROUP_LOOK_NS);
}

void
supervisor_reap(struct proxy *p)
{
	siginfo_t ended = {0};

	while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       ended.si_pid != 0) {
		UPSTREAM_EACH(&p->upstream, i)
		if (p->upstream.server[i].program.pid == ended.si_pid)
			return; /* the pidfd's event follows */
		waitpid(ended.si_pid, NULL, WNOHANG);
		ended.si_pid = 0;
	}
}

/* Get the CPUs that a server is pinned to; false: it is not pinned. */
static bool
child_cpus(const struct server *s, cpu_set_t *out)
{
	const char *text = s->config->cpus;
	int err;

	if (text == NULL || *text == '\0')
		return false;
	if (strcmp(text, "auto") == 0)
		*out = proxy_of(s)->plan.server_cpus[s->index];
	else if (topology_parse_cpus(text, out) < 0)
		return false;
	if (CPU_COUNT(out) == 0)
		return false;
	err = inspect_cpus(out);
	if (err == 0)
		return true;
	log_event(LOG_LEVEL_WARNING, "not_pinned",
	    "what=%s cpus=%s error=\"%s\" advice=\"set "
	    "servers[%u].launch.cpus to CPUs that Tailor may use (taskset -cp "
	    "%d), or to auto\"",
	    s->config->name, text, strerror(-err), s->index, (int)getpid());
	return false;
}

static int
child_output(const struct config_server *c)
{
	int fd;

	if (c->output == NULL || *c->output == '\0')
		return -1;
	fd = file_append(c->output, 0640);
	if (fd < 0)
		log_event(LOG_LEVEL_WARNING, "launch_output",
		    "server=%s path=\"%s\" error=\"%s\" advice=\"what the "
		    "program prints is in this log: make the directory, or "
		    "set launch.output\"",
		    c->name, c->output, strerror(-fd));
	else
		fcntl(fd, F_SETFL, O_APPEND); /* blocking, as usual */
	return fd < 0 ? -1 : fd;
}

/* In the child: reset signal handlers, which would report to our loop through
 * the inherited socket pair, and signals that we ignore. */
static void
child_signals(void)
{
	struct sigaction action;
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		if (i == SIGPIPE || (sigaction(i, NULL, &action) == 0 &&
					action.sa_handler != SIG_DFL &&
					action.sa_handler != SIG_IGN))
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the child: only calls that are safe after fork in a threaded program. */
static void
child_exec(const struct server *s, const cpu_set_t *cpus, int output,
    char **environment)
{
	const struct config_server *c = s->config;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	child_signals();
	setpgid(0, 0); /* Ctrl-C reaches only Tailor, which passes it on */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS); /* ours is 1 ns */
	privileges_limits_restore();
	/* Capabilities that a unit gives Tailor (AmbientCapabilities) are not
	 * for the program. */
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (cpus != NULL)
		sched_setaffinity(0, sizeof(*cpus), cpus);
	if (s->program.idle)
		scheduling_set(0, (struct scheduling){.policy = SCHED_IDLE});
	if (null >= 0)
		dup2(null, 0);
	if (output >= 0) {
		dup2(output, 1);
		dup2(output, 2);
	}
	/* Nor are descriptors that Tailor was started with. */
	syscall(SYS_close_range, 3U, ~0U, 0U);
	if (c->directory != NULL && *c->directory != '\0' &&
	    chdir(c->directory) < 0)
		_exit(NOT_STARTED);
	environ = environment;
	execvp(c->argv[0], c->argv);
	_exit(NOT_STARTED + 1);
}

/* fork() with signals blocked until the child has reset their handlers. */
static pid_t
child_fork(void)
{
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid != 0) {
		int err = errno;

		pthread_sigmask(SIG_SETMASK, &before, NULL);
		errno = err;
	}
	return pid;
}

/* Make the child's environment: ours, with the configured changes and the path
 * of the channels' socket. */
static char **
child_environment(const struct server *s, char *socket, size_t size)
{
	const struct config_server *c = s->config;
	size_t have = 0, n = 0;
	char **all;

	while (environ[have] != NULL)
		have++;
	all = calloc(have + c->envc + 2, sizeof(*all));
	if (all == NULL)
		return NULL;
	snprintf(socket, size, "TALECHAIN_SOCKET=%s",
	    s->upstream->config->profiler.channel_socket);
	all[n++] = socket;
	for (unsigned i = 0; i < c->envc; i++)
		all[n++] = c->env[i];
	/* Configured variables come first, as getenv() returns the first. */
	for (size_t i = 0; i < have; i++)
		all[n++] = environ[i];
	return all;
}

int
supervisor_launch(struct server *s)
{
	const struct config_server *c = s->config;
	struct proxy *p = proxy_of(s);
	char socket[256], cpus_text[64] = "any";
	cpu_set_t cpus;
	bool pin = child_cpus(s, &cpus);
	int output = child_output(c), err;
	char **environment = child_environment(s, socket, sizeof(socket));

	if (environment == NULL) {
		err = -ENOMEM;
		goto fail;
	}
	s->program.idle = idle_start_may_begin(s);
	s->program.pid = child_fork();
	if (s->program.pid == 0)
		child_exec(s, pin ? &cpus : NULL, output, environment);
	if (s->program.pid < 0) {
		err = -errno;
		goto fail;
	}
	s->program.pidfd = (int)syscall(SYS_pidfd_open, s->program.pid, 0);
	if (s->program.pidfd < 0) {
		err = -errno;
		kill(s->program.pid, SIGKILL);
		waitpid(s->program.pid, NULL, 0);
		goto fail;
	}
	event_assign(&s->program.ended, p->loop.base, s->program.pidfd, EV_READ,
	    on_child, s);
	if (event_add(&s->program.ended, NULL) < 0) {
		err = -ENOMEM;
		kill(s->program.pid, SIGKILL);
		waitpid(s->program.pid, NULL, 0);
		close(s->program.pidfd);
		s->program.pidfd = -1;
		goto fail;
	}
	free(environment);
	if (output >= 0)
		close(output);
	/* The child does the same; either may come first. */
	setpgid(s->program.pid, s->program.pid);
	s->program.group = s->program.pid;
	s->program.state = CHILD_RUNNING;
	s->program.launched = instant_now();
	if (pin)
		topology_format_cpus(&cpus, cpus_text, sizeof(cpus_text));
	log_event(LOG_LEVEL_NOTICE, "server_launched",
	    "server=%s pid=%d cpus=%s%s command=\"%s\"", c->name,
	    (int)s->program.pid, cpus_text,
	    s->program.idle ? " policy=idle" : "", c->argv[0]);
	profiler_server_process(p->profiler, s->index, s->program.pid);
	server_lost(s);
	return 0;

fail:
	s->program.pid = 0;
	free(environment);
	if (output >= 0)
		close(output);
	log_event(LOG_LEVEL_ERROR, "launch_failed",
	    "server=%s error=\"%s\" advice=\"check servers[%u].launch\"",
	    c->name, strerror(-err), s->index);
	return err;
}

static void
on_kill(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	log_event(LOG_LEVEL_WARNING, "server_killed",
	    "server=%s pid=%d why=\"the program did not end within "
	    "launch.stop_timeout\"",
	    s->config->name, (int)s->program.pid);
	kill(-s->program.group, SIGKILL);
}

void
supervisor_init(struct server *s)
{
	/* Orphans of launched programs become our children. */
	if (s->config->argc > 0)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	timer_init(&s->program.group_timer, on_group, s);
	timer_init(&s->program.kill_timer, on_kill, s);
	timer_init(&s->program.restart_timer, on_restart, s);
}

void
supervisor_stop(struct server *s)
{
	if (s->program.state == CHILD_WAITING)
		timer_clear(
		    &s->upstream->loop->timers, &s->program.restart_timer);
	if (s->program.state == CHILD_WAITING ||
	    s->program.state == CHILD_NONE) {
		s->program.state = CHILD_NONE;
		if (s->maintenance.stage == STOPPING)
			child_again(s);
		return;
	}
	s->program.again = false;
	if (s->program.state != CHILD_RUNNING)
		return;
	s->program.state = CHILD_STOPPING;
	kill(-s->program.group, SIGTERM);
	timer_arm(&s->upstream->loop->timers, &s->program.kill_timer,
	    s->config->stop_timeout_ns);
}

void
supervisor_kill(struct server *s)
{
	supervisor_stop(s);
	if (s->program.group == 0)
		return; /* ended, or never started */
	kill(-s->program.group, SIGKILL);
	timer_clear(&s->upstream->loop->timers, &s->program.group_timer);
	timer_clear(&s->upstream->loop->timers, &s->program.kill_timer);
	if (s->program.pid > 0)
		child_reap(s);
	s->program.group = 0;
	s->program.state = CHILD_NONE;
}
