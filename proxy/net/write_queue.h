/*
 * write_queue.h: what a turn of the loop has to write, written together.
 *
 * Requests for idle connections and whole answers wait until the events of a
 * turn have been read, or SENDING_MAX of them wait.  Then reading and writing,
 * the kernel's part too, each find their code in the processor's caches, and a
 * receiver whom the first one woke up is awake for the others.  What is in a
 * hurry (a hedge) or not whole yet (a long body) is written at once: the rest
 * may be cut in this turn, and the client must get what was committed.
 *
 * Until then nothing of a request has been sent: bytes that its server sends
 * before are no answer to it.
 */
#ifndef TAILOR_PROXY_NET_WRITE_QUEUE_H
#define TAILOR_PROXY_NET_WRITE_QUEUE_H

#include <sys/queue.h>

#define SENDING_MAX 64

struct client;
struct uplink;
struct proxy;

struct sending {
	TAILQ_HEAD(, uplink) uplinks;
	TAILQ_HEAD(, client) clients;
	unsigned count; /* in both */
};

void sending_init(struct sending *s);

/* Let it wait for the end of the turn (unless it waits for its socket). */
void sending_add_uplink(struct uplink *u);
void sending_add_client(struct client *c);

/* It waits no more, if it did. */
void sending_drop_uplink(struct uplink *u);
void sending_drop_client(struct client *c);

/* Write everything.  When the turn ends; only where nothing else is going on,
 * because it ends requests and begins others. */
void sending_run(struct proxy *p);

/* The same if much is waiting.  After each event. */
void sending_bound(struct proxy *p);

#endif
