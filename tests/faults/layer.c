/*
 * layer.c: see layer.h.
 *
 * A FAULT_CALL is one function that can fail; the Makefile reads their names
 * off the beginnings of these lines.
 */
#include "tests/faults/layer.h"

#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cjson/cJSON.h>

static struct fault_page own;
static struct fault_page *page = &own;
static __thread bool inside; /* what the layer itself calls goes well */

extern const char __executable_start, _end;
#pragma weak cJSON_InitHooks

void
fault_arm(uint64_t kinds, uint64_t skip, uint64_t left)
{
	page->left = 0;
	page->kinds = kinds;
	page->path = 0;
	page->skip = skip;
	page->left = left;
}

uint64_t
fault_failed(void)
{
	return page->failed;
}

/* The place of a path in the table, made if it has none; NULL: full. */
static struct fault_path *
path_find(enum fault_kind kind, const char *what, const uint64_t *at)
{
	uint64_t key = UINT64_C(0xcbf29ce484222325) + (unsigned)kind;

	for (int i = 0; i < FAULT_DEPTH; i++)
		key = (key ^ at[i]) * UINT64_C(0x100000001b3) ^ key >> 29;
	key |= 1;
	for (unsigned i = 0; i < FAULT_PATHS; i++) {
		struct fault_path *p = &page->paths[(key + i) % FAULT_PATHS];
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&p->key, &found, key)) {
			p->kind = kind;
			strncpy(p->what, what, sizeof(p->what) - 1);
			memcpy(p->at, at, sizeof(p->at));
			return p;
		}
		if (found == key)
			return p;
	}
	page->overflow++;
	return NULL;
}

/* From the program's beginning; 0 of a library's, which lie anywhere. */
static uint64_t
offset_of(const void *address)
{
	const char *at = address;

	return at >= &__executable_start && at < &_end
		   ? (uint64_t)(at - &__executable_start)
		   : 0;
}

/* Take one off a counter that stays above nothing. */
static bool
count_down(_Atomic uint64_t *counter)
{
	uint64_t n = *counter;

	while (n > 0)
		if (atomic_compare_exchange_weak(counter, &n, n - 1))
			return true;
	return false;
}

/* Whether this call is to fail.  Keeps errno if not. */
static bool __attribute__((noinline))
strikes(enum fault_kind kind, const char *what, int error)
{
	void *frames[FAULT_DEPTH + 4];
	uint64_t at[FAULT_DEPTH] = {0};
	struct fault_path *path = NULL;
	const void *wrapper = __builtin_return_address(0);
	int kept = errno, n, first = 0;

	if (inside || (page->record == 0 && page->left == 0))
		return false;
	inside = true;
	page->calls[kind]++;
	if (page->record != 0) {
		/* A sanitizer's frame, this function's, the wrapper's, which
		 * is the one we return to, and then the caller's. */
		n = backtrace(frames, FAULT_DEPTH + 4);
		while (first < n && frames[first] != wrapper)
			first++;
		for (int i = 0; i < FAULT_DEPTH && first + 1 + i < n; i++)
			at[i] = offset_of(frames[first + 1 + i]);
		path = path_find(kind, what, at);
	}
	if (path != NULL)
		path->calls++;
	inside = false;
	errno = kept;
	if (page->left == 0 || (page->kinds >> kind & 1) == 0 ||
	    (page->path != 0 && (path == NULL || page->path != path->key)) ||
	    count_down(&page->skip) || !count_down(&page->left))
		return false;
	page->failed++;
	if (path != NULL)
		path->failed++;
	errno = error;
	return true;
}

