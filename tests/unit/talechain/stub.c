/*
 * stub.c: see stub.h.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/stub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>

/*
 * In place of the C library's: talechain.h waits a second for its channel,
 * which a busy machine may need longer for.
 */
int
setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	static const struct timeval patience = {.tv_sec = 120};

	if (level == SOL_SOCKET &&
	    (name == SO_RCVTIMEO || name == SO_SNDTIMEO)) {
		value = &patience;
		length = sizeof(patience);
	}
	return (int)syscall(SYS_setsockopt, fd, level, name, value, length);
}

void
stub_open(struct stub *s)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(s->directory, sizeof(s->directory), "/tmp/talechain-XXXXXX");
	assert_non_null(mkdtemp(s->directory));
	snprintf(s->path, sizeof(s->path), "%s/socket", s->directory);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->fd >= 0);
	assert_int_equal(
	    bind(s->fd, (struct sockaddr *)(void *)&a, sizeof(a)), 0);
	assert_int_equal(listen(s->fd, 8), 0);
}

void
stub_close(struct stub *s)
{
	close(s->fd);
	unlink(s->path);
	rmdir(s->directory);
}

static void
hello_read(struct stub_client *c)
{
	size_t n = 0;

	while (n < sizeof(c->hello) - 1 &&
	       read(c->socket, c->hello + n, 1) == 1 && c->hello[n] != '\n')
		n++;
	c->hello[n] = '\0';
	assert_int_equal(sscanf(c->hello, "TALECHAIN 1 %d %u %ld %63s",
			     &c->kind, &c->slot_log2, &c->tid, c->name),
	    4);
}

static void
memory_make(struct stub_client *c, enum stub_reply reply)
{
	c->bytes = talechain_bytes(c->slot_log2);
	c->memory = memfd_create("channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(c->memory >= 0);
	assert_int_equal(
	    ftruncate(c->memory, (off_t)(c->bytes - (reply == STUB_SHORT))), 0);
	assert_int_equal(
	    fcntl(c->memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	c->channel = mmap(
	    NULL, c->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->memory, 0);
	assert_ptr_not_equal(c->channel, MAP_FAILED);
	talechain_init(c->channel, c->slot_log2, (enum talechain_kind)c->kind,
	    c->name, 1, (uint32_t)c->tid, 1);
	if (reply == STUB_STRANGE)
		c->channel->slot_bytes = 128;
}

static void
reply_send(struct stub_client *c, enum stub_reply reply)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(2 * sizeof(int))];
	} control = {0};
	char line[128];
	struct iovec iov = {.iov_base = line};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[2] = {c->memory, c->memory};
	size_t n = reply == STUB_TWO ? 2 : 1;
	struct cmsghdr *h;
	ssize_t sent;

	if (reply == STUB_REFUSE)
		iov.iov_len = (size_t)snprintf(line, sizeof(line), "NO full\n");
	else
		iov.iov_len = (size_t)snprintf(line, sizeof(line),
		    "OK /proc/%ld/fd/%d %zu\n", (long)getpid(), c->memory,
		    c->bytes);
	if (reply != STUB_REFUSE && reply != STUB_BARE) {
		m.msg_control = control.space;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(h), fds, n * sizeof(int));
	}
	sent = sendmsg(c->socket, &m, MSG_NOSIGNAL);
	/* It may have given up, if we were late. */
	assert_true(sent == (ssize_t)iov.iov_len ||
		    (sent < 0 && (errno == EPIPE || errno == ECONNRESET)));
}

void
stub_accept(struct stub *s, struct stub_client *c, enum stub_reply reply)
{
	struct pollfd p = {.fd = s->fd, .events = POLLIN};

	memset(c, 0, sizeof(*c));
	assert_int_equal(poll(&p, 1, 120000), 1);
	c->socket = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(c->socket >= 0);
	hello_read(c);
	memory_make(c, reply);
	reply_send(c, reply);
}

void
stub_release(struct stub_client *c)
{
	munmap(c->channel, c->bytes);
	close(c->memory);
	close(c->socket);
}
