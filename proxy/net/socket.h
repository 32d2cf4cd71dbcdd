/* socket.h: what proxy code asks of a socket, reading and connecting left
 * out. */
#pragma once

#include <linux/sockios.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Write what lies in count places (1 to IOV_MAX): sendmsg in its result and
 * errors, but without a signal from a lost connection.
 *   flags  MSG_MORE or 0
 * Short pieces are copied into one first: the kernel takes longer to accept a
 * list of them (0.2 us) than their copying does. */
ssize_t socket_send(int fd, struct iovec *iov, int count, int flags);

/* The kernel's name for a socket, by which its events are known (SO_COOKIE),
 * never used twice; 0 if it has none.  One system call: ask once. */
static inline uint64_t
socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0)
		return 0;
	return cookie;
}

/* The state of a connect() that was to take a while: 0, EINPROGRESS, or the
 * errno with which it failed.  On one machine it is done when connect()
 * returns, unless the peer's backlog is full. */
int socket_connected(int fd);

/* True if a TCP socket is connected to itself: connect() to a port of this
 * machine on which no process listens may choose it as its own. */
bool socket_is_own_peer(int fd);

/* True if the peer of a socket is known to neither read nor write any more. */
bool socket_is_gone(int fd);

/* Let close() send a reset: the peer must not take the end for a good one. */
static inline void
socket_reset_on_close(int fd)
{
	struct linger l = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

/* How many bytes have arrived and are not read yet. */
static inline uint64_t
socket_unread_bytes(int fd)
{
	int n = 0;

	return ioctl(fd, FIONREAD, &n) < 0 || n < 0 ? 0 : (uint64_t)n;
}

/* How much of what was sent lies in the kernel still, not acknowledged (of a
 * Unix socket: not read, and in another unit).  It only says whether the peer
 * takes anything: a full socket is writable again long after that. */
static inline uint64_t
socket_queued_bytes(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) < 0 || n < 0 ? 0 : (uint64_t)n;
}
