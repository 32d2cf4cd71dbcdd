#include "loadgen/send/stamps.h"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define READINGS 5
#define OPT_ID_TCP (1 << 16) /* SOF_TIMESTAMPING_OPT_ID_TCP, Linux 6.2 */

static bool
set_flags(int fd, int flags)
{
	return setsockopt(
		   fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)) == 0;
}

static bool
is_connected(int fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	return getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
}

enum stamps_state
stamps_enable(int fd, bool sent)
{
	const int received =
	    SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
	const int both = received | SOF_TIMESTAMPING_TX_SOFTWARE |
			 SOF_TIMESTAMPING_TX_ACK | SOF_TIMESTAMPING_OPT_ID |
			 SOF_TIMESTAMPING_OPT_TSONLY;

	if (!sent) {
		(void)set_flags(fd, received);
		return STAMPS_OFF;
	}
	if (set_flags(fd, both | OPT_ID_TCP))
		return STAMPS_ON;
	/* Older kernels count from the last byte acknowledged: while a socket
	 * is connecting that is before its SYN, so all numbers are one high. */
	if (is_connected(fd))
		return set_flags(fd, both) ? STAMPS_ON : STAMPS_OFF;
	return set_flags(fd, received) ? STAMPS_LATER : STAMPS_OFF;
}

/* Return the software stamp of a control message as an instant. */
static struct instant
instant_of(const struct cmsghdr *message, int64_t clock_offset_ns)
{
	struct scm_timestamping stamps;

	memcpy(&stamps, CMSG_DATA(message), sizeof(stamps));
	if (stamps.ts[0].tv_sec == 0 && stamps.ts[0].tv_nsec == 0)
		return INSTANT_NONE;
	int64_t ns =
	    (int64_t)stamps.ts[0].tv_sec * NS_PER_S + stamps.ts[0].tv_nsec;
	return (struct instant){(uint64_t)(ns - clock_offset_ns)};
}

static bool
is_stamp(const struct cmsghdr *message)
{
	return message->cmsg_level == SOL_SOCKET &&
	       message->cmsg_type == SCM_TIMESTAMPING &&
	       message->cmsg_len >= CMSG_LEN(sizeof(struct scm_timestamping));
}

/* Read the origin of a stamp; false if the message is of another kind. */
static bool
read_origin(const struct cmsghdr *message, struct stamp *out)
{
	struct sock_extended_err origin;
	bool ours = (message->cmsg_level == SOL_IP &&
			message->cmsg_type == IP_RECVERR) ||
		    (message->cmsg_level == SOL_IPV6 &&
			message->cmsg_type == IPV6_RECVERR);

	if (!ours || message->cmsg_len < CMSG_LEN(sizeof(origin)))
		return false;
	memcpy(&origin, CMSG_DATA(message), sizeof(origin));
	if (origin.ee_origin != SO_EE_ORIGIN_TIMESTAMPING)
		return false;
	out->last_byte = origin.ee_data;
	out->acked = origin.ee_info == SCM_TSTAMP_ACK;
	return true;
}

union control {
	char bytes[512];
	struct cmsghdr align;
};

bool
stamps_read_sent(int fd, int64_t clock_offset_ns, struct stamp *out)
{
	union control control;
	struct cmsghdr *m;

	for (;;) {
		struct msghdr header = {.msg_control = control.bytes,
		    .msg_controllen = sizeof(control.bytes)};
		bool known = false;

		if (recvmsg(fd, &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return false;
		out->at = INSTANT_NONE;
		for (m = CMSG_FIRSTHDR(&header); m != NULL;
		     m = CMSG_NXTHDR(&header, m)) {
			if (is_stamp(m))
				out->at = instant_of(m, clock_offset_ns);
			else if (read_origin(m, out))
				known = true;
		}
		if (known && instant_is_set(out->at))
			return true;
	}
}

ssize_t
stamps_receive(int fd, void *buffer, size_t size, int64_t clock_offset_ns,
    struct instant *arrived)
{
	union control control;
	struct iovec piece = {.iov_base = buffer, .iov_len = size};
	struct msghdr header = {.msg_iov = &piece,
	    .msg_iovlen = 1,
	    .msg_control = control.bytes,
	    .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(fd, &header, 0);
	struct cmsghdr *m;

	*arrived = INSTANT_NONE;
	if (n <= 0)
		return n;
	for (m = CMSG_FIRSTHDR(&header); m != NULL;
	     m = CMSG_NXTHDR(&header, m)) {
		if (is_stamp(m))
			*arrived = instant_of(m, clock_offset_ns);
	}
	return n;
}

static int64_t
nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * NS_PER_S + t->tv_nsec;
}

int64_t
stamps_clock_offset_ns(void)
{
	int64_t best_ns = 0;
	int64_t shortest_ns = INT64_MAX;

	/* Read one clock between two readings of the other; the pair that is
	   closest together is the most exact. */
	for (int i = 0; i < READINGS; i++) {
		struct timespec before, between, after;
		clock_gettime(CLOCK_MONOTONIC, &before);
		clock_gettime(CLOCK_REALTIME, &between);
		clock_gettime(CLOCK_MONOTONIC, &after);
		int64_t took_ns = nanoseconds(&after) - nanoseconds(&before);
		if (took_ns >= shortest_ns)
			continue;
		shortest_ns = took_ns;
		best_ns =
		    nanoseconds(&between) - nanoseconds(&before) - took_ns / 2;
	}
	return best_ns;
}
