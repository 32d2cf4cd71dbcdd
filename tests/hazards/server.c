/*
 * server.c: an uninstrumented server that misbehaves on request.
 *
 *	server PORT CPU [single]
 *
 * Listens on 127.0.0.1:PORT.  A thread per connection, pinned to that CPU; with
 * "single" one thread, pinned there, serves them all, one request after the
 * other.  Paths: see injections.c.
 *
 * After each response it writes one line of JSON to its standard output, to
 * compare with: the request's id, when its handling began and ended, when
 * the injected harm did, and what the kernel did to the thread meanwhile,
 * as the thread's own accounting has it:
 *
 *	{"request":"00c0ffee","begin":1,"end":9,"harm":[2,8],
 *	 "off_cpu":3,"faults":1}
 *
 * All in nanoseconds of CLOCK_MONOTONIC.  It includes nothing of TaleChain:
 * Tailor has to find out by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/hazards/injections.h"

#define CONNECTIONS 64 /* with "single" */

/* What the kernel says it did to a thread. */
struct account {
	uint64_t ran_ns;
	long faults;
};

static int cpu; /* where requests are served */

static struct account
account_now(void)
{
	struct account a;
	struct timespec ran;
	struct rusage used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	a.ran_ns = (uint64_t)(ran.tv_sec * NS_PER_S + ran.tv_nsec);
	getrusage(RUSAGE_THREAD, &used);
	a.faults = used.ru_minflt + used.ru_majflt;
	return a;
}

static void
report(uint64_t id, struct instant begin, const struct harm *h,
    const struct account *before)
{
	struct instant end = instant_now();
	struct account after = account_now();

	printf("{\"request\":\"%016" PRIx64 "\",\"begin\":%" PRIu64
	       ",\"end\":%" PRIu64 ",\"harm\":[%" PRIu64 ",%" PRIu64
	       "],\"off_cpu\":%" PRId64 ",\"faults\":%ld}\n",
	    id, begin.ns, end.ns, h->begin.ns, h->end.ns,
	    instant_since(end, begin) -
		(int64_t)(after.ran_ns - before->ran_ns),
	    after.faults - before->faults);
	fflush(stdout);
}

/* Serve the next request of a connection; an error ends the connection. */
static int
serve_one(struct connection *c)
{
	struct harm h = {INSTANT_NONE, INSTANT_NONE};
	struct account before;
	struct instant begin;
	struct request r;
	injection *inject;
	int err;

	if (c->drop_next && lose_next(c, &h) < 0)
		return -ECONNRESET;
	err = http_read(c, &r);
	if (err < 0)
		return err;
	begin = instant_now();
	before = account_now();
	inject = injection_find(r.path);
	err = inject != NULL ? inject(c, &r, &h)
			     : http_respond(c->fd, 404, "no such harm\n");
	report(r.id, begin, &h, &before);
	return err;
}

static void
pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		perror("server: sched_setaffinity");
}

static struct connection *
connection_new(int listener)
{
	struct connection *c = calloc(1, sizeof(*c));
	int on = 1;

	if (c == NULL)
		return NULL;
	c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0) {
		free(c);
		return NULL;
	}
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return c;
}

static void
connection_free(struct connection *c)
{
	close(c->fd);
	free(c);
}

static void *
worker_main(void *arg)
{
	struct connection *c = arg;

	pthread_setname_np(pthread_self(), "worker");
	pin();
	while (serve_one(c) == 0)
		continue;
	connection_free(c);
	return NULL;
}

static void
serve_threads(int listener)
{
	struct connection *c;
	pthread_t thread;

	for (;;) {
		c = connection_new(listener);
		if (c == NULL)
			continue;
		if (pthread_create(&thread, NULL, worker_main, c) != 0)
			connection_free(c);
		else
			pthread_detach(thread);
	}
}

static void
serve_single(int listener)
{
	struct connection *c[CONNECTIONS];
	struct pollfd p[CONNECTIONS + 1];
	unsigned n = 0, i;

	pin();
	for (;;) {
		p[n] = (struct pollfd){listener, POLLIN, 0};
		if (poll(p, n + 1, -1) < 0)
			continue;
		if (n < CONNECTIONS && p[n].revents != 0) {
			c[n] = connection_new(listener);
			if (c[n] == NULL)
				continue;
			p[n] = (struct pollfd){c[n]->fd, POLLIN, 0};
			n++;
			continue;
		}
		for (i = 0; i < n; i++) {
			if (p[i].revents == 0 || serve_one(c[i]) == 0)
				continue;
			connection_free(c[i]);
			n--;
			c[i] = c[n];
			p[i] = p[n];
			break; /* what else is ready is so in the next turn */
		}
	}
}

static int
listen_on(int port)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr = {htonl(INADDR_LOOPBACK)},
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, 128) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int
main(int argc, char **argv)
{
	int listener, err;

	if (argc < 3) {
		fprintf(stderr, "usage: server PORT CPU [single]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	cpu = atoi(argv[2]);
	err = holder_start();
	listener = err < 0 ? err : listen_on(atoi(argv[1]));
	if (listener < 0) {
		fprintf(stderr, "server: %s\n", strerror(-listener));
		return 1;
	}
	fprintf(stderr, "server: listening\n");
	if (argc > 3)
		serve_single(listener);
	else
		serve_threads(listener);
}
