/* socket.c: sending on a socket, and queries of its state. */
#include "proxy/net/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#define GATHER_MAX 4096 /* most bytes to copy together */

/* Copy all pieces to out, one after another.  Returns the number of bytes, or 0
 * if they do not fit. */
static size_t
gather(char out[static GATHER_MAX], const struct iovec *iov, int count)
{
	size_t n = 0;

	for (int i = 0; i < count; i++) {
		if (iov[i].iov_len > GATHER_MAX - n)
			return 0;
		memcpy(out + n, iov[i].iov_base, iov[i].iov_len);
		n += iov[i].iov_len;
	}
	return n;
}

ssize_t
socket_send(int fd, struct iovec *iov, int count, int flags)
{
	struct msghdr list = {.msg_iov = iov, .msg_iovlen = (size_t)count};
	char together[GATHER_MAX];
	size_t n;

	flags |= MSG_NOSIGNAL;
	if (count == 1)
		return send(fd, iov->iov_base, iov->iov_len, flags);
	n = gather(together, iov, count);
	return n > 0 ? send(fd, together, n, flags) : sendmsg(fd, &list, flags);
}

int
socket_connected(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t size = sizeof(int);
	int err = 0;

	if (poll(&p, 1, 0) <= 0)
		return EINPROGRESS;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) < 0 ? errno
								     : err;
}

bool
socket_is_own_peer(int fd)
{
	struct sockaddr_storage here = {0}, there = {0};
	socklen_t size = sizeof(here), peer_size = sizeof(there);

	return getsockname(fd, (struct sockaddr *)&here, &size) == 0 &&
	       here.ss_family != AF_UNIX &&
	       getpeername(fd, (struct sockaddr *)&there, &peer_size) == 0 &&
	       size == peer_size && memcmp(&here, &there, size) == 0;
}

bool
socket_is_gone(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}
