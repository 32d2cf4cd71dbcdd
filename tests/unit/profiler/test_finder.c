/*
 * Goal: which processes are the server at an address, by what the kernel shows
 * of sockets and processes.
 */
#include "children.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/processes/finder.h"
#include "profiler/processes/proc.h"

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

/* Goal: processes that each have a socket of their own on one address are one
 * server, also if one of them comes later. */
TEST(test_reuseport)
{
	struct sockaddr_storage a = loopback_address();
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
	struct sockaddr_storage a = loopback_address();
	struct family found;
	int s = listen_on(&a, SO_REUSEADDR);
	char name[PROC_NAME_BYTES];
	pid_t pid[2];

	prctl(PR_SET_NAME, "systemd");
	pid[0] = child_new();
	prctl(PR_SET_NAME, "test_finder");
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

/* Goal: to another user the process is hidden, and its owner is reported. */
TEST(test_foreign)
{
	struct sockaddr_storage a = loopback_address();
	enum finder_result r;
	struct finder f;
	struct family found;
	pid_t pid, other;
	int status;

	if (geteuid() != 0)
		unit_skip("only root can become another user");
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
	assert_true(proc_maps(getpid(), "test_finder", false));
	assert_false(proc_maps(getpid(), "libjvm.so", false));
	child_kill(pid);
	assert_true(proc_uid(pid, &uid) < 0);
	assert_true(proc_pidfd(pid) < 0);
	assert_int_equal(proc_parent(pid), 0);
}
