/* Goal: the kernel's stamps of bytes sent name these bytes, also if the socket
 * was still connecting when they were switched on, as it is with a server on
 * another machine. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loadgen/send/stamps.h"

#define OPT_ID_TCP (1 << 16)
#define PATIENCE_MS 60000

static bool before_6_2; /* the kernel does not know OPT_ID_TCP */

int
setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	int flags = 0;

	if (level == SOL_SOCKET && name == SO_TIMESTAMPING)
		memcpy(&flags, value, sizeof(flags));
	if (before_6_2 && (flags & OPT_ID_TCP) != 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

/* Begin to connect a socket to a listener. */
static int
begin(int listener)
{
	struct sockaddr_in to;
	socklen_t length = sizeof(to);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	assert_int_equal(
	    getsockname(listener, (struct sockaddr *)&to, &length), 0);
	if (connect(fd, (const struct sockaddr *)&to, length) < 0)
		assert_int_equal(errno, EINPROGRESS);
	return fd;
}

static bool
connected(int fd)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

static void
wait_for(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

/* Send bytes; both stamps must have the number of the last one. */
static void
send_stamped(int fd, const char *bytes, uint32_t last_byte)
{
	bool sent = false, acked = false;
	struct stamp stamp;

	assert_int_equal(send(fd, bytes, strlen(bytes), 0), strlen(bytes));
	while (!sent || !acked) {
		wait_for(fd, 0); /* stamps are POLLERR */
		while (stamps_read_sent(fd, 0, &stamp)) {
			assert_int_equal(stamp.last_byte, last_byte);
			*(stamp.acked ? &acked : &sent) = true;
		}
	}
}

TEST(test_while_connecting)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	const struct sockaddr_in any = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int filler, fd[2];

	assert_int_equal(
	    bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
	/* There is room for one; the others' SYNs are dropped. */
	assert_int_equal(listen(listener, 0), 0);
	filler = begin(listener);
	wait_for(filler, POLLOUT);
	fd[0] = begin(listener);
	fd[1] = begin(listener);
	assert_false(connected(fd[0]));
	assert_false(connected(fd[1]));
	assert_int_equal(stamps_enable(fd[0], true), STAMPS_ON);
	before_6_2 = true;
	assert_int_equal(stamps_enable(fd[1], true), STAMPS_LATER);
	/* Make room; the SYNs are repeated after a second. */
	assert_int_equal(listen(listener, 2), 0);
	for (unsigned i = 0; i < 2; i++)
		wait_for(fd[i], POLLOUT);
	assert_int_equal(stamps_enable(fd[1], true), STAMPS_ON);
	for (unsigned i = 0; i < 2; i++) {
		send_stamped(fd[i], "hello", 4);
		send_stamped(fd[i], "you", 7);
		close(fd[i]);
	}
	before_6_2 = false;
	close(filler);
	close(listener);
}
