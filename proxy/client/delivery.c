/* delivery.c: reads the kernel's account of connections whose last response may
 * still be on its way. */
#include "proxy/client/delivery.h"

/* Not netinet/tcp.h, whose struct tcp_info lacks the fields since 2017. */
#include <linux/tcp.h>
#include <stddef.h>

#define LEAST_NS (10 * NS_PER_MS) /* less is not called late */
#define INFO_NEEDED \
	(offsetof(struct tcp_info, tcpi_dsack_dups) + sizeof(uint32_t))

/* Read a connection's account.  False: there is none, or the kernel is older
 * than 4.20. */
static bool
account_read(int fd, struct tcp_info *out)
{
	socklen_t length = sizeof(*out);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, out, &length) == 0 &&
	       length >= INFO_NEEDED;
}

static void
unlist(struct client *c)
{
	if (c->delivery.place != NULL)
		TAILQ_REMOVE(&c->clients->delivering, c, delivery.link);
	c->delivery.place = NULL;
}

/* Report a response that was acknowledged at the given time, if it was late. */
static void
judge(struct client *c, const struct tcp_info *info, struct instant at)
{
	struct delivery *d = &c->delivery;
	int64_t late_ns = instant_since(at, d->written);
	struct client_late late = {.place = d->place,
	    .request = d->request,
	    .acknowledged = at,
	    .resent = info->tcpi_total_retrans - d->resent};
	uint32_t twice = info->tcpi_dsack_dups - d->twice;
	uint64_t full_us = info->tcpi_rwnd_limited - d->full_us;
	bool full = full_us * 2 > (uint64_t)late_ns / NS_PER_US;

	late.resent -= late.resent < twice ? late.resent : twice;
	unlist(c);
	if (late_ns > LEAST_NS + (int64_t)info->tcpi_rtt * NS_PER_US &&
	    (late.resent > 0 || full))
		c->clients->events->late(c, &late);
}

/* Look at one connection. */
static void
look(struct client *c, struct instant now)
{
	struct delivery *d = &c->delivery;
	struct tcp_info info;

	if (!account_read(c->fd, &info))
		unlist(c);
	else if (instant_before(d->written, c->first_byte))
		/* A client that asks on has its response. */
		judge(c, &info, c->first_byte);
	else if (info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0)
		judge(c, &info,
		    instant_plus(
			now, -(int64_t)info.tcpi_last_ack_recv * NS_PER_MS));
}

static void
on_look(void *user, bool forced)
{
	struct clients *all = user;
	struct instant now = instant_now();
	struct client *c, *next;

	(void)forced;
	for (c = TAILQ_FIRST(&all->delivering); c != NULL; c = next) {
		next = TAILQ_NEXT(c, delivery.link);
		/* One that was written just now has its look the next time. */
		if (instant_since(now, c->delivery.written) >= LEAST_NS)
			look(c, now);
	}
	if (!TAILQ_EMPTY(&all->delivering))
		timer_arm(
		    &all->loop->timers, &all->look_timer, DELIVERY_LOOK_NS);
}

void
delivery_watch(
    struct client *c, struct instant written, void *place, uint64_t request)
{
	struct clients *all = c->clients;
	struct delivery *d = &c->delivery;
	struct tcp_info info;

	if (c->closed || !c->tcp)
		return;
	if (d->place != NULL && instant_since(written, d->written) > LEAST_NS)
		look(c, written);
	unlist(c);
	if (!account_read(c->fd, &info) || info.tcpi_unacked == 0)
		return;
	TAILQ_INSERT_TAIL(&all->delivering, c, delivery.link);
	*d = (struct delivery){.link = d->link,
	    .place = place,
	    .request = request,
	    .written = written,
	    .resent = info.tcpi_total_retrans,
	    .twice = info.tcpi_dsack_dups,
	    .full_us = info.tcpi_rwnd_limited};
	if (!timer_is_set(&all->look_timer))
		timer_arm(
		    &all->loop->timers, &all->look_timer, DELIVERY_LOOK_NS);
}

void
delivery_forget(struct client *c)
{
	unlist(c);
}

void
delivery_init(struct clients *all)
{
	TAILQ_INIT(&all->delivering);
	timer_init(&all->look_timer, on_look, all);
}

void
delivery_fini(struct clients *all)
{
	timer_clear(&all->loop->timers, &all->look_timer);
}
