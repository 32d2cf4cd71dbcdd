/*
 * server.c: an uninstrumented server that misbehaves on request.
 *
 *	server PORT [single]
 *
 * Listens on 127.0.0.1:PORT.  A thread per connection; with "single" one thread
 * serves them all, one request after the other.  What a request can ask for is
 * in injections.c.
 *
 * Each response has a field Truth, to compare with: when the harm began and
 * ended, ns of CLOCK_MONOTONIC, how much CPU time is no harm, process and
 * thread.  It includes nothing of TaleChain: Tailor has to find out by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/hazards/injections.h"

#define CONNECTIONS 64 /* with "single" */
#define BIG_CHUNK 65536

/* A body of so many bytes. */
static int
write_body(int fd, size_t left)
{
	static const char chunk[BIG_CHUNK];
	size_t n;
	int err = 0;

	for (; err == 0 && left > 0; left -= n) {
		n = left < sizeof(chunk) ? left : sizeof(chunk);
		err = http_write(fd, chunk, n);
	}
	return err;
}

/* Sleep until the last byte has left the socket. */
static int
wait_sent(int fd, struct harm *h)
{
	int unsent;

	do {
		if (ioctl(fd, SIOCOUTQNSD, &unsent) < 0)
			return -errno;
		h->end = instant_now();
		if (unsent > 0)
			sleep_ns(LOOK_NS);
	} while (unsent > 0);
	return 0;
}

static void
set_nodelay(int fd, int on)
{
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static int
respond(int fd, int status, const struct harm *h)
{
	size_t length = h->bytes > 0 ? h->bytes : sizeof("done\n") - 1, n;
	char truth[128], head[512];
	int err;

	snprintf(truth, sizeof(truth),
	    "%" PRIu64 " %" PRIu64 " %" PRId64 " %d %d", h->begin.ns, h->end.ns,
	    h->cpu_ns, getpid(), gettid());
	n = http_head(head, sizeof(head), status, truth, length);
	if (h->in_pieces)
		set_nodelay(fd, 0);
	else if (h->bytes == 0)
		n += (size_t)snprintf(head + n, sizeof(head) - n, "done\n");
	err = http_write(fd, head, n);
	if (err == 0 && h->bytes > 0)
		err = write_body(fd, h->bytes);
	if (err < 0 || !h->in_pieces)
		return err;
	err = http_write(fd, "done\n", length);
	last_in_pieces = *h;
	last_in_pieces.begin = instant_now();
	if (err == 0)
		err = wait_sent(fd, &last_in_pieces);
	set_nodelay(fd, 1);
	return err;
}

/* Serve the next request of a connection; an error ends the connection. */
static int
serve_one(struct connection *c)
{
	struct harm h = {.cpu_ns = -1};
	struct instant begin;
	struct request r;
	int64_t ran_ns;
	int err;

	if (c->drop_next && lose_next(c, &h) < 0)
		return -ECONNRESET;
	err = http_read(c, &r);
	if (err < 0)
		return err;
	begin = instant_now();
	ran_ns = cpu_time_ns();
	err = inject(c, &r, &h);
	if (err < 0 && err != -ENOENT)
		return err;
	if (h.begin.ns == 0) {
		h.begin = begin;
		h.end = instant_now();
	}
	if (h.cpu_ns < 0)
		h.cpu_ns = cpu_time_ns() - ran_ns;
	return respond(c->fd, err == 0 ? 200 : 404, &h);
}

static struct connection *
connection_new(int listener)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (c->fd < 0) {
		free(c);
		return NULL;
	}
	set_nodelay(c->fd, 1);
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

	if (argc < 2) {
		fprintf(stderr, "usage: server PORT [single]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	err = holder_start();
	listener = err < 0 ? err : listen_on(atoi(argv[1]));
	if (listener < 0) {
		fprintf(stderr, "server: %s\n", strerror(-listener));
		return 1;
	}
	if (argc > 2)
		serve_single(listener);
	else
		serve_threads(listener);
}
