/*
 * Goal: the end and the beginning of a server's process are hazards, whether
 * a supervisor tells of it or it is found by its listening address.
 */
#include "fake_page.h"
#include "fixture.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/attach/attach.h"
#include "profiler/processes/finder.h"
#include "profiler/processes/proc.h"
#include "profiler/attach/process.h"

/* A child that lives until it is killed. */
static pid_t
child_new(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

/* A socket on an address, whose port *address gets, with this option. */
static int
socket_on(struct sockaddr_storage *address, int option)
{
	socklen_t length = address->ss_family == AF_UNIX
			       ? sizeof(struct sockaddr_un)
			       : sizeof(struct sockaddr_in);
	int s = socket(address->ss_family, SOCK_STREAM, 0), one = 1;

	setsockopt(s, SOL_SOCKET, option, &one, sizeof(one));
	assert_int_equal(bind(s, (void *)address, length), 0);
	assert_int_equal(getsockname(s, (void *)address, &length), 0);
	return s;
}

/* Have a port, which *address gets, to ourselves: who sets SO_REUSEADDR may
 * listen on it, and nobody else gets it by chance in between. */
static int
port_hold(struct sockaddr_storage *address)
{
	return socket_on(address, SO_REUSEADDR);
}

static int
listen_on(struct sockaddr_storage *address, int option)
{
	int s = socket_on(address, option);

	assert_int_equal(listen(s, 5), 0);
	return s;
}

/* A child that listens on an address; *address gets its port. */
static pid_t
listener_new(struct sockaddr_storage *address)
{
	int s = listen_on(address, SO_REUSEADDR), ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	/* Only the child holds it from here on. */
	close(s);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void
child_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static unsigned
child_threads(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	return (unsigned)st.st_nlink - 2;
}

/* Goal: told of a process, its end is a hazard at once, with its status;
 * told of the next, the hazard ends. */
TEST(test_told)
{
	struct fixture *f = fixture_new();
	pid_t first = child_new(), second;
	struct profiler_stats s;
	unsigned i, threads, status;

	fixture_start(f);
	profiler_server_process(f->profiler, 0, first);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.server[0].pid, first);
	threads = child_threads(first);
	kill(first, SIGKILL); /* not reaped: its supervisor will do that */
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	assert_int_equal(f->hazard[0].pid, first);
	/* A thread's end may tell before there is a status; a sanitizer gives
	 * the child such a thread. */
	status = threads > 1 ? 0 : SIGKILL;
	fixture_wait_events(f, TALECHAIN_SERVER_EXIT, 1);
	for (i = 0; i < f->slots; i++)
		if (f->slot[i].event.type == TALECHAIN_SERVER_EXIT) {
			assert_int_equal(f->slot[i].event.arg[1], first);
			if (f->slot[i].event.arg[2] != SIGKILL)
				assert_int_equal(
				    f->slot[i].event.arg[2], status);
		}
	assert_int_equal(waitpid(first, NULL, 0), first);
	second = child_new();
	profiler_server_process(f->profiler, 0, second);
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	fixture_wait_events(f, TALECHAIN_SERVER_START, 2);
	child_kill(second);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 2);
	fixture_free(f);
}

/* Goal: a process that was gone before we looked, and one told to be gone,
 * are hazards too; the same one told twice is not two. */
TEST(test_told_late)
{
	struct fixture *f = fixture_new();
	pid_t gone = child_new(), alive = child_new();

	child_kill(gone);
	fixture_start(f);
	profiler_server_process(f->profiler, 0, gone);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	profiler_server_process(f->profiler, 0, alive);
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	profiler_server_process(f->profiler, 0, alive);
	profiler_server_process(f->profiler, 0, 0);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 2);
	fixture_wait_sweeps(f);
	fixture_drain(f);
	assert_int_equal(f->hazards, 3);
	child_kill(alive);
	fixture_free(f);
}

static struct sockaddr_storage
loopback(void)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *four = (void *)&a;

	four->sin_family = AF_INET;
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

/* Goal: a listener is found by its address, its end is seen, and the next
 * one on the same address ends the hazard. */