#define FAULT_CALL(name, kind, error, type, bad, parameters, arguments) \
	type __real_##name parameters;                                  \
	type __wrap_##name parameters;                                  \
	type __wrap_##name parameters                                   \
	{                                                               \
		return strikes(FAULT_##kind, #name, error)              \
			   ? bad                                        \
			   : __real_##name arguments;                   \
	}

/* clang-format off */
FAULT_CALL(malloc, ALLOC, ENOMEM, void *, NULL, (size_t n), (n))
FAULT_CALL(calloc, ALLOC, ENOMEM, void *, NULL, (size_t n, size_t s), (n, s))
FAULT_CALL(realloc, ALLOC, ENOMEM, void *, NULL, (void *p, size_t n), (p, n))
FAULT_CALL(aligned_alloc, ALLOC, ENOMEM, void *, NULL,
    (size_t align, size_t n), (align, n))
FAULT_CALL(strdup, ALLOC, ENOMEM, char *, NULL, (const char *s), (s))
FAULT_CALL(vasprintf, ALLOC, ENOMEM, int, -1,
    (char **out, const char *format, va_list a), (out, format, a))
FAULT_CALL(open_memstream, ALLOC, ENOMEM, FILE *, NULL,
    (char **text, size_t *length), (text, length))

FAULT_CALL(accept, ACCEPT, EMFILE, int, -1,
    (int fd, struct sockaddr *a, socklen_t *length), (fd, a, length))
FAULT_CALL(accept4, ACCEPT, EMFILE, int, -1,
    (int fd, struct sockaddr *a, socklen_t *length, int flags),
    (fd, a, length, flags))

FAULT_CALL(socket, CONNECT, EMFILE, int, -1,
    (int family, int type, int protocol), (family, type, protocol))
FAULT_CALL(connect, CONNECT, EADDRNOTAVAIL, int, -1,
    (int fd, const struct sockaddr *a, socklen_t length), (fd, a, length))

FAULT_CALL(write, WRITE, ENOSPC, ssize_t, -1,
    (int fd, const void *data, size_t n), (fd, data, n))
FAULT_CALL(pwrite, WRITE, ENOSPC, ssize_t, -1,
    (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
FAULT_CALL(pwrite64, WRITE, ENOSPC, ssize_t, -1,
    (int fd, const void *data, size_t n, off_t at), (fd, data, n, at))
FAULT_CALL(writev, WRITE, EPIPE, ssize_t, -1,
    (int fd, const struct iovec *v, int n), (fd, v, n))
FAULT_CALL(send, WRITE, EPIPE, ssize_t, -1,
    (int fd, const void *data, size_t n, int flags), (fd, data, n, flags))
FAULT_CALL(sendto, WRITE, EPIPE, ssize_t, -1,
    (int fd, const void *data, size_t n, int flags, const struct sockaddr *a,
	socklen_t length), (fd, data, n, flags, a, length))
FAULT_CALL(sendmsg, WRITE, EPIPE, ssize_t, -1,
    (int fd, const struct msghdr *m, int flags), (fd, m, flags))
FAULT_CALL(eventfd_write, WRITE, EBADF, int, -1,
    (int fd, eventfd_t n), (fd, n))

FAULT_CALL(read, READ, EIO, ssize_t, -1,
    (int fd, void *data, size_t n), (fd, data, n))
FAULT_CALL(pread, READ, EIO, ssize_t, -1,
    (int fd, void *data, size_t n, off_t at), (fd, data, n, at))
FAULT_CALL(pread64, READ, EIO, ssize_t, -1,
    (int fd, void *data, size_t n, off_t at), (fd, data, n, at))
FAULT_CALL(readv, READ, ECONNRESET, ssize_t, -1,
    (int fd, const struct iovec *v, int n), (fd, v, n))
FAULT_CALL(recvmsg, READ, ECONNRESET, ssize_t, -1,
    (int fd, struct msghdr *m, int flags), (fd, m, flags))
FAULT_CALL(recv, READ, ECONNRESET, ssize_t, -1,
    (int fd, void *data, size_t n, int flags), (fd, data, n, flags))

FAULT_CALL(eventfd, EVENT, EMFILE, int, -1,
    (unsigned n, int flags), (n, flags))
FAULT_CALL(timerfd_create, EVENT, EMFILE, int, -1,
    (int clock, int flags), (clock, flags))
FAULT_CALL(socketpair, EVENT, EMFILE, int, -1,
    (int family, int type, int protocol, int fd[2]),
    (family, type, protocol, fd))
FAULT_CALL(epoll_create1, EVENT, EMFILE, int, -1, (int flags), (flags))

FAULT_CALL(memfd_create, OPEN, EMFILE, int, -1,
    (const char *name, unsigned flags), (name, flags))
FAULT_CALL(fopen, OPEN, EMFILE, FILE *, NULL,
    (const char *path, const char *mode), (path, mode))
FAULT_CALL(opendir, OPEN, EMFILE, DIR *, NULL, (const char *path), (path))
FAULT_CALL(mmap, OPEN, ENOMEM, void *, MAP_FAILED,
    (void *at, size_t n, int protect, int flags, int fd, off_t from),
    (at, n, protect, flags, fd, from))
FAULT_CALL(mmap64, OPEN, ENOMEM, void *, MAP_FAILED,
    (void *at, size_t n, int protect, int flags, int fd, off_t from),
    (at, n, protect, flags, fd, from))
FAULT_CALL(ftruncate64, OPEN, ENOSPC, int, -1, (int fd, off_t n), (fd, n))
FAULT_CALL(ftruncate, OPEN, ENOSPC, int, -1, (int fd, off_t n), (fd, n))
FAULT_CALL(listen, OPEN, EADDRINUSE, int, -1, (int fd, int n), (fd, n))
FAULT_CALL(fork, OPEN, EAGAIN, pid_t, -1, (void), ())
FAULT_CALL(pthread_create, OPEN, EAGAIN, int, EAGAIN,
    (pthread_t *thread, const pthread_attr_t *a, void *(*run)(void *),
	void *user), (thread, a, run, user))
/* clang-format on */

/* Those with arguments to be counted. */
int __wrap_asprintf(char **out, const char *format, ...);
int __real_openat(int directory, const char *path, int flags, ...);
int __wrap_openat(int directory, const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

/* The kernel needs memory to begin watching, not to change its mind. */
int __real_epoll_ctl(int fd, int what, int of, struct epoll_event *e);
int __wrap_epoll_ctl(int fd, int what, int of, struct epoll_event *e);

int
__wrap_epoll_ctl(int fd, int what, int of, struct epoll_event *e)
{
	if (what == EPOLL_CTL_ADD && strikes(FAULT_EVENT, "epoll_ctl", ENOSPC))
		return -1;
	return __real_epoll_ctl(fd, what, of, e);
}

int
__wrap_asprintf(char **out, const char *format, ...)
{
	va_list args;
	int n = -1;

	if (strikes(FAULT_ALLOC, "asprintf", ENOMEM))
		return -1;
	va_start(args, format);
	n = __real_vasprintf(out, format, args);
	va_end(args);
	return n;
}

int
__wrap_openat(int directory, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	if (strikes(FAULT_OPEN, "openat", EMFILE))
		return -1;
	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	return __real_openat(directory, path, flags, mode);
}

int
__wrap_open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	if (strikes(FAULT_OPEN, "open", EMFILE))
		return -1;
	va_start(args, flags);
	mode = (flags & O_CREAT) != 0 ? va_arg(args, mode_t) : 0;
	va_end(args);
	return __real_openat(AT_FDCWD, path, flags, mode);
}

/* SQLite's, which always gives a mode. */
int
__wrap_open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	if (strikes(FAULT_OPEN, "open64", EMFILE))
		return -1;
	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return __real_openat(AT_FDCWD, path, flags, mode);
}

static void __attribute__((constructor)) fault_begin(void)
{
	const char *path = getenv("TAILOR_FAULTS");
	void *frames[1];
	void *shared;
	int fd;

	backtrace(frames, 1); /* loads what it needs the first time */
	if (cJSON_InitHooks != NULL)
		cJSON_InitHooks(&(cJSON_Hooks){__wrap_malloc, free});
	if (path == NULL)
		return;
	fd = __real_openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	shared = __real_mmap(
	    NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || shared == MAP_FAILED) {
		perror(path);
		abort();
	}
	close(fd);
	page = shared;
}
