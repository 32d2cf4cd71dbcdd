/* arrival.c: reads the kernel's accounts of accepted connections and of
 * listeners' queues. */
#include "proxy/client/arrival.h"

/* Not netinet/tcp.h, whose struct tcp_info lacks the fields since 2017. */
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

#define LEAST_NS (10 * NS_PER_MS) /* the kernel counts in up to 10 ms */
#define MOST_MS (3600 * 1000U)	  /* no wait is as long */
#define SOON_NS (100 * NS_PER_MS) /* for a client that waits to send */
#define LOG_NS (60 * NS_PER_S)
#define CHECK_NS (100 * NS_PER_MS) /* clients decide how often one is late */
#define NETSTAT "/proc/self/net/netstat"

/* struct tcp_info of Linux 6.7, from which on it ends with times of timeouts:
 * before the handshake's end, of SYN-ACKs. */
struct tcp_account {
	union {
		struct tcp_info info;
		struct {
			char before[244];
			uint32_t timeouts_ms;
		};
	};
};
_Static_assert(offsetof(struct tcp_info, tcpi_snd_wnd) == 228,
    "total_rto_time follows after 12 bytes");

static bool
account_read(int fd, struct tcp_account *out)
{
	socklen_t length = sizeof(*out);

	memset(out, 0, sizeof(*out));
	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, out, &length) == 0;
}

/* How many packets a listener has dropped, for any reason. */
static uint32_t
drops_read(int fd)
{
	uint32_t memory[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(memory);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &length);
	return memory[SK_MEMINFO_DROPS];
}

uint64_t
arrival_overflows(const char *netstat)
{
	const char *c = strstr(netstat, "TcpExt:"), *name, *value;

	if (c == NULL)
		return 0;
	name = strstr(c, " ListenOverflows");
	value = strchr(c, '\n');
	if (name == NULL || value == NULL || name > value)
		return 0;
	/* Below each word stands its value. */
	for (; c <= name && value != NULL; c++)
		if (*c == ' ')
			value = strchr(value + 1, ' ');
	return value != NULL ? strtoull(value, NULL, 10) : 0;
}

/* How often any queue of this network namespace was full; 0: not known. */
static uint64_t
overflows_read(void)
{
	char *text = NULL;
	size_t length;
	uint64_t n;

	if (file_read(NETSTAT, &text, &length) < 0)
		return 0;
	n = arrival_overflows(text);
	free(text);
	return n;
}

void
arrival_queue_empty(struct listener *l)
{
	if (l->queue.longest < l->queue.drained)
		l->queue.longest = l->queue.drained;
	l->queue.drained = 0;
}

void
arrival_check_queue(struct listener *l, struct instant now)
{
	struct listener_queue *q = &l->queue, before = *q;
	struct tcp_account a;
	uint64_t n;

	if (l->unix_socket)
		return;
	q->checked = now;
	q->drops = drops_read(l->fd);
	q->overflows = overflows_read();
	q->longest = 0;
	/* The kernel counts drops for any reason, and overflows of any queue.
	 * From a queue that was full, that many were accepted. */
	n = q->overflows - before.overflows;
	if (n > q->drops - before.drops)
		n = q->drops - before.drops;
	if (!instant_is_set(before.checked) || n == 0 ||
	    !account_read(l->fd, &a))
		return;
	if (before.longest <= a.info.tcpi_sacked &&
	    before.drained <= a.info.tcpi_sacked) {
		/* The rest of the backlog is not accepted yet. */
		if (before.drained > 0) {
			*q = before;
			q->checked = now;
		}
		return;
	}
	q->full = now;
	l->clients->metrics->dropped += n;
	if (instant_is_set(q->logged) && instant_since(now, q->logged) < LOG_NS)
		return;
	q->logged = now;
	log_event(LOG_LEVEL_WARNING, "accept_queue_full",
	    "address=%s dropped=%llu queue_max=%u advice=\"clients try again "
	    "after 1 s: raise net.core.somaxconn, for a socket unit Backlog=, "
	    "or give Tailor's proxy thread a CPU of its own (proxy.cpu)\"",
	    l->name, (unsigned long long)n, a.info.tcpi_sacked);
}

/* A SYN-ACK was sent again: find since when the client has been connecting. */
static void
connecting_find(
    struct listener *l, const struct tcp_account *a, struct client_arrival *out)
{
	socklen_t length = sizeof(int);
	int defer = 0;

	/* Then the kernel also sends it again if only the request is late. */
	getsockopt(l->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &defer, &length);
	if (defer != 0)
		return;
	l->clients->metrics->late_connect++;
	if (a->timeouts_ms == 0 || a->timeouts_ms > MOST_MS)
		return;
	out->connecting = instant_plus(
	    out->established, -(int64_t)a->timeouts_ms * NS_PER_MS);
	if (instant_since(out->accepted, l->queue.checked) >= CHECK_NS)
		arrival_check_queue(l, out->accepted);
	if (!instant_is_set(l->queue.full) ||
	    instant_before(l->queue.full, out->connecting))
		out->synacks = a->info.tcpi_total_retrans;
}

void
arrival_read(
    struct listener *l, int fd, struct instant now, struct client_arrival *out)
{
	struct tcp_account a;

	*out = (struct client_arrival){.accepted = now};
	if (l->unix_socket || !account_read(fd, &a) ||
	    a.info.tcpi_last_data_sent > MOST_MS)
		return;
	/* Nothing was sent since. */
	out->established =
	    instant_plus(now, -(int64_t)a.info.tcpi_last_data_sent * NS_PER_MS);
	if (a.info.tcpi_bytes_received > 0)
		out->arrived = instant_plus(
		    now, -(int64_t)a.info.tcpi_last_data_recv * NS_PER_MS);
	if (a.info.tcpi_total_retrans > 0)
		connecting_find(l, &a, out);
}

struct client_arrival
arrival_take(struct client *c, struct instant first_byte)
{
	struct client_arrival a = c->arrival;
	struct instant came =
	    instant_is_set(a.arrived) ? a.arrived : first_byte;

	c->arrival = (struct client_arrival){.accepted = INSTANT_NONE};
	if (!instant_is_set(a.accepted) ||
	    instant_since(first_byte, a.accepted) >= NS_PER_S)
		return c->arrival;
	/* A client that did not send soon had not waited to do so. */
	if (instant_since(came, a.established) > SOON_NS)
		a.connecting = INSTANT_NONE;
	if (instant_is_set(a.arrived) &&
	    instant_since(a.accepted, a.arrived) >= LEAST_NS)
		c->clients->metrics->late_accept++;
	else
		a.arrived = INSTANT_NONE;
	return a;
}