TEST(test_found)
{
	struct fixture *f = fixture_new();
	struct sockaddr_storage a = loopback();
	struct profiler_stats s;
	int held = port_hold(&a);
	pid_t pid;

	pid = listener_new(&a);
	f->options.server[0].address = a;
	fixture_start(f);
	fixture_wait_source(f, 0, PROFILER_SOURCE_PIDFD);
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.server[0].pid, pid);
	child_kill(pid);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	fixture_wait_source(f, 0, PROFILER_SOURCE_NONE);
	pid = listener_new(&a);
	fixture_wait_hazards(f, HAZARD_EXIT, false, 1);
	profiler_stats(f->profiler, &s);
	assert_int_equal(f->hazard[1].pid, pid);
	child_kill(pid);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 2);
	close(held);
	fixture_free(f);
}

/* --- servers of several processes ----------------------------------------- */

/*
 * A master that listens, two workers that share its socket, and a child that
 * has closed it, in this order, each of which lives until it is killed.
 */
struct team {
	struct sockaddr_storage address;
	pid_t pid[4];
};

static void
team_forks(int ready, int s)
{
	pid_t pid[3];

	for (unsigned i = 0; i < 3; i++) {
		pid[i] = fork();
		if (pid[i] != 0)
			continue;
		if (i == 2)
			close(s);
		for (;;)
			pause();
	}
	if (write(ready, pid, sizeof(pid)) != sizeof(pid))
		_exit(1);
	for (;;)
		pause();
}

static void
team_start(struct team *t)
{
	int s, ready[2];

	t->address = loopback();
	s = listen_on(&t->address, SO_REUSEADDR);
	assert_int_equal(pipe(ready), 0);
	t->pid[0] = fork();
	if (t->pid[0] == 0)
		team_forks(ready[1], s);
	close(s);
	assert_int_equal(
	    read(ready[0], &t->pid[1], 3 * sizeof(pid_t)), 3 * sizeof(pid_t));
	close(ready[0]);
	close(ready[1]);
}

static enum finder_result
search_with(struct finder *f, const struct sockaddr_storage *address,
    pid_t root, struct family *out)
{
	enum finder_result r;

	do
		r = finder_step(f, address, root, out);
	while (r == FINDER_MORE);
	return r;
}

static enum finder_result
search(const struct sockaddr_storage *address, pid_t root, struct family *out)
{
	enum finder_result r;
	struct finder f;

	finder_init(&f);
	r = search_with(&f, address, root, out);
	assert_false(finder_changed(&f, address));
	finder_fini(&f);
	return r;
}

/* Goal: a server is all that hold its socket, and all below; the one above the
 * others is first. */
TEST(test_family)
{
	struct sockaddr_storage nothing = {0};
	struct family found;
	struct team t;
	unsigned i;

	team_start(&t);
	assert_int_equal(search(&t.address, 0, &found), FINDER_FOUND);
	assert_int_equal(found.count, 4);
	assert_int_equal(found.pid[0], t.pid[0]);
	for (i = 0; i < 4; i++)
		assert_true(family_has(&found, t.pid[i]));
	assert_int_equal(search(&nothing, t.pid[0], &found), FINDER_FOUND);
	assert_int_equal(found.count, 4);
	assert_int_equal(search(&nothing, t.pid[1], &found), FINDER_FOUND);
	assert_int_equal(found.count, 1);
	for (i = 1; i < 4; i++)
		kill(t.pid[i], SIGKILL);
	child_kill(t.pid[0]);
}

static bool
has_processes(void *arg)
{
	struct fixture *f = arg;
	struct profiler_stats s;

	profiler_stats(f->profiler, &s);
	return s.server[0].processes == 4;
}

/* Goal: as long as one of its processes listens a server has not ended; the
 * end of the last one that does is its end, though another process lives. */
