/*
 * test_kernel_tcp.c: connections over the loopback network, as the kernel
 * tells of them: bytes in the order they move, cookies that getsockopt gives,
 * bytes held back and why, and whose connections are told at all.
 */
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel_events.h"
#include "loopback.h"

#define FLAG_SYN 0x02
#define FLAG_PUSH 0x08
#define FLAG_ACK 0x10

#define NAGLE_TRIES 100

/* Until all that was sent has been acknowledged. */
static void
settle(int fd)
{
	struct instant begin = instant_now();
	int left = 1;

	while (left > 0) {
		assert_int_equal(ioctl(fd, SIOCOUTQ, &left), 0);
		assert_true(
		    instant_since(instant_now(), begin) < 120 * NS_PER_S);
		sched_yield();
	}
}

struct bytes {
	uint64_t cookie;
	uint32_t sequence, bytes;
};

/* A segment or a call with exactly these bytes. */
static bool
is_segment(const struct talechain_event *e, const void *arg)
{
	const struct bytes *b = arg;

	return e->arg[0] == b->cookie && high(e->arg[1]) == b->sequence &&
	       high(e->arg[2]) == b->bytes;
}

static bool
is_call(const struct talechain_event *e, const void *arg)
{
	const struct bytes *b = arg;

	return e->arg[0] == b->cookie && high(e->arg[1]) == b->sequence &&
	       low(e->arg[1]) == b->bytes;
}

static bool
is_call_of(const struct talechain_event *e, const void *arg)
{
	const struct bytes *b = arg;

	return e->arg[0] == b->cookie && low(e->arg[1]) == b->bytes;
}

/* An acknowledgement that covers sequence + bytes. */
static bool
is_ack(const struct talechain_event *e, const void *arg)
{
	const struct bytes *b = arg;

	return e->arg[0] == b->cookie &&
	       low(e->arg[1]) == b->sequence + b->bytes;
}

static void
check_ports(const struct talechain_event *e, uint16_t local, uint16_t remote)
{
	assert_int_equal(e->arg[3] >> 48, local);
	assert_int_equal(e->arg[3] >> 32 & 0xffff, remote);
}

/* One message from client to server, found in all its stages. */
static void
check_message(const struct recording *r, const struct pair *p, uint32_t n)
{
	struct bytes b = {p->client_cookie, 0, n};
	const struct talechain_event *e;
	int call, out, in, taken, ack;

	call = recording_find(r, 0, TALECHAIN_SOCK_SEND, is_call_of, &b);
	assert_true(call >= 0);
	e = &r->event[call];
	assert_int_equal(e->tid, gettid());
	check_ports(e, p->client_port, p->port);
	assert_int_equal(e->arg[2], 0); /* nothing was held */
	b.sequence = high(e->arg[1]);
	out = recording_find(r, 0, TALECHAIN_TCP_XMIT, is_segment, &b);
	assert_true(out >= 0 && out < call); /* it left during the call */
	e = &r->event[out];
	check_ports(e, p->client_port, p->port);
	assert_int_equal(low(e->arg[3]), FLAG_PUSH | FLAG_ACK);
	b.cookie = p->server_cookie;
	in = recording_find(
	    r, (unsigned)out, TALECHAIN_TCP_RECV, is_segment, &b);
	assert_true(in >= 0);
	check_ports(&r->event[in], p->port, p->client_port);
	assert_int_equal(low(r->event[in].arg[3]), FLAG_PUSH | FLAG_ACK);
	taken =
	    recording_find(r, (unsigned)in, TALECHAIN_SOCK_RECV, is_call, &b);
	assert_true(taken >= 0);
	check_ports(&r->event[taken], p->port, p->client_port);
	assert_int_equal(r->event[taken].arg[2], 0); /* nothing left */
	b.cookie = p->client_cookie;
	ack = recording_find(r, (unsigned)in, TALECHAIN_TCP_ACK, is_ack, &b);
	assert_true(ack >= 0);
	check_ports(&r->event[ack], p->client_port, p->port);
	assert_int_equal(high(r->event[ack].arg[2]), 0);
}

