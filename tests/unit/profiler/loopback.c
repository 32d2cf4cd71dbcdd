/* loopback.c: see the header. */
#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

uint64_t
cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	assert_int_equal(
	    getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &length), 0);
	return cookie;
}

uint16_t
port_of(int fd)
{
	struct sockaddr_storage a;
	socklen_t length = sizeof(a);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &length), 0);
	/* The port lies at the same place in both. */
	return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

void
nodelay(int fd, int on)
{
	assert_int_equal(
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
}

socklen_t
loopback(int family, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	struct sockaddr_in *four = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	out->ss_family = (sa_family_t)family;
	if (family == AF_INET6) {
		six->sin6_addr = in6addr_loopback;
		six->sin6_port = htons(port);
		return sizeof(*six);
	}
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	four->sin_port = htons(port);
	return sizeof(*four);
}

/* Its port is watched, as a server's is. */
void
pair_listen(struct pair *p, struct kernel *k, int family)
{
	struct sockaddr_storage a;
	socklen_t length = loopback(family, 0, &a);

	p->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(p->listener >= 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&a, length), 0);
	assert_int_equal(listen(p->listener, 8), 0);
	p->port = port_of(p->listener);
	if (k != NULL)
		kernel_watch_port(k, p->port);
}

int
pair_connect(const struct pair *p, int family)
{
	struct sockaddr_storage a;
	socklen_t length = loopback(family, p->port, &a);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, length), 0);
	return fd;
}

void
pair_open(struct pair *p, struct kernel *k, int family)
{
	pair_listen(p, k, family);
	p->client = pair_connect(p, family);
	p->server = accept(p->listener, NULL, NULL);
	assert_true(p->server >= 0);
	nodelay(p->client, 1);
	nodelay(p->server, 1);
	p->client_port = port_of(p->client);
	p->client_cookie = cookie_of(p->client);
	p->server_cookie = cookie_of(p->server);
}

void
pair_close(struct pair *p)
{
	close(p->client);
	close(p->server);
	close(p->listener);
}

void
send_all(int fd, const char *bytes, size_t n)
{
	assert_int_equal(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

void
receive_all(int fd, size_t n)
{
	char buffer[4096];

	assert_true(n <= sizeof(buffer));
	assert_int_equal(recv(fd, buffer, n, MSG_WAITALL), (ssize_t)n);
}