TEST(test_hand_over)
{
	struct fixture *f = fixture_new();
	struct profiler_stats s;
	struct team t;
	unsigned i;

	team_start(&t);
	f->options.server[0].address = t.address;
	fixture_start(f);
	assert_true(eventually(has_processes, f));
	profiler_stats(f->profiler, &s);
	assert_int_equal(s.server[0].pid, t.pid[0]);
	assert_true(strncmp(s.server[0].program, "test_process", 12) == 0);
	for (i = 0; i < 2; i++) {
		struct profiler_stats now;

		kill(s.server[0].pid, SIGKILL);
		do
			profiler_stats(f->profiler, &now);
		while (now.server[0].pid == s.server[0].pid);
		assert_true(now.server[0].pid == t.pid[1] ||
			    now.server[0].pid == t.pid[2]);
		s = now;
	}
	fixture_wait_sweeps(f);
	fixture_drain(f);
	assert_int_equal(f->hazards, 0);
	kill(s.server[0].pid, SIGKILL);
	fixture_wait_hazards(f, HAZARD_EXIT, true, 1);
	assert_int_equal(f->hazard[0].pid, s.server[0].pid);
	kill(t.pid[3], SIGKILL);
	waitpid(t.pid[0], NULL, 0);
	fixture_free(f);
}

/* A process that forks one that waits, for each byte it gets. */
static pid_t
forker_new(int bytes, int pids)
{
	pid_t pid = fork(), child;
	char c;

	assert_true(pid >= 0);
	while (pid == 0) {
		if (read(bytes, &c, 1) != 1)
			_exit(0);
		child = child_new();
		if (write(pids, &child, sizeof(child)) != sizeof(child))
			_exit(1);
	}
	return pid;
}

