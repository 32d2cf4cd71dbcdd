/* Goal: the overflows of accept queues are found in /proc/net/netstat, and a
 * listener's among them. */
#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/client/arrival.h"
#include "proxy/client/clients.h"

/* Goal: the value is the one below its name, wherever that stands. */
TEST(test_found)
{
	assert_true(arrival_overflows("TcpExt: A ListenOverflows B\n"
				      "TcpExt: 1 22 333\n"
				      "IpExt: C\nIpExt: 4\n") == 22);
	assert_true(arrival_overflows(
			"IpExt: C\nIpExt: 4\n"
			"TcpExt: A ListenOverflows\n"
			"TcpExt: 1 18446744073709551615\n") == UINT64_MAX);
}

/* Goal: text without it, or cut anywhere before it, is no overflow. */
TEST(test_not_found)
{
	static const char whole[] = "TcpExt: A ListenOverflows\nTcpExt: 1 22\n";
	char part[sizeof(whole)];

	assert_true(arrival_overflows("TcpExt: A\nTcpExt: 1\n"
				      "IpExt: ListenOverflows\n") == 0);
	assert_true(
	    arrival_overflows("TcpExt: A ListenOverflows\nTcpExt: 1") == 0);
	for (size_t n = 0; n < strlen(whole) - strlen("22\n"); n++) {
		memcpy(part, whole, n);
		part[n] = '\0';
		assert_true(arrival_overflows(part) == 0);
	}
}

#define CALLERS 5

/* Goal: what a full queue has dropped is counted once its backlog shows that it
 * was full, though it was looked at while that was being accepted. */
TEST(test_full_queue)
{
	struct sockaddr_in to = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(to);
	static struct metrics metrics;
	struct clients clients = {.metrics = &metrics};
	struct listener l = {.clients = &clients,
	    .fd = socket(AF_INET, SOCK_STREAM, 0),
	    .name = "here"};
	struct instant now = instant_now();
	int caller[CALLERS];

	assert_int_equal(bind(l.fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(l.fd, 1), 0);
	assert_int_equal(getsockname(l.fd, (struct sockaddr *)&to, &length), 0);
	arrival_check_queue(&l, now);
	for (int i = 0; i < CALLERS; i++) {
		caller[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(caller[i], (struct sockaddr *)&to, sizeof(to));
	}
	l.queue.drained = 1;
	arrival_check_queue(&l, now);
	assert_true(metrics.dropped == 0);
	assert_false(instant_is_set(l.queue.full));
	l.queue.drained = 2;
	arrival_queue_empty(&l);
	arrival_check_queue(&l, now);
	assert_true(metrics.dropped >= 1 && metrics.dropped <= CALLERS);
	assert_true(instant_is_set(l.queue.full));
	for (int i = 0; i < CALLERS; i++)
		close(caller[i]);
	close(l.fd);
}
