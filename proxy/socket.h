/*
 * socket.h: what proxy code asks of a socket beyond reading and writing.
 */
#ifndef TAILOR_PROXY_SOCKET_H
#define TAILOR_PROXY_SOCKET_H

#include <stdint.h>
#include <sys/socket.h>

/*
 * The kernel's name for a socket, by which its events are known (SO_COOKIE),
 * never used twice; 0 if it has none.  One system call: ask once.
 */
static inline uint64_t
socket_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) < 0)
		return 0;
	return cookie;
}

#endif
