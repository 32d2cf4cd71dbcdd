/*
 * noquickack.c: a Tailor without its cure for delayed acknowledgements.
 *
 * Tailor asks for TCP_QUICKACK where more of a response is to come, so a server
 * with Nagle on never waits for it (proxy/upstream/exchange.c).  To see whether
 * a timeline reports that wait where the server is to blame, the suite loads
 * this under one tailor with LD_PRELOAD: the request for quick acknowledgements
 * is granted and forgotten.
 */
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>

int
setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	static int (*next)(int, int, int, const void *, socklen_t);

	if (level == IPPROTO_TCP && name == TCP_QUICKACK)
		return 0;
	if (next == NULL)
		next = (int (*)(int, int, int, const void *, socklen_t))dlsym(
		    RTLD_NEXT, "setsockopt");
	return next(fd, level, name, value, size);
}