static void
check_messages(int family)
{
	static const char text[3000];
	static const uint32_t length[] = {1, 100, 3000};
	struct recording r;
	struct pair p;
	unsigned i;

	recording_open_usual(&r);
	recording_need(&r, PROFILER_SIGNAL_SOCKET);
	for (i = 0; i < 3; i++) {
		pair_open(&p, r.kernel, family);
		recording_begin(&r);
		send_all(p.client, text, length[i]);
		receive_all(p.server, length[i]);
		settle(p.client);
		recording_end(&r);
		check_message(&r, &p, length[i]);
		pair_close(&p);
	}
	recording_close(&r);
}

/* Goal: a message is told leaving, arriving, read and acknowledged, with the
 * same sequence numbers and the cookies that the sockets' owner sees. */
TEST(test_message)
{
	check_messages(AF_INET);
}

/* Goal: the same with IPv6. */
TEST(test_message_six)
{
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage a;
	socklen_t length = loopback(AF_INET6, 0, &a);
	bool there = fd >= 0 && bind(fd, (struct sockaddr *)&a, length) == 0;

	if (fd >= 0)
		close(fd);
	if (!there)
		unit_skip("there is no IPv6 here");
	check_messages(AF_INET6);
}

/* Two small writes after each other: what became of them. */
struct small_writes {
	int first, second; /* the calls */
	int ack;	   /* of the first one's bytes */
	int out;	   /* the second one's */
};

static struct small_writes
write_twice(struct recording *r)
{
	struct small_writes w;
	struct bytes b;
	struct pair p;

	pair_open(&p, r->kernel, AF_INET);
	nodelay(p.client, 0);
	/* An exchange or two, and the server delays acknowledgements. */
	for (unsigned i = 0; i < 20; i++) {
		send_all(p.client, "ask", 3);
		receive_all(p.server, 3);
		send_all(p.server, "answer", 6);
		receive_all(p.client, 6);
	}
	recording_begin(r);
	send_all(p.client, "head", 4);
	send_all(p.client, "the body", 8);
	receive_all(p.server, 12);
	settle(p.client);
	recording_end(r);
	b = (struct bytes){p.client_cookie, 0, 4};
	w.first = recording_find(r, 0, TALECHAIN_SOCK_SEND, is_call_of, &b);
	assert_true(w.first >= 0);
	b.sequence = high(r->event[w.first].arg[1]);
	w.ack =
	    recording_find(r, (unsigned)w.first, TALECHAIN_TCP_ACK, is_ack, &b);
	b = (struct bytes){p.client_cookie, b.sequence + 4, 8};
	w.second = recording_find(r, 0, TALECHAIN_SOCK_SEND, is_call, &b);
	w.out = recording_find(r, 0, TALECHAIN_TCP_XMIT, is_segment, &b);
	pair_close(&p);
	return w;
}

/* Goal: the second of two small writes waits for the acknowledgement of the
 * first, is told as held by Nagle's rule, and leaves after it. */
TEST(test_nagle)
{
	struct small_writes w;
	struct recording r;
	unsigned tries = 0;

	recording_open_usual(&r);
	/* If we lose the CPU in between the acknowledgement may come first. */
	do {
		assert_int_not_equal(++tries, NAGLE_TRIES);
		w = write_twice(&r);
	} while (w.ack >= 0 && w.ack < w.second);
	assert_int_equal(r.event[w.first].arg[2], TALECHAIN_HELD_NOT);
	assert_true(w.ack > w.first);
	assert_true(w.second > w.first);
	assert_int_equal(high(r.event[w.second].arg[2]), 8);
	assert_int_equal(low(r.event[w.second].arg[2]), TALECHAIN_HELD_NAGLE);
	assert_true(w.out > w.ack);
	recording_close(&r);
}

static bool
window_seen(const struct recording *r)
{
	for (unsigned i = 0; i < r->count; i++)
		if (r->event[i].type == TALECHAIN_SOCK_SEND &&
		    low(r->event[i].arg[2]) == TALECHAIN_HELD_WINDOW)
			return true;
	return false;
}

/* Goal: bytes held by MSG_MORE and by TCP_CORK are told so; a receiver that
 * does not read is told as a full window. */