static pid_t
forker_fork(int bytes, int pids)
{
	pid_t pid;

	assert_int_equal(write(bytes, "x", 1), 1);
	assert_int_equal(read(pids, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

/* Turns until the searches that are due have found nothing new. */
static void
settle(struct process *p, struct instant *now)
{
	int64_t due_ns;

	do {
		due_ns = process_turn(p, false, false, *now);
		*now = instant_plus(*now, due_ns > 0 ? due_ns : 0);
	} while (!p->settled || p->finder.proc != NULL);
}

static struct profiler_options one; /* of attach_one */

/* What is attached to one server, which is not known yet; with its page. */
static struct process *
attach_one(struct attach *a, bool page)
{
	static struct command_ring commands;
	static struct observer_rest rest;

	one = (struct profiler_options){.servers = 1,
	    .server = {{.name = "s0", .hsperfdata = page}},
	    .channels_max = 1};
	memset(&commands, 0, sizeof(commands));
	memset(&rest, 0, sizeof(rest));
	assert_int_equal(attach_init(a, &one, 1), 0);
	a->sender.commands = &commands;
	a->sender.rest = &rest;
	return &a->process[0];
}

/* Goal: what a server forks later is found at a long interval, unless the
 * kernel follows it: then it is what the kernel says, and nothing is searched.
 */
TEST(test_later)
{
	struct instant now = instant_now();
	int bytes[2], pids[2];
	struct attach a;
	struct process *p;
	pid_t pid[4];

	assert_int_equal(pipe(bytes), 0);
	assert_int_equal(pipe(pids), 0);
	p = attach_one(&a, false);
	pid[0] = forker_new(bytes[0], pids[1]);
	process_assign(p, pid[0]);
	settle(p, &now);
	assert_int_equal(p->family.count, 1);
	pid[1] = forker_fork(bytes[1], pids[0]);
	p->settled = false;
	settle(p, &now);
	assert_int_equal(p->family.count, 2);
	assert_true(process_owns(p, pid[1]));
	pid[2] = forker_fork(bytes[1], pids[0]);
	process_turn(p, false, false, now);
	assert_int_equal(p->family.count, 2);
	now = instant_plus(now, 61 * NS_PER_S);
	settle(p, &now);
	assert_true(family_has(&p->family, pid[2]));
	process_follow(p, (pid_t[]){pid[2], pid[0]}, 2);
	assert_int_equal(p->family.count, 2);
	assert_int_equal(p->family.pid[0], pid[0]);
	pid[3] = forker_fork(bytes[1], pids[0]);
	now = instant_plus(now, 1000 * NS_PER_S);
	process_turn(p, false, false, now);
	assert_null(p->finder.proc);
	process_follow(p, NULL, 0); /* all are another server's: no news */
	assert_int_equal(p->family.count, 2);
	for (unsigned i = 0; i < 4; i++)
		kill(pid[i], SIGKILL);
	assert_int_equal(waitpid(pid[0], NULL, 0), pid[0]);
	attach_fini(&a);
}

static void
turns(struct process *p, struct instant *now)
{
	for (unsigned i = 0; i < 10; i++) {
		*now = instant_plus(*now, NS_PER_S);
		process_turn(p, false, false, *now);
	}
}

/* Give the file at path the name of a process's page in directory. */
static void
page_name(char path[64], const char *directory, pid_t pid)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%d", directory, (int)pid);
	assert_int_equal(rename(path, name), 0);
	memcpy(path, name, sizeof(name));
}

/* Goal: a file that has the name of a process's page is that only if the
 * process has it mapped: in a shared /tmp, of two JVMs of the same number, and
 * where one was left behind. */
TEST(test_whose_page)
{
	char other[] = "/tmp/hsperfdata_other-XXXXXX",
	     own[] = "/tmp/hsperfdata_own-XXXXXX";
	char path[2][64], why[PAGE_TEXT];
	struct hsperf_page *page = NULL;
	struct fake_page fake[2];
	pid_t pid;

	assert_non_null(mkdtemp(other));
	assert_non_null(mkdtemp(own));
	snprintf(path[0], sizeof(path[0]), "%s/0", own);
	fake_init(&fake[0], path[0]);
	fake_add_jvm(&fake[0], "G1");
	pid = child_new(); /* it has this one mapped, too */
	snprintf(path[1], sizeof(path[1]), "%s/%d", other, (int)pid);
	fake_init(&fake[1], path[1]);
	fake_add_jvm(&fake[1], "Serial");
	assert_int_equal(hsperf_page_open(&page, pid, why), -ESTALE);
	assert_non_null(strstr(why, "another JVM's"));
	page_name(path[0], own, pid);
	assert_int_equal(hsperf_page_open(&page, pid, why), 0);
	assert_int_equal(page->kind, COLLECTOR_G1);
	hsperf_page_free(&page);
	unlink(path[0]);
	assert_int_equal(hsperf_page_open(&page, pid, why), -ESTALE);
	assert_non_null(strstr(why, "its hsperfdata file was deleted"));
	unlink(path[1]);
	assert_int_equal(hsperf_page_open(&page, pid, why), -ENOENT);
	assert_non_null(strstr(why, "its hsperfdata file was deleted"));
	child_kill(pid);
	for (int i = 0; i < 2; i++) {
		fake_fini(&fake[i]);
		unlink(path[i]);
	}
	rmdir(other);
	rmdir(own);
}

/* Goal: where the main process is no JVM (a script, say), the page of another
 * of the server's is read, until that one ends. */
TEST(test_page_below)
{
	struct instant now = instant_now();
	char directory[] = "/tmp/hsperfdata_tailor-XXXXXX", path[64];
	struct hsperf_page *page;
	struct fake_page fake;
	int bytes[2], pids[2];
	struct attach a;
	struct process *p;
	pid_t main, jvm;

	assert_int_equal(pipe(bytes), 0);
	assert_int_equal(pipe(pids), 0);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/0", directory);
	fake_init(&fake, path);
	fake_add_jvm(&fake, "G1");
	main = forker_new(bytes[0], pids[1]);
	jvm = forker_fork(bytes[1], pids[0]);
	page_name(path, directory, jvm);
	p = attach_one(&a, true);
	process_assign(p, main);
	settle(p, &now);
	turns(p, &now);
	assert_int_equal(p->pid, main);
	assert_int_equal(p->jvm, jvm);
	assert_non_null(p->page);
	page = p->page;
	kill(jvm, SIGKILL);
	while (!proc_is_ending(jvm))
		sched_yield();
	process_turn(p, false, false, instant_plus(now, 10 * NS_PER_S));
	assert_int_equal(p->pid, main); /* the server has not ended */
	assert_int_equal(p->jvm, main);
	assert_null(p->page);
	hsperf_page_free(&page);
	kill(main, SIGKILL);
	assert_int_equal(waitpid(main, NULL, 0), main);
	attach_fini(&a);
	fake_fini(&fake);
	unlink(path);
	rmdir(directory);
}

/* Goal: only what listens on the server's address serves: a JVM that the server
 * has started for something else has no say by its page or its agent; nor has
 * the main one, once another listens. */
TEST(test_a_helper)
{
	struct sockaddr_storage address = loopback();
	struct instant now = instant_now();
	char directory[] = "/tmp/hsperfdata_tailor-XXXXXX", path[64];
	struct channel agent = {.kind = TALECHAIN_KIND_JVM}, worker = agent;
	int hold, bytes[2], pids[2];
	struct hsperf_page *page;
	struct fake_page fake;
	struct attach a;
	struct process *p;

	assert_int_equal(pipe(bytes) + pipe(pids), 0);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/0", directory);
	fake_init(&fake, path);
	fake_add_jvm(&fake, "G1");
	agent.pid = forker_new(bytes[0], pids[1]);
	worker.pid = forker_fork(bytes[1], pids[0]);
	page_name(path, directory, worker.pid);
	hold = port_hold(&address);
	p = attach_one(&a, true);
	p->server.listens = address;
	p->server.agent = true;
	process_assign(p, agent.pid);
	settle(p, &now);
	turns(p, &now);
	assert_true(process_owns(p, worker.pid));
	assert_null(p->page);
	assert_int_equal(channel_listener_server_of(&a.listener, &worker), -1);
	/* Nothing listens yet: the main one may be it. */
	page_name(path, directory, agent.pid);
	turns(p, &now);
	page = p->page;
	assert_non_null(page);
	a.listener.unsure = false;
	assert_int_equal(channel_listener_server_of(&a.listener, &agent), 0);
	assert_true(a.listener.unsure); /* it is looked at again */
	assert_int_equal(listen(hold, 5), 0);
	turns(p, &now);
	assert_null(p->page);
	assert_non_null(strstr(p->why, "the process that listens"));
	assert_int_equal(channel_listener_server_of(&a.listener, &agent), -1);
	hsperf_page_free(&page);
	kill(worker.pid, SIGKILL);
	child_kill(agent.pid);
	close(hold);
	attach_fini(&a);
	fake_fini(&fake);
	unlink(path);
	rmdir(directory);
}

/* Goal: a process that shares the listener serves, as prefork workers do. */
TEST(test_who_serves)
{
	struct sockaddr_storage address = loopback();
	struct profiler_server server = {.name = "s0"};
	struct process p;
	pid_t listener;

	process_init(&p, 0, &server);
	assert_int_equal(process_serves(&p, getpid()), SERVING_PERHAPS);
	listener = listener_new(&address);
	p.server.listens = address;
	p.pid = getpid();
	assert_int_equal(process_serves(&p, listener), SERVING);
	assert_int_equal(process_serves(&p, getpid()), SERVING_NOT);
	child_kill(listener);
	assert_int_equal(process_serves(&p, getpid()), SERVING_PERHAPS);
	process_fini(&p);
}

/* A child that has the name of its parent until it can read a byte, like one
 * between fork and exec. */
static pid_t
starter_new(int begin, int done)
{
	char byte;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(begin, &byte, 1) != 1)
			_exit(1);
		prctl(PR_SET_NAME, "served");
		if (write(done, "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

/* Goal: the line of a server has its program, not what it was before exec. */
TEST(test_name_after_exec)
{
	struct instant now = instant_now();
	const struct observed_facts facts = {.kernel_why = "off",
	    .kernel_fix = "off",
	    .detail = "",
	    .collections = true};
	int begin[2], done[2], log[2], old = dup(STDERR_FILENO);
	char line[1024] = "", byte;
	struct observed seen = {0};
	struct attach a;
	struct process *p;
	pid_t pid;

	assert_int_equal(pipe(begin) + pipe(done) + pipe(log), 0);
	p = attach_one(&a, false);
	pid = starter_new(begin[0], done[1]);
	process_assign(p, pid);
	process_turn(p, false, false, now);
	assert_string_equal(p->name, "test_process");
	assert_int_equal(write(begin[1], "x", 1), 1);
	assert_int_equal(read(done[0], &byte, 1), 1);
	dup2(log[1], STDERR_FILENO);
	assert_int_equal(observed_turn(&seen, p, &facts, now), -1);
	dup2(old, STDERR_FILENO);
	assert_true(read(log[0], line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, "program=\"served\""));
	child_kill(pid);
	attach_fini(&a);
	close(old);
}

/* Goal: processes that each have a socket of their own on one address are one
 * server, also if one of them comes later. */
TEST(test_reuseport)
{
	struct sockaddr_storage a = loopback();
	struct family found;
	struct finder f;
	int s, i;
	pid_t pid[2];

	finder_init(&f);
	for (i = 0; i < 2; i++) {
		s = listen_on(&a, SO_REUSEPORT);
		pid[i] = child_new();
		close(s);
		assert_true(i == 0 || finder_changed(&f, &a));
		assert_int_equal(search_with(&f, &a, 0, &found), FINDER_FOUND);
		assert_int_equal(found.count, i + 1);
		assert_true(family_has(&found, pid[i]));
		assert_true(finder_holds(pid[i], &a));
	}
	assert_false(finder_holds(getpid(), &a));
	for (i = 0; i < 2; i++)
		child_kill(pid[i]);
	finder_fini(&f);
}

/* Goal: systemd, which holds the socket of a unit that it will start, is not
 * taken for the server. */
TEST(test_activator)
{
	struct sockaddr_storage a = loopback();
	struct family found;
	int s = listen_on(&a, SO_REUSEADDR);
	char name[PROC_NAME_BYTES];
	pid_t pid[2];

	prctl(PR_SET_NAME, "systemd");
	pid[0] = child_new();
	prctl(PR_SET_NAME, "test_process");
	proc_name(pid[0], name);
	assert_string_equal(name, "systemd");
	/* Our own process holds it, too, and is not taken. */
	assert_int_equal(search(&a, 0, &found), FINDER_ASLEEP);
	pid[1] = child_new();
	assert_int_equal(search(&a, 0, &found), FINDER_FOUND);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.pid[0], pid[1]);
	close(s);
	child_kill(pid[0]);
	child_kill(pid[1]);
}

/* Goal: a port that docker forwards is said to be a container's. */
TEST(test_container)
{
	struct profiler_server server = {.name = "a", .hsperfdata = true};
	enum profiler_source source;
	char detail[PAGE_TEXT];
	struct process p;

	process_init(&p, 0, &server);
	p.pid = child_new();
	prctl(PR_SET_NAME, "docker-proxy");
	proc_name(getpid(), p.name);
	prctl(PR_SET_NAME, "test_process");
	process_describe(&p, 0, &source, detail);
	assert_non_null(strstr(detail, "the server is in a container"));
	child_kill(p.pid);
	process_fini(&p);
}

/* As a container: a child that listens on all addresses of a network namespace
 * of its own, with that address there; 0: we may not. */
static pid_t
container_new(struct sockaddr_in *address)
{
	struct ifreq lo = {.ifr_name = "lo"}, alias = {.ifr_name = "lo:1"};
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t length = sizeof(any);
	int ready[2];
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int s;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		if (unshare(CLONE_NEWNET) < 0 &&
		    unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			_exit(0);
		s = socket(AF_INET, SOCK_STREAM, 0);
		lo.ifr_flags = IFF_UP;
		memcpy(&alias.ifr_addr, address, sizeof(*address));
		if (ioctl(s, SIOCSIFFLAGS, &lo) < 0 ||
		    ioctl(s, SIOCSIFADDR, &alias) < 0 ||
		    bind(s, (void *)&any, length) < 0 || listen(s, 5) < 0 ||
		    getsockname(s, (void *)&any, &length) < 0 ||
		    write(ready[1], &any.sin_port, 2) != 2)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &address->sin_port, 2) != 2) {
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

/* Goal: a server in a container is found by the container's address, and not
 * by a port that is the same; none that is there is found after its end. */
TEST(test_network_namespace)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *in = (void *)&a;
	struct family found;
	uint32_t own;
	pid_t pid;

	in->sin_family = AF_INET;
	/* Of 10.64.0.0/10: another such test may run, too. */
	own = 0x0a400000 | ((uint32_t)getpid() << 2 & 0x3ffffc);
	in->sin_addr.s_addr = htonl(own + 2);
	pid = container_new(in);
	if (pid == 0)
		skip(); /* no network namespaces here */
	assert_int_equal(search(&a, 0, &found), FINDER_FOUND);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.pid[0], pid);
	assert_true(finder_holds(pid, &a));
	in->sin_addr.s_addr = htonl(own + 3);
	assert_int_equal(search(&a, 0, &found), FINDER_NONE);
	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(search(&a, 0, &found), FINDER_NONE);
	in->sin_addr.s_addr = htonl(own + 2);
	child_kill(pid);
	assert_int_equal(search(&a, 0, &found), FINDER_NONE);
}

/* Goal: of a process that we run below only itself is taken. */
TEST(test_above_us)
{
	struct sockaddr_storage nothing = {0};
	struct family found;
	pid_t pid = child_new(), watcher;
	int status;

	watcher = fork();
	if (watcher == 0)
		_exit(search(&nothing, getppid(), &found) == FINDER_FOUND &&
			      found.count == 1 && found.pid[0] == getppid()
			  ? 0
			  : 1);
	assert_int_equal(waitpid(watcher, &status, 0), watcher);
	assert_int_equal(status, 0);
	child_kill(pid);
}

/* Goal: what is not there is said not to be. */
TEST(test_not_found)
{
	struct fixture *f = fixture_new();
	struct sockaddr_storage a = loopback();
	struct profiler_stats s;
	int held = port_hold(&a);

	child_kill(listener_new(&a));
	f->options.server[0].address = a;
	fixture_start(f);
	fixture_wait_sweeps(f);
	do
		profiler_stats(f->profiler, &s);
	while (s.server[0].detail[0] != 'n');
	assert_string_equal(
	    s.server[0].detail, "nothing listens on its address here");
	close(held);
	fixture_free(f);
}

/* Goal: a Unix listener is found, too. */
TEST(test_found_unix)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_un *un = (void *)&a;
	struct family found;
	pid_t pid;

	un->sun_family = AF_UNIX;
	snprintf(un->sun_path, sizeof(un->sun_path), "/tmp/tailor-test-%d.sock",
	    (int)getpid());
	pid = listener_new(&a);
	assert_int_equal(search(&a, 0, &found), FINDER_FOUND);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.pid[0], pid);
	child_kill(pid);
	unlink(un->sun_path);
}

