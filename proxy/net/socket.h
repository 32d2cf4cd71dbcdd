/* socket.h: socket operations of the proxy, except reading and connecting. */
#pragma once

#include <linux/sockios.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Write count pieces (1 to IOV_MAX), with sendmsg's result and errors, but
 * without a signal from a lost connection.
 *   flags  MSG_MORE or 0
 * Short pieces are copied into one first: a list costs 0.2 us more in the
 * kernel, the copy less than that. */
ssize_t socket_send(int fd, struct iovec *iov, int count, int flags);

/* The kernel's id of a socket (SO_COOKIE), which events of the kernel carry;
 * never used twice; 0 if it has none.  Costs a system call: keep the result. */
static inline uint64_t
socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0)
		return 0;
	return cookie;
}

/* The state of a connect() that returned EINPROGRESS: 0 if connected,
 * EINPROGRESS, or the errno with which it failed.  On one machine it is done
 * when connect() returns, unless the peer's backlog is full. */
int socket_connected(int fd);

/* True if a TCP socket is connected to itself: connect() to a port of this
 * machine on which no process listens may choose it as its own. */
bool socket_is_own_peer(int fd);

/* True if a socket's connection is known to be closed in both directions. */
bool socket_is_gone(int fd);

/* Make close() send a reset, so that the peer does not take the end of the
 * connection for the proper end of its data. */
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

/* How many bytes that were sent are not acknowledged yet (for a Unix socket:
 * not read, and in another unit).  Use a change of it only as a sign that the
 * peer takes bytes: a full socket becomes writable again much later. */
static inline uint64_t
socket_queued_bytes(int fd)
{
	int n = 0;

	return ioctl(fd, SIOCOUTQ, &n) < 0 || n < 0 ? 0 : (uint64_t)n;
}