TEST(test_held)
{
	static char much[1 << 20];
	struct recording r;
	struct pair p;
	int i, on = 1;
	struct instant limit = instant_plus(instant_now(), 120 * NS_PER_S);
	ssize_t n;

	recording_open_usual(&r);
	pair_open(&p, r.kernel, AF_INET);
	recording_begin(&r);
	assert_int_equal(send(p.client, "more", 4, MSG_MORE), 4);
	setsockopt(p.server, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	send_all(p.server, "cork", 4);
	send_all(p.client, "!", 1);
	receive_all(p.server, 5);
	do {
		do
			n = send(p.client, much, sizeof(much), MSG_DONTWAIT);
		while (n > 0);
		recording_end(&r);
		/* What left may be under way still. */
	} while (!window_seen(&r) && instant_before(instant_now(), limit));
	i = recording_find(&r, 0, TALECHAIN_SOCK_SEND, is_call_of,
	    &(struct bytes){p.client_cookie, 0, 4});
	assert_true(i >= 0);
	assert_int_equal(high(r.event[i].arg[2]), 4);
	assert_int_equal(low(r.event[i].arg[2]), TALECHAIN_HELD_CORK);
	i = recording_find(&r, 0, TALECHAIN_SOCK_SEND, is_call_of,
	    &(struct bytes){p.server_cookie, 0, 4});
	assert_true(i >= 0);
	assert_int_equal(low(r.event[i].arg[2]), TALECHAIN_HELD_CORK);
	assert_true(window_seen(&r));
	pair_close(&p);
	recording_close(&r);
}

/* A process of nobody: connects, says something, hears the answer, ends. */
static pid_t
stranger(const struct pair *p)
{
	pid_t pid = fork();
	char answer[6];
	int fd;

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	fd = pair_connect(p, AF_INET);
	if (send(fd, "hello", 5, 0) != 5 ||
	    recv(fd, answer, 6, MSG_WAITALL) != 6)
		_exit(1);
	_exit(0);
}

static void
serve_stranger(struct pair *p, pid_t *pid)
{
	int status;

	*pid = stranger(p);
	p->server = accept(p->listener, NULL, NULL);
	assert_true(p->server >= 0);
	receive_all(p->server, 5);
	send_all(p->server, "answer", 6);
	assert_int_equal(waitpid(*pid, &status, 0), *pid);
	assert_int_equal(status, 0);
}

struct port {
	uint16_t remote;
	uint32_t bytes;
};

static bool
is_to_port(const struct talechain_event *e, const void *arg)
{
	const struct port *p = arg;

	return (e->arg[3] >> 32 & 0xffff) == p->remote;
}

static bool
is_first_data(const struct talechain_event *e, const void *arg)
{
	const struct port *p = arg;

	return is_to_port(e, arg) && high(e->arg[2]) == p->bytes &&
	       e->arg[0] != 0;
}

static bool
is_from_process(const struct talechain_event *e, const void *arg)
{
	return e->pid == *(const uint32_t *)arg;
}

static bool
is_nameless(const struct talechain_event *e, const void *arg)
{
	(void)arg;
	return e->arg[0] == 0 && low(e->arg[3]) != (FLAG_SYN | FLAG_ACK);
}

/* Goal: of a connection to a port of ours the other end is told, too, though
 * its process is not watched, and its first bytes carry its cookie; without
 * that port nothing of it is told. */
TEST(test_stranger)
{
	bool watched;

	for (watched = false;; watched = true) {
		struct recording r;
		struct pair p;
		struct port first;
		uint32_t who;
		pid_t pid;

		recording_open_usual(&r);
		pair_listen(&p, watched ? r.kernel : NULL, AF_INET);
		recording_begin(&r);
		serve_stranger(&p, &pid);
		recording_end(&r);
		who = (uint32_t)pid;
		first = (struct port){p.port, 5};
		assert_int_equal(recording_count(&r, TALECHAIN_SOCK_SEND,
				     is_from_process, &who),
		    watched);
		assert_int_equal(recording_count(&r, TALECHAIN_SOCK_RECV,
				     is_from_process, &who),
		    watched);
		assert_int_equal(recording_count(&r, TALECHAIN_TCP_XMIT,
				     is_first_data, &first),
		    watched);
		assert_int_equal(recording_count(&r, TALECHAIN_PAGEFAULT,
				     is_from_process, &who),
		    0);
		/* Only the listener's answer to a SYN has no cookie yet. */
		assert_int_equal(
		    recording_count(&r, TALECHAIN_TCP_XMIT, is_nameless, NULL),
		    0);
		close(p.server);
		close(p.listener);
		recording_close(&r);
		if (watched)
			break;
	}
}

/* Goal: a connection that a watched process makes to a port of nobody is told
 * from its first bytes on. */
TEST(test_outgoing)
{
	struct recording r;
	struct port first;
	struct pair p;
	int status;
	pid_t pid;

	recording_open_usual(&r);
	pair_listen(&p, NULL, AF_INET);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char hello[5];

		p.server = accept(p.listener, NULL, NULL);
		_exit(recv(p.server, hello, 5, MSG_WAITALL) != 5);
	}
	recording_begin(&r);
	p.client = pair_connect(&p, AF_INET);
	send_all(p.client, "hello", 5);
	settle(p.client);
	recording_end(&r);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	first = (struct port){p.port, 5};
	assert_int_equal(
	    recording_count(&r, TALECHAIN_TCP_XMIT, is_first_data, &first), 1);
	assert_int_equal(
	    recording_count(&r, TALECHAIN_SOCK_SEND, is_to_port, &first), 1);
	close(p.client);
	close(p.listener);
	recording_close(&r);
}

