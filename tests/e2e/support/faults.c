/* Makes calls fail in the program it is preloaded into, by environment:
 *   FAULT_AGAIN=n   each n-th recv, send and sendmsg says EAGAIN
 *   FAULT_SHORT=n   send and sendmsg take n bytes at most
 *   FAULT_CONNECT=n connect fails with errno n, after the first
 *   FAULT_AFTER=n   the same, but only after the first n, and once
 *   FAULT_CLOCK=f   CLOCK_MONOTONIC is ahead by the 8 bytes in the file f (ns),
 *                   and each timerfd comes at once
 *   FAULT_IPV6=1    socket knows no IPv6
 *   FAULT_EXEC=1    execvp stops the process first, by SIGSTOP
 * Those that follow fail after SIGUSR2, and work again after the next, in
 * turns; it says so on standard error:
 *   FAULT_MALLOC=n  malloc of n bytes and more
 *   FAULT_THREAD=1  pthread_create
 *   FAULT_WATCH=1   epoll_ctl for a socket that is being connected
 *   FAULT_DISK=n    pwrite, and write to a file, once n bytes were taken */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static long again, most, block, watch, halt, disk, refuse, after, no_ipv6;
static long thread;
static volatile sig_atomic_t failing, room;
static __thread unsigned calls;
static const volatile int64_t *ahead_ns;

static void *(*real_malloc)(size_t);
static ssize_t (*real_recv)(int, void *, size_t, int);
static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_sendmsg)(int, const struct msghdr *, int);
static int (*real_epoll_ctl)(int, int, int, struct epoll_event *);
static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_write)(int, const void *, size_t);
static int (*real_execvp)(const char *, char *const *);
static int (*real_socket)(int, int, int);
static int (*real_connect)(int, const struct sockaddr *, socklen_t);

static void
on_signal(int number)
{
	static const char fails[] = "calls fail\n", works[] = "calls work\n";

	(void)number;
	failing = !failing;
	room = disk;
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
	real_epoll_ctl = (int (*)(int, int, int, struct epoll_event *))dlsym(
	    RTLD_NEXT, "epoll_ctl");
	real_execvp =
	    (int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execvp");
	real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))dlsym(
	    RTLD_NEXT, "pwrite");
	real_write =
	    (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	disk = setting("FAULT_DISK");
	real_connect = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(
	    RTLD_NEXT, "connect");
	refuse = setting("FAULT_CONNECT");
	after = setting("FAULT_AFTER");
	real_socket = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
	no_ipv6 = setting("FAULT_IPV6");
	if (getenv("FAULT_CLOCK") != NULL)
		ahead_ns = mmap(NULL, sizeof(*ahead_ns), PROT_READ, MAP_SHARED,
		    open(getenv("FAULT_CLOCK"), O_RDONLY | O_CLOEXEC), 0);
	halt = setting("FAULT_EXEC");
	again = setting("FAULT_AGAIN");
	most = setting("FAULT_SHORT");
	block = setting("FAULT_MALLOC");
	watch = setting("FAULT_WATCH");
	thread = setting("FAULT_THREAD");
	if (block > 0 || watch > 0 || disk > 0 || thread > 0)
		signal(SIGUSR2, on_signal);
}

void *
malloc(size_t size)
{
	if (real_malloc == NULL)
		real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	if (failing && block > 0 && size >= (size_t)block) {
		errno = ENOMEM;
		return NULL;
	}
	return real_malloc(size);
}

int
pthread_create(pthread_t *out, const pthread_attr_t *attributes,
    void *(*run)(void *), void *user)
{
	static int (*real)(
	    pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (real == NULL)
		real = (int (*)(pthread_t *, const pthread_attr_t *,
		    void *(*)(void *), void *))dlsym(RTLD_NEXT,
		    "pthread_create");
	return failing && thread > 0 ? EAGAIN
				     : real(out, attributes, run, user);
}

int
clock_gettime(clockid_t clock, struct timespec *out)
{
	long err = syscall(SYS_clock_gettime, clock, out);

	if (err == 0 && ahead_ns != NULL && clock == CLOCK_MONOTONIC) {
		int64_t ns = out->tv_nsec + *ahead_ns;

		out->tv_sec += ns / 1000000000;
		out->tv_nsec = ns % 1000000000;
	}
	return (int)err;
}

int
timerfd_settime(
    int fd, int flags, const struct itimerspec *to, struct itimerspec *old)
{
	static const struct itimerspec now = {.it_value.tv_nsec = 1};

	/* It may come too early, but not too late if the clock jumps. */
	if (ahead_ns != NULL) {
		flags = 0;
		to = &now;
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, to, old);
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

/* How much of it a disk takes now; -1: it is not on one, or all. */
static ssize_t
disk_takes(int fd, size_t size)
{
	char path[40], name[8];
	struct stat st;

	if (!failing || disk == 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	/* A memory file has always room. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name)) > 0 &&
	    memcmp(name, "/memfd:", 7) == 0)
		return -1;
	if (size > (size_t)room)
		size = (size_t)room;
	room -= (sig_atomic_t)size;
	errno = ENOSPC;
	return (ssize_t)size;
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t at)
{
	ssize_t n = disk_takes(fd, size);

	if (n == 0)
		return -1;
	return real_pwrite(fd, data, n < 0 ? size : (size_t)n, at);
}

/* The same, as SQLite calls it. */
ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t at)
{
	return pwrite(fd, data, size, at);
}

ssize_t
write(int fd, const void *data, size_t size)
{
	ssize_t n = disk_takes(fd, size);

	if (n == 0)
		return -1;
	return real_write(fd, data, n < 0 ? size : (size_t)n);
}

int
connect(int fd, const struct sockaddr *to, socklen_t length)
{
	static long count;
	long before = count++;

	if (refuse > 0 && (after > 0 ? before == after : before > 0)) {
		errno = (int)refuse;
		return -1;
	}
	return real_connect(fd, to, length);
}

int
socket(int family, int type, int protocol)
{
	if (no_ipv6 > 0 && family == AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return real_socket(family, type, protocol);
}

int
execvp(const char *file, char *const *arguments)
{
	if (halt > 0)
		raise(SIGSTOP);
	return real_execvp(file, arguments);
}

/* A socket, and without a peer yet. */
static int
is_connecting(int fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &length) < 0 &&
	       errno == ENOTCONN;
}

int
epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
	if (failing && watch > 0 && op == EPOLL_CTL_ADD &&
	    (event->events & EPOLLOUT) != 0 && is_connecting(fd)) {
		errno = ENOSPC;
		return -1;
	}
	return real_epoll_ctl(set, op, fd, event);
}
