/* queue.c: requests that wait, and for how long.
 *
 * A request does not fail at once if its server has no free slot or no server
 * is up.  nginx and HAProxy do not fail it either: it waits in the server's
 * backlog, or they try again for some seconds. */
#include "proxy/request/queue.h"

#include "proxy/client/client.h"
#include "proxy/request/attempt.h"
#include "proxy/request/request.h"

#define LONG_LOOK_NS (100 * NS_PER_MS)

/* Insert a request in the order of receipt, nearly always at the end. */
static void
queue_insert(struct queue *q, struct request *r)
{
	struct request *before = TAILQ_LAST(&q->waiting, request_list);
	const struct request *first = TAILQ_FIRST(&q->waiting);

	request_pack(r);
	r->state = REQUEST_QUEUED;
	r->queued = instant_now();
	q->length++;
	if (first != NULL && instant_before(r->received, first->received))
		before = NULL;
	while (before != NULL && instant_before(r->received, before->received))
		before = TAILQ_PREV(before, request_list, queue_link);
	if (before == NULL)
		TAILQ_INSERT_HEAD(&q->waiting, r, queue_link);
	else
		TAILQ_INSERT_AFTER(&q->waiting, before, r, queue_link);
	request_seek(r);
}

void
queue_add(struct request *r)
{
	if (r->state != REQUEST_QUEUED)
		queue_insert(&r->proxy->queue, r);
}

void
queue_remove(struct request *r)
{
	struct queue *q = &r->proxy->queue;

	if (r->state != REQUEST_QUEUED)
		return;
	TAILQ_REMOVE(&q->waiting, r, queue_link);
	q->length--;
	distribution_record(
	    &r->proxy->metrics.queue, instant_since(instant_now(), r->queued));
}

/* The first request that can start, or NULL.  A request that waits for one
 * server (because its first attempt failed on the other, or its client has its
 * own connection there) does not block those behind it. */
static struct request *
queue_next(struct proxy *p)
{
	struct request *r;

	TAILQ_FOREACH(r, &p->queue.waiting, queue_link)
	{
		if (request_choose(r) >= 0)
			return r;
		if (r->race.started == 0 && r->client->own == NULL)
			return NULL;
	}
	return NULL;
}

void
queue_run(struct proxy *p)
{
	struct request *r;

	while ((r = queue_next(p)) != NULL)
		if (request_is_left(r))
			client_close(r->client);
		else
			request_dispatch(r);
}

void
queue_wake(struct proxy *p)
{
	if (p->queue.length > 0 || p->hedges_wait)
		loop_put_off(&p->loop, &p->policy);
}

/* Take the slots of attempts that have lasted long while their server was in no
 * hazard: they wait for something else than the server. */
static void
attempts_aside(struct proxy *p, struct instant now)
{
	UPSTREAM_EACH(&p->upstream, i)
	{
		const struct hedging_server *h = &p->hedging.server[i];
		struct connection *u;

		if (h->hazards != 0 ||
		    instant_since(now, h->hazard_over) < QUEUE_LONG_NS)
			continue;
		TAILQ_FOREACH(u, &p->upstream.server[i].busy.list, link)
		{
			struct attempt *a = u->user;

			if (u->ops == &attempt_ops &&
			    instant_since(now, a->begun) >= QUEUE_LONG_NS)
				p->metrics.asides += race_release_slot(
				    &p->hedging, &a->request->race, a->index);
		}
	}
}

/* The oldest request in the queue that may go to any server, or NULL. */
static struct request *
queue_first_free(const struct queue *q)
{
	struct request *r = TAILQ_FIRST(&q->waiting);

	while (r != NULL && r->client->own != NULL)
		r = TAILQ_NEXT(r, queue_link);
	return r;
}

/* Send requests that have waited long to a backup with much room. */
static void
queue_overflow(struct proxy *p, struct instant now)
{
	struct request *r;
	int backup;

	while ((r = queue_first_free(&p->queue)) != NULL &&
	       instant_since(now, r->queued) >= QUEUE_LONG_NS &&
	       (backup = hedging_overflow(&p->hedging, now)) >= 0) {
		if (request_is_left(r)) {
			client_close(r->client);
			continue;
		}
		p->metrics.overflowed++;
		request_start(r, (unsigned)backup, now);
	}
}

static bool
is_overdue(const struct request *r, struct instant now)
{
	const struct config *c = r->generation->config;
	struct instant unserved = r->proxy->queue.unserved;

	if (!instant_is_set(unserved))
		return instant_since(now, r->queued) >=
		       c->proxy.queue_timeout_ns;
	if (instant_before(unserved, r->queued))
		unserved = r->queued;
	return instant_since(now, unserved) >= c->proxy.server_wait_ns;
}

static void
queue_expire(struct proxy *p, struct instant now)
{
	bool unserved = instant_is_set(p->queue.unserved);
	struct request *r;

	while ((r = TAILQ_FIRST(&p->queue.waiting)) != NULL &&
	       is_overdue(r, now)) {
		p->metrics.queue_timeouts++;
		request_fail(r, 503, unserved ? "no_server" : "queue_timeout");
	}
}

void
queue_tick(struct proxy *p, struct instant now)
{
	struct queue *q = &p->queue;

	if (hedging_choose(&p->hedging) != HEDGING_UNAVAILABLE)
		q->unserved = INSTANT_NONE;
	else if (!instant_is_set(q->unserved))
		q->unserved = now;
	if (q->length == 0)
		return;
	if (instant_since(now, q->looked) >= LONG_LOOK_NS) {
		q->looked = now;
		attempts_aside(p, now);
	}
	queue_run(p);
	queue_overflow(p, now);
	queue_expire(p, now);
}