/* What two reads of 100 bytes and the end of the stream are recorded as; room:
 * of the second one, which has 60 bytes to read. */
static void
check_left(struct recording *r, size_t room)
{
	static const uint32_t bytes[] = {40, 60}, left[] = {60, 0};
	uint32_t sequence;
	struct bytes b;
	struct pair p;
	char buffer[100];
	int i, from = 0, part;

	pair_open(&p, r->kernel, AF_INET);
	recording_begin(r);
	send_all(p.client, (const char[100]){0}, 100);
	shutdown(p.client, SHUT_WR);
	settle(p.client);
	receive_all(p.server, 40);
	assert_int_equal(recv(p.server, buffer, room, 0), 60);
	recording_end(r);
	b = (struct bytes){p.client_cookie, 0, 100};
	i = recording_find(r, 0, TALECHAIN_SOCK_SEND, is_call_of, &b);
	assert_true(i >= 0);
	sequence = high(r->event[i].arg[1]);
	for (part = 0; part < 2; part++) {
		b = (struct bytes){p.server_cookie, sequence, bytes[part]};
		i = recording_find(
		    r, (unsigned)from, TALECHAIN_SOCK_RECV, is_call, &b);
		assert_true(i >= 0);
		assert_int_equal(r->event[i].arg[2], left[part]);
		sequence += bytes[part];
		from = i;
	}
	pair_close(&p);
}

/* Goal: what is read, and left to be read, does not count the end of the
 * stream, whether the call came to it or not. */
TEST(test_left)
{
	struct recording r;

	recording_open_usual(&r);
	check_left(&r, 60);
	check_left(&r, 100);
	recording_close(&r);
}

/* Goal: a network softirq that worked for a connection of ours is told. */
TEST(test_softirq)
{
	struct recording r;
	struct pair p;
	unsigned i, found = 0;

	recording_open_usual(&r);
	pair_open(&p, r.kernel, AF_INET);
	recording_begin(&r);
	for (i = 0; i < 20; i++) {
		send_all(p.client, "x", 1);
		receive_all(p.server, 1);
	}
	recording_end(&r);
	for (i = 0; i < r.count; i++) {
		const struct talechain_event *e = &r.event[i];

		if (e->type != TALECHAIN_SOFTIRQ || e->arg[0] != KERNEL_NET_RX)
			continue;
		assert_true(e->arg[1] > 0 && e->arg[1] < (uint64_t)NS_PER_S);
		assert_true(e->arg[2] <= e->ts - e->arg[1]);
		found++;
	}
	assert_true(found >= 10);
	pair_close(&p);
	recording_close(&r);
}
