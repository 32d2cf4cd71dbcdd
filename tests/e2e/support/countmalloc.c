/*
 * countmalloc.c: an LD_PRELOAD that counts allocations of the main thread.
 *
 * On SIGUSR2 it writes "mallocs N" to standard error.  For the test that a
 * forwarded request allocates nothing.
 */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static volatile unsigned long count;
static __thread int is_main = -1;

static void
note(void)
{
	if (is_main < 0)
		is_main = syscall(SYS_gettid) == getpid();
	count += is_main > 0;
}

void *
malloc(size_t n)
{
	note();
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	note();
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	note();
	return __libc_realloc(p, n);
}

static void
report(int signal)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "mallocs %lu\n", count);

	(void)signal;
	if (write(2, text, (size_t)n) < 0)
		return;
}

__attribute__((constructor)) static void
begin(void)
{
	signal(SIGUSR2, report);
}
