/* Goal: what lies in pieces arrives as one, however long the pieces are. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/net/socket.h"

#define PIECES 3
#define BYTES 40000

static char source[BYTES], got[BYTES];

/* Sends pieces of these lengths and reads them. */
static void
send_pieces(const size_t *length, int count)
{
	struct iovec iov[PIECES];
	size_t total = 0, read = 0;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (int i = 0; i < count; i++) {
		iov[i] = (struct iovec){source + total, length[i]};
		total += length[i];
	}
	assert_int_equal(socket_send(pair[0], iov, count, 0), total);
	assert_int_equal(close(pair[0]), 0);
	while (read < total) {
		ssize_t n = recv(pair[1], got + read, sizeof(got) - read, 0);
		assert_true(n > 0);
		read += (size_t)n;
	}
	assert_int_equal(recv(pair[1], got + read, 1, 0), 0);
	assert_memory_equal(got, source, total);
	assert_int_equal(close(pair[1]), 0);
}

/* Goal: around the length up to which pieces are copied, and far from it. */
TEST(test_pieces)
{
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (char)(i * 2654435761u >> 13);
	send_pieces((size_t[]){1}, 1);
	send_pieces((size_t[]){30000}, 1);
	send_pieces((size_t[]){700, 1024}, 2);
	send_pieces((size_t[]){5, 0, 7}, 3);
	for (size_t total = 4090; total < 4102; total++) {
		send_pieces((size_t[]){total - 1, 1}, 2);
		send_pieces((size_t[]){1, total - 1}, 2);
		send_pieces((size_t[]){1000, total - 3000, 2000}, 3);
	}
	send_pieces((size_t[]){10, 20000, 10}, 3);
	send_pieces((size_t[]){20000, 10, 10}, 3);
}

/* Goal: of a lost connection comes an errno and no signal, in either way. */
TEST(test_lost)
{
	struct iovec iov[] = {{source, 3}, {source, 9000}};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(socket_send(pair[0], iov, 1, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(socket_send(pair[0], iov, 2, 0), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(close(pair[0]), 0);
}

/* Goal: a socket that is connected to itself is recognised, and no other is. */
TEST(test_own_peer)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(a);
	int own = socket(AF_INET, SOCK_STREAM, 0);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	int client = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	assert_int_equal(bind(own, (const void *)&a, size), 0);
	assert_int_equal(getsockname(own, (void *)&a, &size), 0);
	assert_int_equal(connect(own, (const void *)&a, size), 0);
	assert_true(socket_is_own_peer(own));
	close(own);
	a.sin_port = 0;
	assert_int_equal(bind(server, (const void *)&a, size), 0);
	assert_int_equal(listen(server, 1), 0);
	assert_int_equal(getsockname(server, (void *)&a, &size), 0);
	assert_int_equal(connect(client, (const void *)&a, size), 0);
	assert_false(socket_is_own_peer(client));
	close(client);
	close(server);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_false(socket_is_own_peer(pair[0]));
	assert_false(socket_is_gone(pair[0]));
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	assert_false(socket_is_gone(pair[0]));
	close(pair[1]);
	assert_true(socket_is_gone(pair[0]));
	close(pair[0]);
}
