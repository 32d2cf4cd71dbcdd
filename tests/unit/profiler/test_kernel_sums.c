/*
 * Goal: while events are paused, what a server's thread did between receiving a
 * request and sending is written as sums, which agree with the kernel's own
 * accounts of that thread; without a pause no sums are written; a request that
 * goes on in another thread has one account.
 */
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

#include "loopback.h"

#define LENGTH_NS (20 * NS_PER_MS)
#define EDGE_NS NS_PER_MS /* between our stamps and the kernel's */
#define PAGES 500
#define TRIES 20

/* What the server's thread knows of the same time from the kernel. */
struct measure {
	int64_t wall_ns, cpu_ns, ready_ns, faults;
};

/* --- the server, a process ------------------------------------------------ */

struct server {
	int fd;
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

static void *
helper_run(void *arg)
{
	struct server *s = arg;
	struct measure none = {0};

	for (;;) {
		sem_wait(&s->ask);
		if (s->order == 'h') {
			compute(LENGTH_NS);
			send(s->fd, &none, sizeof(none), MSG_NOSIGNAL);
			continue;
		}
		pthread_mutex_lock(&s->mutex);
		sem_post(&s->held);
		usleep(LENGTH_NS / NS_PER_US);
		pthread_mutex_unlock(&s->mutex);
	}
	return NULL;
}

static void
touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	munmap(p, PAGES * page);
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
		usleep(LENGTH_NS / NS_PER_US);
		break;
	case 'c':
		compute(LENGTH_NS);
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
		compute(LENGTH_NS);
		break;
	}
}

static void
server_run(int listener, int begin)
{
	struct server s = {.mutex = PTHREAD_MUTEX_INITIALIZER};
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
		send(s.fd, &after, sizeof(after), MSG_NOSIGNAL);
	}
}

/* --- what the programs write of it --------------------------------------- */

struct rig {
	struct recording r;
	struct pair pair; /* client only */
	pid_t server;
};

static void
rig_open(struct rig *g)
{
	int begin[2];

	recording_init(&g->r);
	g->r.options.profile = PROFILER_KERNEL_SUMS;
	recording_open(&g->r);
	if (!g->r.state[PROFILER_SIGNAL_SUMS].on) {
		print_message("skipped, because %s\n",
		    g->r.state[PROFILER_SIGNAL_SUMS].why);
		skip();
	}
	pair_listen(&g->pair, g->r.kernel, AF_INET);
	kernel_server_port(g->r.kernel, 0, g->pair.port);
	assert_int_equal(pipe(begin), 0);
	g->server = fork();
	assert_true(g->server >= 0);
	if (g->server == 0) {
		server_run(g->pair.listener, begin[0]);
		_exit(0);
	}
	assert_int_equal(kernel_watch(g->r.kernel, 0, g->server, false), 0);
	assert_int_equal(write(begin[1], "", 1), 1);
	close(begin[0]);
	close(begin[1]);
	g->pair.client = pair_connect(&g->pair, AF_INET);
	nodelay(g->pair.client, 1);
	g->pair.client_cookie = cookie_of(g->pair.client);
}

static void
rig_close(struct rig *g)
{
	close(g->pair.client);
	close(g->pair.listener);
	kill(g->server, SIGKILL);
	waitpid(g->server, NULL, 0);
	recording_close(&g->r);
}

/* One request; then the events are there. */
static struct measure
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
	usleep(2000); /* the server's send has ended */
	recording_end(&g->r);
	return m;
}

struct summed {
	int64_t way, length, ran, ready, preempted, slept, lock, disk;
	int64_t blocked, stolen, handled, fault;
	unsigned marks, switches, migrations, faults;
};

/* The sums of its n-th epoch; false: there are no more. */
static bool
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

static void
assert_near(int64_t value, int64_t wanted, int64_t edge)
{
	assert_in_range(value + edge, wanted, wanted + 2 * edge);
}

