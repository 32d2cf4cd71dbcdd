/* client.h: a client's connection.
 *
 * A client sends one request after the other; a pipelined one waits in the
 * input block until the one before it is answered, so responses are always in
 * order.  What serves the present request sets .ops and .user when its head is
 * there (clients.h) and is called by its connection from then on; a connection
 * knows neither requests nor servers.  An idle client owns no block, but for a
 * stray CRLF.  Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

/* The structs of clients that were closed in this turn may be used again. */
void clients_reap(struct clients *all);

/* Serve a freshly accepted socket (taken over if that succeeds).
 *   proxy_header  the connection begins with a PROXY header: the peer's name
 * 0, -ENOMEM, or -EUSERS if its address has too many connections. */
int client_open(
    struct clients *all, int fd, const struct peer *peer, bool proxy_header);

/* From now on c is that peer's.  0 or -EUSERS as above. */
int client_belongs(struct client *c, const struct peer *peer);

/* Write what waits in c->out.  c may be closed on return. */
void client_flush(struct client *c);

/* The same when the turn ends. */
void client_flush_later(struct client *c);

/* The same when its socket takes more, in a later turn. */
void client_write_later(struct client *c);

/* From now on a client's bytes go to ops->stream. */
void client_tunnel(struct client *c);

/* Have the kernel send what it holds of a client, where a flush with c->more
 * was followed by none. */
void client_push(struct client *c);

/* The present request is over: go on with the next, or close. */
void client_next(struct client *c);

/* Stop and resume reading (a tunnel's back-pressure). */
void client_pause(struct client *c);
void client_resume(struct client *c);

/* Close a client at once.  c may be gone on return. */
void client_close(struct client *c);

/* True if a client has all of its last response, and nothing of it came since:
 * it may be closed without a reset that overtakes the response. */
bool client_has_all(const struct client *c);

/* So many bytes have been dropped of what came after its last response.  c may
 * be closed on return. */
void client_linger(struct client *c, uint64_t bytes);

/* Close the client that has been without a request for longest, to make room
 * for another.  False: all have one.  O(1). */
bool client_shed(struct clients *all);

/* A client's request begins: it may not be closed to make room any more. */
void client_is_needed(struct client *c);

/* A response of Tailor's own. */
struct client_reply {
	unsigned status;
	const char *type;  /* of the text */
	const char *extra; /* whole further lines, or NULL */
	const char *text;
	size_t length;
	const char *request_id; /* or NULL */
	bool head_only;		/* the length is named all the same */
};

/* Give it a response of Tailor's own.  The connection is kept if c->close is
 * not set.  If something serves the request, c->response must be WHOLE, and
 * ops->written comes as for any other. */
void client_respond(struct client *c, const struct client_reply *reply);
