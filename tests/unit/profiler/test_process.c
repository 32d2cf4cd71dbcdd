/*
 * Goal: the end and the beginning of a server's process are hazards, whether
 * a supervisor tells of it or it is found by its listening address.
 */
#include "children.h"
#include "fake_page.h"
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/attach/attach.h"
#include "profiler/processes/proc.h"

static unsigned
child_threads(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	return (unsigned)st.st_nlink - 2;
}

/* Goal: a process's state is read whatever it calls itself. */
TEST(test_state)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_NAME, "a\nb) Z (");
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	while (proc_state(pid) == 'R')
		usleep(1000);
	assert_int_equal(proc_state(pid), 'S');
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_state(pid), 'Z');
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_state(pid), 0);
	close(ready[0]);
	close(ready[1]);
}

static void *
pause_for_ever(void *user)
{
	while (pause() < 0)
		;
	return user;
}

/* Goal: a process lives while any of its threads does. */
TEST(test_state_without_the_first_thread)
{
	char path[32], line[8];
	pthread_t thread;
	pid_t pid = fork();

	if (pid == 0) {
		if (pthread_create(&thread, NULL, pause_for_ever, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	while (readlink(path, line, sizeof(line)) > 0)
		usleep(1000);
	while (proc_state(pid) == 'R')
		usleep(1000);
	assert_int_equal(proc_state(pid), 'S');
	assert_false(proc_is_ending(pid));
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_state(pid), 'Z');
	assert_true(proc_is_ending(pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Goal: told of a process, its end is a hazard at once, with its status;
 * told of the next, the hazard ends. */
TEST(test_told)
{
	struct fixture *f = fixture_new();
	pid_t first = child_new(), second;
	struct profiler_stats s;
	unsigned i, threads, status;

	fixture_follow(f, first);
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
	fixture_follow(f, gone);
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

/* Goal: a listener is found by its address, its end is seen, and the next
 * one on the same address ends the hazard. */
TEST(test_found)
{
	struct fixture *f = fixture_new();
	struct sockaddr_storage a = loopback_address();
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
	assert_true(STATS_ARE(f, s, s.server[0].processes == 4));
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

/* A process that maps memory for each byte it gets, and says so. */
static pid_t
mapper_new(int bytes, int done)
{
	pid_t pid = fork();
	char c;

	assert_true(pid >= 0);
	while (pid == 0)
		if (read(bytes, &c, 1) != 1 ||
		    mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0) == MAP_FAILED ||
		    write(done, &c, 1) != 1)
			_exit(0);
	return pid;
}

/* Goal: a page is not searched again and again in a process that has none, but
 * once it has mapped memory, and after a while. */
TEST(test_no_page)
{
	char directory[] = "/tmp/hsperfdata_tailor-XXXXXX", path[64];
	struct hsperf_page *page;
	struct fake_page fake;
	int bytes[2], done[2];
	struct process *p;
	struct attach a;
	pid_t pid;
	char c = 0;

	assert_int_equal(pipe(bytes) + pipe(done), 0);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/0", directory);
	fake_init(&fake, path);
	fake_add_jvm(&fake, "G1");
	for (int maps = 0; maps < 2; maps++) {
		struct instant now = instant_now();

		pid = mapper_new(bytes[0], done[1]);
		p = attach_one(&a, true);
		process_assign(p, pid);
		settle(p, &now);
		turns(p, &now);
		page_name(path, directory, pid);
		turns(p, &now);
		assert_null(p->page);
		if (maps) {
			assert_int_equal(write(bytes[1], &c, 1), 1);
			assert_int_equal(read(done[0], &c, 1), 1);
			now = instant_plus(now, NS_PER_S);
			process_turn(p, false, false, now);
		} else {
			turns(p, &now);
		}
		page = p->page;
		assert_non_null(page);
		hsperf_page_free(&page);
		child_kill(pid);
		attach_fini(&a);
	}
	fake_fini(&fake);
	unlink(path);
	for (int i = 0; i < 2; i++) {
		close(bytes[i]);
		close(done[i]);
	}
	rmdir(directory);
}

/* Goal: only what listens on the server's address serves: a JVM that the server
 * has started for something else has no say by its page or its agent; nor has
 * the main one, once another listens. */
TEST(test_a_helper)
{
	struct sockaddr_storage address = loopback_address();
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
	for (int i = 0; i < 3; i++) /* until searched again */
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
	struct sockaddr_storage address = loopback_address();
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

/* Goal: what is not there is said not to be. */
TEST(test_not_found)
{
	struct fixture *f = fixture_new();
	struct sockaddr_storage a = loopback_address();
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

	server.address = loopback_address();
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
