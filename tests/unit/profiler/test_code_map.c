/*
 * Goal: a JVM is asked for a map of its code at most as often as is said, and
 * never where another user could gain from it.  This process is the JVM.
 */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "profiler/attach/code_map.h"

static char java_socket[64], map[64];
static int listener = -1;
static struct code_map_orders maps;
static struct orders others;
static struct process process;

static int
setup(void **state)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	(void)state;
	snprintf(java_socket, sizeof(java_socket), "/tmp/.java_pid%d",
	    (int)getpid());
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	unlink(java_socket);
	unlink(map);
	memcpy(a.sun_path, java_socket, sizeof(java_socket));
	listener =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(
	    bind(listener, (struct sockaddr *)(void *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
	code_map_init(&maps);
	orders_init(&others);
	memset(&process, 0, sizeof(process));
	process.pid = getpid();
	process.server.agent = true;
	family_add(&process.family, getpid());
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	code_map_fini(&maps);
	close(listener);
	unlink(java_socket);
	unlink(map);
	return 0;
}

/* A moment so many seconds from now: the process is old enough then. */
static struct instant
in(int64_t s)
{
	return instant_plus(instant_now(), s * NS_PER_S);
}

static int
ask(int64_t since_s)
{
	return code_map_ask(&maps, getpid(), in(since_s));
}

static void
turn(int64_t s)
{
	code_map_turn(&maps, &others, &process, 1, in(s));
}

/* Take the request of the order, and reply as a JVM. */
static void
serve(const char *reply, int64_t s)
{
	static const char want[] = "1\0jcmd\0Compiler.perfmap\0\0";
	char text[100];
	int fd;

	turn(0);
	turn(0);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(recv(fd, text, sizeof(text), 0), sizeof(want));
	assert_memory_equal(text, want, sizeof(want));
	assert_int_equal(
	    send(fd, reply, strlen(reply), MSG_NOSIGNAL), strlen(reply));
	close(fd);
	for (unsigned i = 0; i < 2; i++)
		turn(s);
}

/* Wait until this process is as old as a JVM must be. */
static void
grow_old(void)
{
	while (proc_age_ns(getpid()) < 3 * NS_PER_S)
		usleep(10000);
}

TEST_WITH(test_written, setup, teardown)
{
	grow_old();
	assert_int_equal(ask(0), -EAGAIN);
	/* Another process waits until this one's is over. */
	assert_int_equal(code_map_ask(&maps, 1, in(0)), -EAGAIN);
	serve("0\n", 0);
	assert_int_equal(maps.written, 1);
	/* It is new enough; and for what is newer, none comes yet. */
	assert_int_equal(ask(-5), 0);
	assert_int_equal(ask(5), 0);
	assert_int_equal(maps.wanted, 0);
	/* When the time has passed, it is asked again. */
	maps.of[0].due = maps.of[CODE_MAPS - 1].due = INSTANT_NONE;
	assert_int_equal(ask(5), -EAGAIN);
	assert_int_equal(maps.wanted, getpid());
}

/* Goal: a JVM that takes long rests for a thousand times as long. */
TEST_WITH(test_rest, setup, teardown)
{
	const struct code_map *m;

	grow_old();
	assert_int_equal(ask(0), -EAGAIN);
	serve("0\n", 1);
	m = &maps.of[CODE_MAPS - 1];
	assert_int_equal(m->pid, getpid());
	assert_true(instant_since(m->due, in(0)) > 900 * NS_PER_S);
}

TEST_WITH(test_failed, setup, teardown)
{
	grow_old();
	assert_int_equal(ask(0), -EAGAIN);
	serve("1\nno such command\n", 0);
	assert_int_equal(maps.failed, 1);
	assert_int_equal(ask(0), -EACCES);
}

/* Goal: no order reaches the JVM. */
static void
refused(void)
{
	grow_old();
	assert_int_equal(ask(0), -EAGAIN);
	for (unsigned i = 0; i < 4; i++)
		turn(0);
	assert_int_equal(maps.failed, 1);
	assert_true(ask(0) < 0 && ask(0) != -EAGAIN);
	assert_int_equal(maps.load.fd, -1);
}

TEST_WITH(test_link, setup, teardown)
{
	assert_int_equal(symlink("/tmp/nothing", map), 0);
	refused();
}

TEST_WITH(test_second_name, setup, teardown)
{
	char other[80];

	snprintf(other, sizeof(other), "%s.other", map);
	fclose(fopen(map, "w"));
	assert_int_equal(link(map, other), 0);
	refused();
	unlink(other);
}

TEST_WITH(test_forbidden, setup, teardown)
{
	process.server.agent = false;
	refused();
}

TEST_WITH(test_not_a_server, setup, teardown)
{
	grow_old();
	process.pid = 0;
	assert_int_equal(ask(0), -EAGAIN);
	turn(0);
	assert_int_equal(ask(0), -EACCES);
	assert_int_equal(maps.failed, 0);
}
