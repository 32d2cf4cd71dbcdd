/*
 * long_kernel_peer.c: the limits on processes that end a server's waits: how
 * many there are, and how often they switch.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_events.h"

#define CROWD (KERNEL_PEERS + 16)
#define LIMIT_NS (120 * NS_PER_S)

static bool
is_by(const struct talechain_event *e, const void *pid)
{
	return e->pid == *(const uint32_t *)pid;
}

static bool
is_in_state(const struct talechain_event *e, const void *state)
{
	return low(e->arg[1]) == *(const enum talechain_peer *)state;
}

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

/* A child that writes to a pipe again and again until an event names it, and is
 * then stopped. */
static pid_t
writer_start(struct recording *r, int fd)
{
	struct instant limit = instant_plus(instant_now(), LIMIT_NS);
	pid_t pid = child_fork();
	char x = 'x';
	int k = -1;

	while (pid == 0) {
		if (write(fd, &x, 1) != 1)
			_exit(1);
		usleep(1000);
	}
	while (k < 0) {
		assert_true(instant_before(instant_now(), limit));
		usleep(1000);
		recording_end(r);
		k = recording_find(r, 0, TALECHAIN_PEER, is_by, &pid);
	}
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

/* True if the last recording has such an event. */
static bool
has_state(const struct recording *r, enum talechain_peer state)
{
	return recording_find(r, 0, TALECHAIN_PEER, is_in_state, &state) >= 0;
}

/* Goal: processes beyond the limit are named and counted; those that end give
 * back their places. */
TEST(test_crowd)
{
	pid_t server, other[CROWD];
	unsigned refused = 0;
	struct recording r;
	int fd[2];
	char x;

	recording_open_usual(&r);
	assert_int_equal(pipe(fd), 0);
	server = child_fork();
	while (server == 0)
		if (read(fd[0], &x, 1) != 1)
			_exit(1);
	assert_int_equal(kernel_watch(r.kernel, 0, server, false), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		recording_begin(&r);
		other[i] = writer_start(&r, fd[1]);
		refused += has_state(&r, TALECHAIN_PEER_CROWDED);
	}
	assert_true(refused >= CROWD - KERNEL_PEERS);
	assert_true(kernel_tally(r.kernel)->strangers >= refused);
	for (unsigned i = 0; i < CROWD; i++) {
		kill(other[i], SIGKILL);
		assert_int_equal(waitpid(other[i], NULL, 0), other[i]);
	}
	recording_begin(&r);
	other[0] = writer_start(&r, fd[1]);
	assert_true(has_state(&r, TALECHAIN_PEER_NEW));
	kill(other[0], SIGKILL);
	kill(server, SIGKILL);
	assert_int_equal(waitpid(other[0], NULL, 0), other[0]);
	assert_int_equal(waitpid(server, NULL, 0), server);
	recording_close(&r);
}

/* Pass a byte on for ever. */
static void
pass(int from, int to)
{
	char x = 'x';

	while (read(from, &x, 1) == 1 && write(to, &x, 1) == 1)
		;
	_exit(1);
}

/* Goal: a process that switches too often is left out, counted, and taken again
 * after a period.  Two children keep each other awake. */
TEST(test_busy)
{
	struct instant limit = instant_plus(instant_now(), LIMIT_NS);
	int there[2], back[2];
	pid_t server, other;
	struct recording r;

	recording_open_usual(&r);
	assert_int_equal(pipe(there), 0);
	assert_int_equal(pipe(back), 0);
	other = child_fork();
	if (other == 0)
		pass(there[0], back[1]);
	server = child_fork();
	if (server == 0)
		pass(back[0], there[1]);
	assert_int_equal(kernel_watch(r.kernel, 0, server, false), 0);
	assert_int_equal(write(there[1], "x", 1), 1);
	while (kernel_tally(r.kernel)->restless == 0) {
		assert_true(instant_before(instant_now(), limit));
		usleep(1000);
	}
	recording_begin(&r);
	while (!has_state(&r, TALECHAIN_PEER_BUSY)) {
		assert_true(instant_before(instant_now(), limit));
		recording_begin(&r);
		usleep(1000);
		recording_end(&r);
	}
	recording_begin(&r);
	kernel_peers_age(r.kernel);
	usleep(1000);
	while (!has_state(&r, TALECHAIN_PEER_NEW)) {
		assert_true(instant_before(instant_now(), limit));
		recording_end(&r);
		usleep(1000);
	}
	kill(server, SIGKILL);
	kill(other, SIGKILL);
	assert_int_equal(waitpid(server, NULL, 0), server);
	assert_int_equal(waitpid(other, NULL, 0), other);
	recording_close(&r);
}