/* Goal: to another user the process is hidden, and whose it is is told. */
TEST(test_foreign)
{
	struct sockaddr_storage a = loopback();
	enum finder_result r;
	struct finder f;
	struct family found;
	pid_t pid, other;
	int status;

	if (geteuid() != 0) {
		print_message("skipped: only root can become another user\n");
		skip();
	}
	pid = listener_new(&a);
	other = fork();
	if (other == 0) {
		if (setuid(65534) < 0)
			_exit(1);
		finder_init(&f);
		r = search_with(&f, &a, 0, &found);
		_exit(r == FINDER_FOREIGN && f.sockets.uid == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	child_kill(pid);
}

static int
match(const char *line, const char *text, uint16_t port)
{
	struct sockaddr_storage a = {0};
	struct sockaddr_in *four = (void *)&a;
	struct sockaddr_in6 *six = (void *)&a;
	uint64_t inode = 0;
	uid_t uid;
	int r;

	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		a.ss_family = AF_INET;
		four->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
		a.ss_family = AF_INET6;
		six->sin6_port = htons(port);
	}
	r = finder_match(line, &a, &inode, &uid);
	if (r > 0) {
		assert_int_equal(inode, 52341);
		assert_int_equal(uid, 1000);
	}
	return r;
}

#define TCP4(address, state)                                              \
	"   1: " address " 00000000:0000 " state                          \
	" 00000000:00000000 00:00000000 00000000  1000        0 52341 1 " \
	"ffff 100 0 0 10 0"
#define TCP6(address, state)                                              \
	"   1: " address " 00000000000000000000000000000000:0000 " state  \
	" 00000000:00000000 00:00000000 00000000  1000        0 52341 1 " \
	"ffff 100 0 0 10 0"

/* Goal: lines of the kernel's tables, wildcards and mapped addresses. */
TEST(test_match)
{
	assert_int_equal(
	    match(TCP4("0100007F:1F90", "0A"), "127.0.0.1", 8080), 2);
	assert_int_equal(
	    match(TCP4("0100007F:1F90", "0A"), "127.0.0.1", 8081), 0);
	assert_int_equal(
	    match(TCP4("0100007F:1F90", "0A"), "127.0.0.2", 8080), 0);
	assert_int_equal(
	    match(TCP4("00000000:1F90", "0A"), "127.0.0.1", 8080), 1);
	assert_int_equal(
	    match(TCP4("0100007F:1F90", "01"), "127.0.0.1", 8080), -1);
	assert_int_equal(
	    match(TCP6("00000000000000000000000001000000:1F90", "0A"), "::1",
		8080),
	    2);
	assert_int_equal(
	    match(TCP6("00000000000000000000000000000000:1F90", "0A"),
		"127.0.0.1", 8080),
	    1);
	assert_int_equal(
	    match(TCP6("0000000000000000FFFF00000100007F:1F90", "0A"),
		"127.0.0.1", 8080),
	    2);
	assert_int_equal(
	    match("  sl  local_address rem_address   st", "127.0.0.1", 8080),
	    0);
	assert_int_equal(match("", "::1", 1), 0);
}

/* Goal: a channel belongs to a server if its writer is the server's process
 * or one below it, also when the server is known only later. */
TEST(test_assignment)
{
	struct fixture *f = fixture_new();
	struct talechain tc;
	unsigned i, mine = 0, none = 0;
	pid_t wrapper;

	f->options.servers = 2;
	fixture_start(f);
	wrapper = fork();
	if (wrapper == 0) {
		if (fork() != 0)
			for (;;)
				pause();
		if (talechain_open(&tc, f->socket, "grandchild", 8) < 0)
			_exit(1);
		while (getppid() != 1) {
			talechain_emit(&tc, TALECHAIN_APP_MARK, 0, 0, 0, 0);
			usleep(1000);
		}
		_exit(0);
	}
	fixture_wait_events(f, TALECHAIN_APP_MARK, 3);
	profiler_server_process(f->profiler, 1, wrapper);
	fixture_wait_events(f, TALECHAIN_SERVER_START, 1);
	fixture_wait_events(
	    f, TALECHAIN_APP_MARK, fixture_events(f, TALECHAIN_APP_MARK) + 20);
	for (i = 0; i < f->slots; i++)
		if (f->slot[i].event.type == TALECHAIN_APP_MARK) {
			none += f->slot[i].server == -1;
			mine += f->slot[i].server == 1;
		}
	assert_true(none >= 3);
	assert_true(mine >= 10);
	child_kill(wrapper);
	fixture_wait_closed(f, 1);
	fixture_free(f);
}

/* Goal: the answers of /proc, about ourselves. */
TEST(test_proc)
{
	pid_t pid = child_new();
	uid_t uid;

	assert_int_equal(proc_uid(pid, &uid), 0);
	assert_int_equal(uid, geteuid());
	assert_int_equal(proc_parent(pid), getpid());
	assert_true(proc_descends(pid, getpid()));
	assert_true(proc_descends(pid, pid));
	assert_false(proc_descends(getpid(), pid));
	assert_true(proc_age_ns(pid) >= -NS_PER_S / 50);
	assert_true(proc_age_ns(pid) < 60 * NS_PER_S);
	assert_true(proc_inner_pid(pid) > 0);
	assert_true(proc_maps(getpid(), "test_process", false));
	assert_false(proc_maps(getpid(), "libjvm.so", false));
	child_kill(pid);
	assert_true(proc_uid(pid, &uid) < 0);
	assert_true(proc_pidfd(pid) < 0);
	assert_int_equal(proc_parent(pid), 0);
}

/* One whole search for the process that listens. */
static void
search_once(struct process *p, struct instant *now)
{
	int64_t due_ns;

	do {
		due_ns = process_turn(p, false, false, *now);
		*now = instant_plus(*now, due_ns);
	} while (p->finder.proc != NULL);
}

/* Goal: a socket whose holder is not seen is another user's only if the next
 * search finds the same: that of a process that ends is there without a
 * holder for a moment.  Our own process is the holder that is not seen. */
TEST(test_hidden)
{
	struct profiler_server server = {.name = "a"};
	struct instant now = instant_now();
	struct process p;
	int s, held;

	server.address = loopback();
	held = port_hold(&server.address);
	s = listen_on(&server.address, SO_REUSEADDR);
	process_init(&p, 0, &server);
	search_once(&p, &now);
	assert_string_equal(p.where, "its process is not known yet");
	search_once(&p, &now);
	assert_non_null(strstr(p.where, "its process belongs to user "));
	close(s);
	search_once(&p, &now);
	assert_non_null(strstr(p.where, "nothing listens"));
	close(held);
	process_fini(&p);
}
