/* Makes calls fail in the program it is preloaded into, by environment:
 *   FAULT_AGAIN=n   each n-th recv, send and sendmsg says EAGAIN
 *   FAULT_SHORT=n   send and sendmsg take n bytes at most
 *   FAULT_MALLOC=n  SIGUSR2 makes malloc of n bytes and more fail, and work
 *                   again, in turns; it says so on standard error */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static long again, most, block;
static volatile sig_atomic_t failing;
static __thread unsigned calls;

static void *(*real_malloc)(size_t);
static ssize_t (*real_recv)(int, void *, size_t, int);
static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);

static void
on_signal(int number)
{
	static const char fails[] = "malloc fails\n",
			  works[] = "malloc works\n";

	(void)number;
	failing = !failing;
	if (write(2, failing ? fails : works, sizeof(fails) - 1) < 0)
		_exit(9);
}

static long
setting(const char *name)
{
	const char *text = getenv(name);

	return text != NULL ? atol(text) : 0;
}

__attribute__((constructor)) static void
begin(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_recv =
	    (ssize_t(*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	real_send = (ssize_t(*)(int, const void *, size_t, int))dlsym(
	    RTLD_NEXT, "send");
	real_sendmsg = (ssize_t(*)(int, const struct msghdr *, int))dlsym(
	    RTLD_NEXT, "sendmsg");
	again = setting("FAULT_AGAIN");
	most = setting("FAULT_SHORT");
	block = setting("FAULT_MALLOC");
	if (block > 0)
		signal(SIGUSR2, on_signal);
}

void *
malloc(size_t size)
{
	if (real_malloc == NULL)
		real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	if (failing && size >= (size_t)block) {
		errno = ENOMEM;
		return NULL;
	}
	return real_malloc(size);
}

static int
storm(void)
{
	if (again == 0 || ++calls % (unsigned)again != 0)
		return 0;
	errno = EAGAIN;
	return 1;
}

ssize_t
recv(int fd, void *buffer, size_t size, int flags)
{
	return storm() ? -1 : real_recv(fd, buffer, size, flags);
}

ssize_t
send(int fd, const void *data, size_t size, int flags)
{
	if (storm())
		return -1;
	if (most > 0 && size > (size_t)most)
		size = (size_t)most;
	return real_send(fd, data, size, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct iovec first;
	struct msghdr less = *m;

	if (storm())
		return -1;
	if (most > 0 && m->msg_iovlen > 0) {
		first = m->msg_iov[0];
		if (first.iov_len > (size_t)most)
			first.iov_len = (size_t)most;
		less.msg_iov = &first;
		less.msg_iovlen = 1;
	}
	return real_sendmsg(fd, &less, flags);
}
