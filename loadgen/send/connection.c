#include "loadgen/send/connection.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct connection_list *
list_of(struct load_pool *p, enum load_connection_state state)
{
	switch (state) {
	case CONNECTION_CLOSED:
		return &p->closed;
	case CONNECTION_IDLE:
		return &p->idle;
	case CONNECTION_BUSY:
		return &p->busy;
	}
	return NULL;
}

static void
connection_move(struct load_pool *p, struct load_connection *c,
    enum load_connection_state state)
{
	struct connection_list *from = list_of(p, c->state);
	struct connection_list *to = list_of(p, state);

	TAILQ_REMOVE(&from->queue, c, link);
	from->count--;
	TAILQ_INSERT_TAIL(&to->queue, c, link);
	to->count++;
	c->state = state;
}

int
pool_open(struct load_pool *p, int epoll_fd, const struct plan *plan,
    const struct target *t)
{
	memset(p, 0, sizeof(*p));
	p->slots = calloc(plan->max_connections, sizeof(*p->slots));
	p->heads = calloc(plan->max_connections, RESPONSE_HEAD_MAX);
	if (p->slots == NULL || p->heads == NULL) {
		pool_close(p);
		return -ENOMEM;
	}
	TAILQ_INIT(&p->closed.queue);
	TAILQ_INIT(&p->idle.queue);
	TAILQ_INIT(&p->busy.queue);
	p->slot_count = plan->max_connections;
	p->epoll_fd = epoll_fd;
	p->target = t;
	p->kernel_stamps = plan->kernel_stamps && !t->server.local;
	for (size_t i = 0; i < p->slot_count; i++) {
		p->slots[i].fd = -1;
		p->slots[i].head = p->heads + i * RESPONSE_HEAD_MAX;
		TAILQ_INSERT_TAIL(&p->closed.queue, &p->slots[i], link);
	}
	p->closed.count = p->slot_count;
	return 0;
}

void
pool_close(struct load_pool *p)
{
	for (size_t i = 0; p->slots != NULL && i < p->slot_count; i++) {
		if (p->slots[i].state != CONNECTION_CLOSED)
			connection_close(p, &p->slots[i]);
	}
	free(p->slots);
	free(p->heads);
	memset(p, 0, sizeof(*p));
}

/* Begin to open a closed connection, and put it into the given state. */
static int
connection_open(struct load_pool *p, struct load_connection *c,
    enum load_connection_state state)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
	const int on = 1;
	int err;
	int fd = socket(p->target->address.ss_family,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	/* Fails on Unix sockets, which do not need it. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (const struct sockaddr *)&p->target->address,
		p->target->address_length) < 0 &&
	    errno != EINPROGRESS) {
		err = -errno;
		goto fail_socket;
	}
	if (epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
		err = -errno;
		goto fail_socket;
	}
	c->fd = fd;
	c->stamps = stamps_enable(fd, p->kernel_stamps);
	c->sent_bytes = 0;
	c->number = p->opened++;
	c->connecting = true;
	c->wants_write = false;
	connection_move(p, c, state);
	return 0;

fail_socket:
	close(fd);
	return err;
}

/* Wait until the server has accepted the connection. */
static int
connection_settle(struct load_connection *c, struct instant deadline)
{
	struct pollfd p = {.fd = c->fd, .events = POLLOUT};
	int err = 0;
	socklen_t length = sizeof(err);
	int n;

	do {
		int64_t left_ns = instant_since(deadline, instant_now());
		if (left_ns <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
	} while (n == 0 || (n < 0 && errno == EINTR));
	if (n < 0 || getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &length) < 0)
		return -errno;
	c->connecting = false;
	return -err;
}

int
pool_fill(struct load_pool *p, size_t count, int64_t timeout_ns)
{
	struct instant deadline = instant_plus(instant_now(), timeout_ns);
	int err;

	while (p->idle.count < count && TAILQ_FIRST(&p->closed.queue) != NULL) {
		struct load_connection *c = TAILQ_FIRST(&p->closed.queue);
		err = connection_open(p, c, CONNECTION_IDLE);
		if (err < 0)
			return err;
		err = connection_settle(c, deadline);
		if (err < 0) {
			connection_close(p, c);
			return err;
		}
	}
	return 0;
}

/* True if the server has closed an idle connection.  Bytes from it are left to
 * be read, and counted, as those of a busy time are. */
static bool
is_closed_by_server(const struct load_connection *c)
{
	char byte;
	ssize_t n = recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void
pool_sweep(struct load_pool *p)
{
	struct load_connection *c = TAILQ_FIRST(&p->idle.queue);

	while (c != NULL) {
		struct load_connection *next = TAILQ_NEXT(c, link);

		if (is_closed_by_server(c))
			connection_close(p, c);
		c = next;
	}
}

void
pool_trim(struct load_pool *p, size_t count)
{
	while (p->idle.count > count)
		connection_close(p, TAILQ_FIRST(&p->idle.queue));
}

void
pool_count_from_zero(struct load_pool *p)
{
	struct load_connection *c;

	p->opened = 0;
	TAILQ_FOREACH(c, &p->idle.queue, link)
	{
		c->number = p->opened++;
	}
}

int
pool_take(struct load_pool *p, struct load_connection **out)
{
	struct load_connection *c =
	    TAILQ_LAST(&p->idle.queue, connection_queue);
	int err;

	if (c != NULL) {
		connection_move(p, c, CONNECTION_BUSY);
	} else {
		c = TAILQ_FIRST(&p->closed.queue);
		if (c == NULL)
			return -EBUSY;
		err = connection_open(p, c, CONNECTION_BUSY);
		if (err < 0)
			return err;
	}
	c->written = 0;
	*out = c;
	return 0;
}

void
connection_release(struct load_pool *p, struct load_connection *c)
{
	assert(c->state == CONNECTION_BUSY);
	c->connecting = false;
	connection_move(p, c, CONNECTION_IDLE);
}

void
connection_close(struct load_pool *p, struct load_connection *c)
{
	assert(c->state != CONNECTION_CLOSED);
	close(c->fd); /* also removes it from epoll */
	c->fd = -1;
	connection_move(p, c, CONNECTION_CLOSED);
}

void
connection_want_write(struct load_pool *p, struct load_connection *c, bool want)
{
	struct epoll_event event = {
	    .events = want ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = c};

	if (c->wants_write == want)
		return;
	c->wants_write = want;
	int err = epoll_ctl(p->epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
	/* Cannot fail: the socket is registered, and changing its events needs
	 * no memory. */
	assert(err == 0);
	(void)err;
}
