/*
 * test_kernel_peer.c: goal: another process of this machine that ends a
 * server's wait is named, and watched from then on, within its limits.
 *
 * The server and the others are children: the server sends a byte on each
 * order, and waits for one.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loopback.h"

#define TRIES 50 /* on a busy machine the byte may be there before it sleeps */

/* --- the children --------------------------------------------------------- */

/* order: the server's ends of two pipes with the test. */
struct cast {
	struct recording r;
	int order[2];
	pid_t server, other;
	uint16_t port; /* of the server's end, if it is TCP */
};

/* A child that ends with this process; 0 in the child. */
static pid_t
child_fork(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

/* For each byte of order, send one to fd and receive one; then confirm. */
static void
serve(const int order[2], int fd)
{
	char c;

	while (read(order[0], &c, 1) == 1)
		if (write(fd, &c, 1) != 1 || read(fd, &c, 1) != 1 ||
		    write(order[1], &c, 1) != 1)
			_exit(1);
	_exit(0);
}

/* Send back each byte after a nap. */
static void
respond(int fd, useconds_t nap_us)
{
	char c;

	while (read(fd, &c, 1) == 1)
		if ((nap_us > 0 && usleep(nap_us) != 0) ||
		    write(fd, &c, 1) != 1)
			_exit(1);
	_exit(0);
}

static void
connection_open(bool tcp, int fd[2])
{
	struct pair p;

	if (!tcp) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
		return;
	}
	pair_open(&p, NULL, AF_INET);
	fd[0] = p.client;
	fd[1] = p.server;
	close(p.listener);
}

static pid_t
child_start(int fd, int unused, const int *order, useconds_t nap_us)
{
	pid_t pid = child_fork();

	if (pid != 0)
		return pid;
	close(unused);
	if (order != NULL)
		serve(order, fd);
	respond(fd, nap_us);
	_exit(0);
}

static void
cast_open(struct cast *c, bool tcp, useconds_t nap_us)
{
	int fd[2], out[2], in[2];

	recording_open_usual(&c->r);
	recording_need(&c->r, PROFILER_SIGNAL_SCHEDULER);
	recording_need(&c->r, PROFILER_SIGNAL_SOCKET);
	connection_open(tcp, fd);
	c->port = tcp ? port_of(fd[0]) : 0;
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(in), 0);
	c->other = child_start(fd[1], fd[0], NULL, nap_us);
	c->server = child_start(fd[0], fd[1], (const int[]){out[0], in[1]}, 0);
	close(fd[0]);
	close(fd[1]);
	close(out[0]);
	close(in[1]);
	c->order[0] = out[1];
	c->order[1] = in[0];
	assert_int_equal(kernel_watch(c->r.kernel, 0, c->server, false), 0);
}

static void
cast_close(struct cast *c)
{
	kill(c->server, SIGKILL);
	kill(c->other, SIGKILL);
	assert_int_equal(waitpid(c->server, NULL, 0), c->server);
	assert_int_equal(waitpid(c->other, NULL, 0), c->other);
	close(c->order[0]);
	close(c->order[1]);
	recording_close(&c->r);
}

/* Have the server ask the other one. */
static void
ask(struct cast *c)
{
	char x = 'x';

	assert_int_equal(write(c->order[0], &x, 1), 1);
	assert_int_equal(read(c->order[1], &x, 1), 1);
}

static bool
is_by(const struct talechain_event *e, const void *pid)
{
	return e->pid == *(const uint32_t *)pid;
}

/* Ask until an event names the other process; the event, whose recording has
 * the events since the last order. */
static const struct talechain_event *
peer_of(struct cast *c)
{
	uint32_t other = (uint32_t)c->other;
	int i = -1;

	for (unsigned k = 0; i < 0 && k < TRIES; k++) {
		recording_begin(&c->r);
		ask(c);
		recording_end(&c->r);
		i = recording_find(&c->r, 0, TALECHAIN_PEER, is_by, &other);
	}
	assert_true(i >= 0);
	assert_int_equal(c->r.event[i].tid, other);
	return &c->r.event[i];
}

static enum talechain_peer
state_of(const struct talechain_event *e)
{
	return (enum talechain_peer)low(e->arg[1]);
}

/* --- tests ---------------------------------------------------------------- */

/* Goal: the first event of a process names it and says that it was not watched;
 * the next ones say since when it is, and what it does is reported. */
static void
check_watched(bool tcp)
{
	const struct talechain_event *e;
	uint32_t other;
	uint64_t since;
	struct cast c;

	cast_open(&c, tcp, 2000);
	other = (uint32_t)c.other;
	e = peer_of(&c);
	assert_int_equal(state_of(e), TALECHAIN_PEER_NEW);
	assert_int_equal(e->arg[3], 0);
	since = e->ts;
	e = peer_of(&c);
	assert_int_equal(state_of(e), TALECHAIN_PEER_WATCHED);
	assert_int_equal(e->arg[3], since);
	assert_int_equal(e->arg[0], tcp ? 0 : c.server);
	assert_int_equal(high(e->arg[1]) & UINT16_MAX, c.port);
	if (tcp)
		assert_int_equal(low(e->arg[2]), 1);
	/* It received the byte, fell asleep, got a CPU again and sent. */
	assert_true(
	    recording_find(&c.r, 0, TALECHAIN_SCHEDULE, is_by, &other) >= 0);
	cast_close(&c);
}

TEST(test_unix_socket)
{
	check_watched(false);
}

TEST(test_tcp)
{
	check_watched(true);
}

/* Goal: a process for which no server waited for a whole period is not watched
 * any more, and again after its next event. */
TEST(test_left)
{
	struct cast c;

	cast_open(&c, false, 2000);
	peer_of(&c);
	kernel_peers_age(c.r.kernel);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_WATCHED);
	kernel_peers_age(c.r.kernel);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_WATCHED);
	kernel_peers_age(c.r.kernel);
	kernel_peers_age(c.r.kernel);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_NEW);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_NEW);
	kernel_peers_age(c.r.kernel);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_NEW);
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_WATCHED);
	cast_close(&c);
}

/* Goal: a peer is no server's process; it may become one, and stays one. */
TEST(test_owner)
{
	const struct kernel_owners *owners;
	uint32_t other;
	struct cast c;

	cast_open(&c, false, 2000);
	owners = kernel_channel(c.r.kernel, 0)->owners;
	other = (uint32_t)c.other;
	peer_of(&c);
	assert_false(kernel_watches(c.r.kernel, c.other));
	assert_int_equal(kernel_owner_of(owners, other), -1);
	assert_int_equal(kernel_watch(c.r.kernel, 1, c.other, true), 0);
	assert_int_equal(kernel_owner_of(owners, other), 1);
	kernel_peers_age(c.r.kernel);
	kernel_peers_age(c.r.kernel);
	assert_true(kernel_watches(c.r.kernel, c.other));
	assert_int_equal(state_of(peer_of(&c)), TALECHAIN_PEER_WATCHED);
	cast_close(&c);
}
