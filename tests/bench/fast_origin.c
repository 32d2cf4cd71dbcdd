/*
 * fast_origin: a server that costs next to nothing, for bench_proxy.py.
 *
 *	fast_origin FILE
 *
 * Responds to GET /N with N bytes, N up to a megabyte, over kept connections,
 * one thread, one read and one write a request.  Listens on a port of 127.0.0.1
 * that the kernel chooses, and prints it.  FILE is 8 bytes that it keeps the
 * number of responses in.  Ends at the end of standard input.
 *
 * It believes that a head comes in one piece and has no body: it is no
 * example of how to read HTTP.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define BODY_MAX (1 << 20)
#define EVENTS 256

struct connection {
	int fd;
	char head[192];
	size_t head_length, body_length, sent;
	bool writing;
};

static char body[BODY_MAX];
static uint64_t *responses;
static int poll_fd;

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static void
watch(struct connection *c, int op, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = c};

	if (epoll_ctl(poll_fd, op, c->fd, &e) < 0)
		fail("epoll_ctl");
}

static void
end(struct connection *c)
{
	close(c->fd);
	free(c);
}

/* Write what is left of a response. */
static void
respond(struct connection *c)
{
	size_t total = c->head_length + c->body_length;

	while (c->sent < total) {
		size_t skip =
		    c->sent < c->head_length ? c->sent : c->head_length;
		struct iovec iov[2] = {{c->head + skip, c->head_length - skip},
		    {body + (c->sent - skip),
			total - c->sent - (c->head_length - skip)}};
		ssize_t n = writev(c->fd, iov, 2);

		if (n < 0 && errno == EAGAIN) {
			if (!c->writing)
				watch(c, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
			c->writing = true;
			return;
		}
		if (n < 0) {
			end(c);
			return;
		}
		c->sent += (size_t)n;
	}
	__atomic_store_n(responses, *responses + 1, __ATOMIC_RELEASE);
	if (c->writing)
		watch(c, EPOLL_CTL_MOD, EPOLLIN);
	c->writing = false;
}

static void
take(struct connection *c)
{
	char request[8192];
	ssize_t n = recv(c->fd, request, sizeof(request) - 1, 0);
	const char *slash;

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		end(c);
		return;
	}
	request[n] = '\0';
	slash = strchr(request, '/');
	c->body_length = slash == NULL ? 0 : strtoul(slash + 1, NULL, 10);
	if (c->body_length > BODY_MAX)
		c->body_length = BODY_MAX;
	c->head_length = (size_t)snprintf(c->head, sizeof(c->head),
	    "HTTP/1.1 200 OK\r\n"
	    "Server: fast\r\n"
	    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
	    "Content-Type: application/octet-stream\r\n"
	    "Cache-Control: no-store\r\n"
	    "Content-Length: %zu\r\n"
	    "\r\n",
	    c->body_length);
	c->sent = 0;
	respond(c);
}

static void
take_connections(int listener)
{
	struct sockaddr_storage from;
	socklen_t length = sizeof(from);
	int fd, one = 1;

	while ((fd = accept4(listener, (struct sockaddr *)&from, &length,
		    SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *c = calloc(1, sizeof(*c));

		if (c == NULL)
			fail("calloc");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		c->fd = fd;
		watch(c, EPOLL_CTL_ADD, EPOLLIN);
	}
}

static int
listen_anywhere(void)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, size) < 0 ||
	    listen(fd, 4096) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		fail("listen");
	printf("%u\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

int
main(int argc, char **argv)
{
	struct epoll_event events[EVENTS];
	struct connection listener, input = {.fd = STDIN_FILENO};
	int file;

	if (argc != 2)
		return 2;
	memset(body, 'x', sizeof(body));
	file = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, sizeof(*responses)) < 0)
		fail(argv[1]);
	responses = mmap(NULL, sizeof(*responses), PROT_READ | PROT_WRITE,
	    MAP_SHARED, file, 0);
	if (responses == MAP_FAILED)
		fail("mmap");
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	listener.fd = listen_anywhere();
	watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
	watch(&input, EPOLL_CTL_ADD, EPOLLIN);
	for (;;) {
		int n = epoll_wait(poll_fd, events, EVENTS, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;

			if (c == &input)
				return 0;
			if (c == &listener)
				take_connections(listener.fd);
			else if (events[i].events & EPOLLOUT)
				respond(c);
			else
				take(c);
		}
	}
}
