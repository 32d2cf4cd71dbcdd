/*
 * test_load.c: the attach protocol, with this process as the JVM.
 *
 * Goal: the agent is asked for as jcmd would, what answers is not trusted, and
 * a process that a signal would end gets none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/attach/attach.h"
#include "profiler/jvm/load.h"

#define LIBRARY "/proc/self/exe" /* any file that is there */

static char java_socket[64], knock_file[64];
static volatile sig_atomic_t quits;
static int listener = -1;

static void
listen_now(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	memcpy(a.sun_path, java_socket, sizeof(java_socket));
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(
	    bind(listener, (struct sockaddr *)(void *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
}

static void
on_quit(int number)
{
	(void)number;
	quits++;
}

static int
setup(void **state)
{
	(void)state;
	snprintf(java_socket, sizeof(java_socket), "/tmp/.java_pid%d",
	    (int)getpid());
	snprintf(knock_file, sizeof(knock_file), "/tmp/.attach_pid%d",
	    (int)getpid());
	unlink(java_socket);
	quits = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	if (listener >= 0)
		close(listener);
	listener = -1;
	unlink(java_socket);
	signal(SIGQUIT, SIG_DFL);
	return 0;
}

static void
begin_at(struct load *l, struct instant now)
{
	load_init(l);
	load_begin(l, getpid(), LIBRARY, "/proc/self/exe", now);
}

static void
begin(struct load *l)
{
	begin_at(l, instant_now());
}

/* Let it ask; answer; let it read.  What it has asked, in text. */
static size_t
answered(struct load *l, const char *reply, size_t length, char text[800])
{
	int fd;
	ssize_t n;

	load_turn(l, instant_now());
	assert_int_equal(l->state, LOAD_REPLY);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	n = recv(fd, text, 800, 0);
	assert_true(n > 0);
	assert_int_equal(send(fd, reply, length, MSG_NOSIGNAL), length);
	close(fd);
	for (int i = 0; i < 10 && l->state == LOAD_REPLY; i++)
		load_turn(l, instant_now());
	return (size_t)n;
}

TEST_WITH(test_what_is_asked, setup, teardown)
{
	static const char want[] = "1\0load\0" LIBRARY "\0true\0/proc/self/exe";
	struct load l;
	char text[800];

	listen_now();
	begin(&l);
	assert_int_equal(
	    answered(&l, "0\nreturn code: 0\n", 17, text), sizeof(want));
	assert_memory_equal(text, want, sizeof(want));
	assert_int_equal(l.state, LOAD_DONE);
	assert_int_equal(l.fd, -1);
	assert_int_equal(load_turn(&l, instant_now()), -1);
	load_fini(&l);
}

TEST_WITH(test_a_flag, setup, teardown)
{
	static const char want[] = "1\0setflag\0G1PeriodicGCInterval\0001\0";
	struct load l;
	char text[800];

	listen_now();
	load_init(&l);
	load_flag(&l, getpid(), "G1PeriodicGCInterval", "1", instant_now());
	assert_int_equal(answered(&l, "0\n", 2, text), sizeof(want));
	assert_memory_equal(text, want, sizeof(want));
	assert_int_equal(l.state, LOAD_DONE);
	load_flag(&l, getpid(), "NoFlag", "1", instant_now());
	answered(&l, "1\nonly 'writeable' flags\n", 25, text);
	assert_int_equal(l.state, LOAD_FAILED);
	assert_non_null(strstr(l.why, "writeable"));
	load_fini(&l);
}

TEST_WITH(test_answers, setup, teardown)
{
	static const struct {
		const char *reply;
		size_t length;
		enum load_state state;
	} cases[] = {
	    {"0\n0\n", 4, LOAD_DONE}, /* JDK 8 */
	    {"0\nreturn code: 0\n", 17, LOAD_DONE},
	    {"0\nreturn code: -1\n", 18, LOAD_FAILED},
	    {"0\nreturn code: 100\n", 19, LOAD_FAILED},
	    {"100\nNo such file\n", 17, LOAD_FAILED},
	    {"0\n", 2, LOAD_FAILED},
	    {"0", 1, LOAD_FAILED},
	    {"", 0, LOAD_FAILED},
	    {"\0\0\0\0", 4, LOAD_FAILED},
	    {"0\nno library, and a line that is longer than what is kept of "
	     "an answer of this kind, by some hundred bytes",
		100, LOAD_FAILED},
	};
	struct load l;
	char text[800];

	listen_now();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(&l);
		answered(&l, cases[i].reply, cases[i].length, text);
		assert_int_equal(l.state, cases[i].state);
		if (l.state == LOAD_FAILED)
			for (const char *c = l.why; *c != '\0'; c++)
				assert_in_range(*c, ' ', '~');
		load_fini(&l);
	}
}

TEST_WITH(test_no_signal_to_a_process_that_would_end, setup, teardown)
{
	struct load l;

	signal(SIGQUIT, SIG_DFL);
	begin(&l); /* this process would be gone */
	assert_int_equal(l.state, LOAD_FAILED);
	assert_non_null(strstr(l.why, "SIGQUIT"));
	load_fini(&l);
}

TEST_WITH(test_a_knock_opens_it, setup, teardown)
{
	struct load l;
	char text[800];

	signal(SIGQUIT, on_quit);
	begin(&l);
	assert_int_equal(l.state, LOAD_CONNECT);
	assert_int_equal(quits, 1);
	assert_int_equal(access(knock_file, F_OK), 0);
	assert_true(load_turn(&l, instant_now()) > 0);
	assert_int_equal(l.state, LOAD_CONNECT);
	listen_now();
	answered(&l, "0\nreturn code: 0\n", 17, text);
	assert_int_equal(l.state, LOAD_DONE);
	/* It leaves nothing behind. */
	assert_int_equal(access(knock_file, F_OK), -1);
	load_fini(&l);
}

/* In a root of its own, whose /tmp leads where it is not: the child handles
 * SIGQUIT.  Its number. */
static pid_t
confined(const char *root, const char *tmp)
{
	char path[80], byte;
	int ready[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/tmp", root);
	assert_int_equal(symlink(tmp, path), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGQUIT, on_quit);
		if (chroot(root) == 0 && write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

TEST_WITH(test_a_knock_stays_in_its_root, setup, teardown)
{
	/* Goal: a link in a container leads to no directory of ours. */
	char root[] = "/tmp/tailor-root-XXXXXX",
	     ours[] = "/tmp/tailor-ours-XXXXXX";
	char path[80];
	struct load l;
	pid_t pid;

	if (geteuid() != 0)
		unit_skip("only root can make a root");
	assert_non_null(mkdtemp(root));
	assert_non_null(mkdtemp(ours));
	pid = confined(root, ours);
	load_init(&l);
	load_flag(&l, pid, "Flag", NULL, instant_now());
	assert_int_equal(l.state, LOAD_FAILED);
	assert_non_null(strstr(l.why, "cannot look into its /tmp"));
	snprintf(path, sizeof(path), "%s/.attach_pid%d", ours, (int)pid);
	assert_int_equal(access(path, F_OK), -1);
	/* One that leads somewhere in its root is its own matter. */
	snprintf(path, sizeof(path), "%s%s", root, "/inside");
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/tmp", root);
	unlink(path);
	assert_int_equal(symlink("/../inside", path), 0);
	load_flag(&l, pid, "Flag", NULL, instant_now());
	assert_int_equal(l.state, LOAD_CONNECT);
	snprintf(path, sizeof(path), "%s/inside/.attach_pid%d", root, (int)pid);
	assert_int_equal(access(path, F_OK), 0);
	load_fini(&l);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	snprintf(path, sizeof(path), "rm -rf '%s' '%s'", root, ours);
	assert_int_equal(system(path), 0);
}

/* Goal: a JVM that could not run for so long has one signal and still finds its
 * file; a second signal, or the first without the file, would be answered by a
 * thread dump. */
TEST_WITH(test_it_gives_up, setup, teardown)
{
	struct instant now = instant_now();
	struct load l;
	char text[800];

	signal(SIGQUIT, on_quit);
	begin_at(&l, now);
	assert_true(load_turn(&l, instant_plus(now, 9 * NS_PER_S)) > 0);
	assert_int_equal(load_turn(&l, instant_plus(now, 11 * NS_PER_S)), -1);
	assert_int_equal(l.state, LOAD_FAILED);
	assert_int_equal(access(knock_file, F_OK), 0);
	load_begin(&l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(l.state, LOAD_CONNECT);
	assert_int_equal(quits, 1);
	listen_now();
	answered(&l, "0\nreturn code: 0\n", 17, text);
	assert_int_equal(l.state, LOAD_DONE);
	assert_int_equal(access(knock_file, F_OK), -1);
	load_fini(&l);
}

/* It sends no signal, and why. */
static void
refused(struct load *l, const char *why)
{
	load_begin(l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(l->state, LOAD_FAILED);
	assert_non_null(strstr(l->why, why));
	assert_int_equal(quits, 0);
}

/* Goal: no signal to a JVM that does not attach, or has lost its socket and
 * makes no other one. */
TEST_WITH(test_no_thread_dump, setup, teardown)
{
	struct load l;

	signal(SIGQUIT, on_quit);
	load_init(&l);
	l.no_attach = "it has -XX:+DisableAttachMechanism";
	refused(&l, "DisableAttach");
	l.no_attach = NULL;
	prctl(PR_SET_NAME, "Attach Listener");
	l.java = 11;
	refused(&l, "its socket was removed");
	l.java = 17;
	load_begin(&l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(quits, 1);
	prctl(PR_SET_NAME, "test_load");
	load_fini(&l);
	unlink(knock_file);
}

/* Goal: a socket that nobody listens at, left by a JVM that had the number
 * before, counts as none. */
TEST_WITH(test_a_stale_socket, setup, teardown)
{
	struct load l;

	signal(SIGQUIT, on_quit);
	listen_now();
	close(listener);
	listener = -1;
	load_init(&l);
	l.no_attach = "it has -XX:+DisableAttachMechanism";
	load_begin(&l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(load_turn(&l, instant_now()), -1);
	assert_int_equal(l.state, LOAD_FAILED);
	assert_non_null(strstr(l.why, "DisableAttach"));
	assert_int_equal(quits, 0);
	l.no_attach = NULL;
	load_begin(&l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(quits, 0);
	load_turn(&l, instant_now());
	load_turn(&l, instant_now());
	assert_int_equal(l.state, LOAD_CONNECT);
	assert_int_equal(quits, 1);
	load_fini(&l);
	unlink(knock_file);
}

static void
leave(const char *path, uid_t owner)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
	assert_int_equal(chown(path, owner, (gid_t)-1), 0);
}

/* Goal: a file of another user, which the JVM does not take, is replaced in
 * /tmp; in its working directory, where it looks first, it is left. */
TEST_WITH(test_a_stale_knock, setup, teardown)
{
	char here[] = "/tmp/tailor-here-XXXXXX", path[80];
	struct load l;
	struct stat st;

	if (geteuid() != 0)
		unit_skip("only root can give a file away");
	signal(SIGQUIT, on_quit);
	assert_non_null(mkdtemp(here));
	assert_int_equal(chdir(here), 0);
	load_init(&l);
	leave(knock_file + strlen("/tmp/"), 1);
	refused(&l, "in its working directory");
	assert_int_equal(access(knock_file, F_OK), -1);
	snprintf(path, sizeof(path), "%s/%s", here, knock_file + 5);
	unlink(path);
	leave(knock_file, 1);
	load_begin(&l, getpid(), LIBRARY, "/proc/self/exe", instant_now());
	assert_int_equal(l.state, LOAD_CONNECT);
	assert_int_equal(quits, 1);
	assert_int_equal(stat(knock_file, &st), 0);
	assert_int_equal(st.st_uid, geteuid());
	load_fini(&l);
	unlink(knock_file);
	assert_int_equal(chdir("/"), 0);
	rmdir(here);
}

TEST_WITH(test_files_that_it_does_not_see, setup, teardown)
{
	struct load l;

	load_init(&l);
	load_begin(&l, getpid(), "/nowhere/lib.so", LIBRARY, instant_now());
	assert_int_equal(l.state, LOAD_FAILED);
	assert_int_equal(quits, 0);
	load_fini(&l);
}

/* --- a flag while it is ordered ------------------------------------------- */

static struct attach attach;
static struct orders orders;

/* What the JVM is asked for, by this command; it answers if it is to. */
static const char *
flag_asked(const char *command, const char *reply, struct instant now)
{
	struct load *l = &orders.load[0];
	static char text[800];
	size_t value =
	    strlen("1") + strlen(command) + 2 + sizeof("G1PeriodicGCInterval");
	int fd;

	orders_turn(&orders, &attach.listener, now);
	orders_turn(&orders, &attach.listener, now);
	assert_int_equal(l->state, LOAD_REPLY);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_true(recv(fd, text, sizeof(text), 0) > (ssize_t)value);
	assert_string_equal(text + 2, command);
	assert_string_equal(text + 3 + strlen(command), "G1PeriodicGCInterval");
	if (reply != NULL) {
		assert_int_equal(send(fd, reply, strlen(reply), MSG_NOSIGNAL),
		    strlen(reply));
		close(fd);
	} else {
		now = instant_plus(now, 11 * NS_PER_S);
	}
	for (int i = 0; i < 10 && l->state == LOAD_REPLY; i++)
		orders_turn(&orders, &attach.listener, now);
	if (reply == NULL)
		close(fd);
	/* The next one may have begun. */
	if (reply != NULL)
		assert_true(l->state == LOAD_DONE || l->state == LOAD_CONNECT);
	else
		assert_int_equal(l->state, LOAD_FAILED);
	return text + value;
}

/* A server that is steered by the flag; its arguments have own_ms. */
static void
flag_begin(bool read, uint64_t own_ms)
{
	static struct hsperf_page page = {.kind = COLLECTOR_G1};
	static const struct profiler_server server = {
	    .name = "a", .collect = PROFILER_COLLECT_PERIODIC};

	listen_now();
	memset(&attach, 0, sizeof(attach));
	attach.listener.process = attach.process;
	attach.listener.servers = 1;
	attach.process[0].server = server;
	attach.process[0].page = &page;
	attach.process[0].jvm = getpid();
	orders_init(&orders);
	orders.load_agents = 1;
	orders.periodic[0].pid = getpid();
	orders.periodic[0].read = read;
	orders.periodic[0].own = own_ms;
}

static void
flag_end(void)
{
	orders_fini(&orders);
	close(listener);
	listener = -1;
	unlink(java_socket);
}

/* Goal: what may be in force is taken back, even from a JVM that did not answer
 * for a while; nothing is ordered meanwhile. */
TEST_WITH(test_a_flag_is_taken_back, setup, teardown)
{
	struct instant now = instant_now();
	const char *reply[] = {NULL, "0\n"};

	for (int answers = 0; answers < 2; answers++) {
		flag_begin(true, 0);
		orders_leave(&orders, 0, 1000);
		assert_string_equal(
		    flag_asked("setflag", reply[answers], now), "1");
		if (answers) {
			assert_int_equal(orders.understood[0], 1);
			orders_leave(&orders, 0, ORDERS_STOP);
			assert_string_equal(
			    flag_asked("setflag", NULL, now), "0");
		}
		assert_int_equal(orders.understood[0], 0);
		now = instant_plus(now, 11 * NS_PER_S);
		assert_in_range(orders_turn(&orders, &attach.listener, now), 1,
		    20 * NS_PER_S); /* it tries again, and not at once */
		assert_int_equal(orders.load[0].state, LOAD_FAILED);
		now = instant_plus(now, 20 * NS_PER_S);
		assert_string_equal(flag_asked("setflag", "0\n", now), "0");
		assert_int_equal(orders.understood[0], 1);
		assert_int_equal(
		    orders_turn(&orders, &attach.listener, now), -1);
		flag_end();
	}
}

/* Goal: an interval of the user's is set back, though an earlier tailor was
 * killed in an order; G1 sees no order before it has passed. */
TEST_WITH(test_an_own_interval, setup, teardown)
{
	static const struct {
		const char *reply;
		uint64_t argument_ms;
		const char *back; /* NULL: nothing to do */
		bool passes;	  /* the first order has to wait */
	} cases[] = {
	    {"0\n-XX:G1PeriodicGCInterval=0\n", 0, NULL, false},
	    {"0\n-XX:G1PeriodicGCInterval=1\n", 0, NULL, false},
	    {"0\n-XX:G1PeriodicGCInterval=7000\n", 0, "7000", true},
	    {"0\n-XX:G1PeriodicGCInterval=7000\n", 9000, "7000", true},
	    {"0\n-XX:G1PeriodicGCInterval=1\n", 9000, "9000", false},
	    {"0\n-XX:G1PeriodicGCInterval=0\n", 9000, "9000", false},
	};
	struct instant now = instant_now();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		flag_begin(false, cases[i].argument_ms);
		flag_asked("printflag", cases[i].reply, now);
		if (orders.periodic[0].is != 0)
			assert_string_equal(
			    flag_asked("setflag", "0\n", now), "0");
		assert_int_equal(orders.understood[0], !cases[i].passes);
		if (cases[i].passes)
			assert_in_range(
			    orders_turn(&orders, &attach.listener, now), 1,
			    7 * NS_PER_S);
		now = instant_plus(now, 7 * NS_PER_S);
		assert_int_equal(
		    orders_turn(&orders, &attach.listener, now), -1);
		assert_int_equal(orders.understood[0], 1);
		orders.load_agents = 0;
		if (cases[i].back != NULL)
			assert_string_equal(
			    flag_asked("setflag", "0\n", now), cases[i].back);
		assert_int_equal(
		    orders_turn(&orders, &attach.listener, now), -1);
		flag_end();
	}
}

/* Goal: a JVM without the flag is not steered by it, nor asked again. */
TEST_WITH(test_no_flag, setup, teardown)
{
	struct instant now = instant_now();

	flag_begin(false, 0);
	flag_asked(
	    "printflag", "0\nno such flag 'G1PeriodicGCInterval'\n", now);
	assert_int_equal(orders.understood[0], 0);
	now = instant_plus(now, 60 * NS_PER_S);
	assert_int_equal(orders_turn(&orders, &attach.listener, now), -1);
	flag_end();
}
