/* sigbus_guard.c: the SIGBUS handler.
 *
 * The handler uses only atomics, mmap() and nanosleep(), which on Linux are
 * bare system calls.  It runs on the thread that read the hole: the observer,
 * the proxy thread in observer_look(), or a tailorctl that follows a stream. */
#include "base/sigbus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/instant.h"

#define GUARDS 16
/* How long a repair waits for memory before the process dies. */
#define FILL_PAUSE_NS (1 * NS_PER_MS)
#define FILL_TRIES 1000

/* start is stored last and cleared first: nonzero means the rest is valid. */
static struct guard {
	uintptr_t start;
	size_t bytes;
	uint32_t *dead;
} guards[GUARDS];
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before; /* the previous handler */
static uintptr_t machine_page;

/* Map memory over the hole; retry while there is none. */
static bool
fault_fill(uintptr_t at)
{
	struct timespec pause = {.tv_nsec = FILL_PAUSE_NS};

	for (unsigned i = 0; i < FILL_TRIES; i++) {
		/* MAP_FIXED at the hole. */
		if (mmap((void *)at, machine_page, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			0) != MAP_FAILED)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool
fault_repair(uintptr_t at)
{
	uintptr_t start;

	for (unsigned i = 0; i < GUARDS; i++) {
		start = __atomic_load_n(&guards[i].start, __ATOMIC_ACQUIRE);
		if (start == 0 || at < start || at - start >= guards[i].bytes)
			continue;
		__atomic_store_n(guards[i].dead, 1, __ATOMIC_RELEASE);
		return fault_fill(at & ~(machine_page - 1));
	}
	return false;
}

static void
on_bus_error(int signal, siginfo_t *info, void *context)
{
	int saved = errno;
	bool repaired = info->si_code == BUS_ADRERR &&
			fault_repair((uintptr_t)info->si_addr);

	errno = saved;
	if (repaired)
		return;
	if (before.sa_flags & SA_SIGINFO) {
		before.sa_sigaction(signal, info, context);
	} else if (before.sa_handler != SIG_DFL &&
		   before.sa_handler != SIG_IGN) {
		before.sa_handler(signal);
	} else {
		/* Not ours: restore the old handler and fault again. */
		sigaction(signal, &before, NULL);
	}
}

/* Called for each guard, in case another library replaced the handler. */
static int
fault_install(void)
{
	struct sigaction action, now;

	if (sigaction(SIGBUS, NULL, &now) < 0)
		return -errno;
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_bus_error)
		return 0;
	before = now;
	machine_page = (uintptr_t)sysconf(_SC_PAGESIZE);
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_bus_error;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
	sigemptyset(&action.sa_mask);
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

int
sigbus_guard(const void *start, size_t bytes, uint32_t *dead)
{
	struct guard *g;
	int err;

	pthread_mutex_lock(&guards_lock);
	err = fault_install();
	for (g = guards; err == 0 && g < guards + GUARDS; g++)
		if (__atomic_load_n(&g->start, __ATOMIC_RELAXED) == 0)
			break;
	if (err == 0 && g == guards + GUARDS)
		err = -ENOSPC;
	if (err == 0) {
		g->bytes = bytes;
		g->dead = dead;
		__atomic_store_n(&g->start, (uintptr_t)start, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&guards_lock);
	return err;
}

void
sigbus_unguard(const void *start)
{
	pthread_mutex_lock(&guards_lock);
	for (unsigned i = 0; i < GUARDS; i++)
		if (guards[i].start == (uintptr_t)start)
			__atomic_store_n(&guards[i].start, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&guards_lock);
}
