/* sums.c: see the header. */
#include "sums.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the server, a process ------------------------------------------------ */

struct server {
	int fd, sent; /* sent: a pipe that says so */
	pthread_mutex_t mutex;
	sem_t ask, held;    /* of the helper */
	_Atomic char order; /* the helper reads it, too */
};

static int64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static void
compute(int64_t ns)
{
	int64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns)
		;
}

static struct measure
measure_now(void)
{
	char text[64] = {0};
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	struct rusage usage;
	char *rest;

	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(fd);
	getrusage(RUSAGE_THREAD, &usage);
	strtoull(text, &rest, 10);
	return (struct measure){.wall_ns = clock_ns(CLOCK_MONOTONIC),
	    .cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
	    .ready_ns = strtoll(rest, NULL, 10),
	    .faults = usage.ru_minflt + usage.ru_majflt};
}

/* The response, which ends the epoch before it is said to be sent. */
static void
respond(struct server *s, const struct measure *m)
{
	send(s->fd, m, sizeof(*m), MSG_NOSIGNAL);
	if (write(s->sent, "", 1) != 1)
		_exit(1);
}

static void *
helper_run(void *arg)
{
	struct server *s = arg;
	struct measure none = {0};

	for (;;) {
		sem_wait(&s->ask);
		if (s->order == 'h') {
			compute(SUMS_LENGTH_NS);
			respond(s, &none);
			continue;
		}
		pthread_mutex_lock(&s->mutex);
		sem_post(&s->held);
		usleep(SUMS_LENGTH_NS / NS_PER_US);
		pthread_mutex_unlock(&s->mutex);
	}
	return NULL;
}

static void
touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, SUMS_PAGES * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, SUMS_PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < SUMS_PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, SUMS_PAGES * page);
}

static void
flush_file(void)
{
	char name[] = "./sums-XXXXXX";
	static char bytes[1 << 20];
	int fd = mkstemp(name);

	unlink(name);
	for (int i = 0; i < 8; i++)
		if (write(fd, bytes, sizeof(bytes)) > 0)
			fdatasync(fd);
	close(fd);
}

static void
serve(struct server *s)
{
	switch ((char)s->order) {
	case 's':
		usleep(SUMS_LENGTH_NS / NS_PER_US);
		break;
	case 'c':
		compute(SUMS_LENGTH_NS);
		break;
	case 'd':
		flush_file();
		break;
	case 'f':
		touch();
		break;
	case 'l':
		sem_post(&s->ask);
		sem_wait(&s->held);
		pthread_mutex_lock(&s->mutex);
		pthread_mutex_unlock(&s->mutex);
		break;
	case 'm':
		send(s->fd, "", 1, MSG_NOSIGNAL);
		compute(SUMS_LENGTH_NS);
		break;
	}
}

static void
server_run(int listener, int begin, int sent)
{
	struct server s = {.sent = sent, .mutex = PTHREAD_MUTEX_INITIALIZER};
	struct measure before, after;
	pthread_t helper;
	char one;

	if (read(begin, &one, 1) != 1)
		return;
	sem_init(&s.ask, 0, 0);
	sem_init(&s.held, 0, 0);
	pthread_create(&helper, NULL, helper_run, &s);
	s.fd = accept(listener, NULL, NULL);
	nodelay(s.fd, 1);
	while (recv(s.fd, &one, 1, 0) == 1) {
		s.order = one;
		before = measure_now();
		if (s.order == 'h') {
			sem_post(&s.ask);
			continue;
		}
		serve(&s);
		after = measure_now();
		after.wall_ns -= before.wall_ns;
		after.cpu_ns -= before.cpu_ns;
		after.ready_ns -= before.ready_ns;
		after.faults -= before.faults;
		respond(&s, &after);
	}
}

/* --- what the programs write of it --------------------------------------- */

void
rig_open(struct rig *g)
{
	int begin[2], sent[2];

	recording_init(&g->r);
	g->r.options.profile = PROFILER_KERNEL_SUMS;
	recording_open(&g->r);
	recording_need(&g->r, PROFILER_SIGNAL_SUMS);
	pair_listen(&g->pair, g->r.kernel, AF_INET);
	kernel_server_port(g->r.kernel, 0, g->pair.port);
	assert_int_equal(pipe(begin), 0);
	assert_int_equal(pipe(sent), 0);
	g->sent = sent[0];
	g->server = fork();
	assert_true(g->server >= 0);
	if (g->server == 0) {
		server_run(g->pair.listener, begin[0], sent[1]);
		_exit(0);
	}
	assert_int_equal(kernel_watch(g->r.kernel, 0, g->server, false), 0);
	assert_int_equal(write(begin[1], "", 1), 1);
	close(begin[0]);
	close(begin[1]);
	close(sent[1]);
	g->pair.client = pair_connect(&g->pair, AF_INET);
	nodelay(g->pair.client, 1);
	g->pair.client_cookie = cookie_of(g->pair.client);
}

void
rig_close(struct rig *g)
{
	close(g->pair.client);
	close(g->pair.listener);
	close(g->sent);
	kill(g->server, SIGKILL);
	waitpid(g->server, NULL, 0);
	recording_close(&g->r);
}

struct measure
ask(struct rig *g, char order)
{
	struct measure m = {0};
	char first;

	recording_begin(&g->r);
	send_all(g->pair.client, &order, 1);
	if (order == 'm')
		assert_int_equal(recv(g->pair.client, &first, 1, 0), 1);
	assert_int_equal(
	    recv(g->pair.client, &m, sizeof(m), MSG_WAITALL), sizeof(m));
	assert_int_equal(read(g->sent, &first, 1), 1);
	recording_end(&g->r);
	return m;
}

bool
epoch_find(const struct rig *g, unsigned n, struct summed *out)
{
	const struct talechain_event *e, *f;

	for (unsigned i = 0; i + 1 < g->r.count; i++) {
		e = &g->r.event[i];
		if (e->type != TALECHAIN_EPOCH_SUM || n-- > 0)
			continue;
		f = e + 1;
		assert_int_equal(f->type, TALECHAIN_EPOCH_REST);
		assert_int_equal(f->ts, e->ts);
		assert_int_equal(f->tid, e->tid);
		assert_int_equal(e->pid, g->server);
		assert_int_equal(e->arg[0], g->pair.client_cookie);
		*out = (struct summed){high(e->arg[1]), low(e->arg[1]),
		    high(e->arg[2]), low(e->arg[2]), high(e->arg[3]),
		    low(e->arg[3]), high(f->arg[0]), low(f->arg[0]),
		    high(f->arg[1]), low(f->arg[1]), high(f->arg[2]),
		    low(f->arg[2]), high(f->arg[3]) >> 16,
		    high(f->arg[3]) & 0xffff, low(f->arg[3]) >> 16,
		    low(f->arg[3]) & 0xffff};
		return true;
	}
	return false;
}

void
pause_events(struct rig *g)
{
	kernel_gate(g->r.kernel, instant_plus(instant_now(), 3600 * NS_PER_S));
}