/* The only epoch, whose sums add up. */
static struct summed
sums_of(struct rig *g, char order, struct measure *m)
{
	struct summed t = {0}, more;
	int64_t sum = 0, edge;

	/* Some kernels do not report each switch: then a part is in no sum; nor
	 * each end. */
	for (unsigned i = 0; i < TRIES; i++) {
		*m = ask(g, order);
		if (!epoch_find(g, 0, &t)) {
			print_message("its end was not seen\n");
			continue;
		}
		if (order != 'm')
			assert_false(epoch_find(g, 1, &more));
		sum = t.ran + t.ready + t.preempted + t.slept + t.lock +
		      t.disk + t.blocked;
		assert_true(sum <= t.length);
		if (sum >= t.length - EDGE_NS)
			break;
		print_message(
		    "a switch was not seen: %lld of %lld us are in sums\n",
		    (long long)sum / 1000, (long long)t.length / 1000);
	}
	assert_true(t.length > 0);
	print_message(
	    "%c: %lld us: ran %lld, ready %lld, preempted %lld, slept %lld, "
	    "lock %lld, disk %lld, blocked %lld; stolen %lld, handled %lld, "
	    "fault %lld; way %lld; %u switches, %u faults; marks %u\n"
	    "   itself: %lld us, ran %lld, ready %lld, %lld faults\n",
	    order, (long long)t.length / 1000, (long long)t.ran / 1000,
	    (long long)t.ready / 1000, (long long)t.preempted / 1000,
	    (long long)t.slept / 1000, (long long)t.lock / 1000,
	    (long long)t.disk / 1000, (long long)t.blocked / 1000,
	    (long long)t.stolen / 1000, (long long)t.handled / 1000,
	    (long long)t.fault / 1000, (long long)t.way / 1000, t.switches,
	    t.faults, t.marks, (long long)m->wall_ns / 1000,
	    (long long)m->cpu_ns / 1000, (long long)m->ready_ns / 1000,
	    (long long)m->faults);
	assert_in_range(sum + EDGE_NS, t.length, t.length + EDGE_NS);
	assert_true(t.stolen <= t.ran && t.handled <= t.ran);
	assert_true(t.fault <= t.ran);
	assert_true(t.way > 0);
	if (order == 'h' || order == 'm')
		return t;
	assert_true(t.length >= m->wall_ns);
	edge = t.length - m->wall_ns + m->wall_ns / 20 + EDGE_NS;
	assert_near(t.ran - t.stolen, m->cpu_ns, edge);
	assert_near(t.ready + t.preempted, m->ready_ns, edge);
	assert_in_range(t.faults, m->faults, m->faults + 20);
	return t;
}

/* Until further notice: on a busy machine a test takes seconds. */
static void
pause_events(struct rig *g)
{
	kernel_gate(g->r.kernel, instant_plus(instant_now(), 3600 * NS_PER_S));
}

/* Goal: sums of known work agree with the kernel's account of the thread. */
static void
test_sums(void **state)
{
	struct measure m;
	struct summed t;
	struct rig g;

	(void)state;
	rig_open(&g);
	ask(&g, 's'); /* Tailor's end of the connection is known from now on */
	assert_false(epoch_find(&g, 0, &t)); /* full events are there */
	pause_events(&g);
	ask(&g, 's');
	t = sums_of(&g, 's', &m);
	assert_true(t.slept >= LENGTH_NS - EDGE_NS);
	assert_int_equal(t.lock, 0);
	assert_int_equal(t.marks, 0);
	t = sums_of(&g, 'c', &m);
	assert_true(t.ran >= LENGTH_NS - EDGE_NS);
	t = sums_of(&g, 'l', &m);
	/* The lock is held for so long, also while the thread has no CPU. */
	assert_true(t.lock > 0);
	assert_true(
	    t.lock + t.ready + t.preempted + t.ran >= LENGTH_NS - EDGE_NS);
	t = sums_of(&g, 'f', &m);
	assert_true(t.faults >= PAGES);
	assert_true(t.fault > 100 * NS_PER_US);
	sums_of(&g, 'd', &m);
	kernel_gate(g.r.kernel, INSTANT_NONE);
	ask(&g, 'c');
	assert_false(epoch_find(&g, 0, &t));
	rig_close(&g);
}

/* Goal: what another thread goes on with is one account; what is sent in pieces
 * is counted from each to the next. */
static void
test_parts(void **state)
{
	struct measure m;
	struct summed t;
	struct rig g;

	(void)state;
	rig_open(&g);
	pause_events(&g);
	ask(&g, 's');
	for (unsigned i = 0; i < 3; i++) {
		t = sums_of(&g, 'h', &m);
		assert_int_equal(t.marks, TALECHAIN_EPOCH_HEIR);
		assert_true(t.ran >= LENGTH_NS - EDGE_NS);
		t = sums_of(&g, 'c', &m);
		assert_int_equal(t.marks, 0);
	}
	t = sums_of(&g, 'm', &m);
	assert_int_equal(t.marks, 0);
	assert_true(epoch_find(&g, 1, &t));
	assert_int_equal(t.marks, TALECHAIN_EPOCH_MORE);
	assert_true(t.ran >= LENGTH_NS - EDGE_NS);
	rig_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sums),
	    cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
