/* client.h: a client's connection.
 *
 * A client sends one request after the other; a pipelined request waits in the
 * input block until the request before it has its response, so responses are
 * always in order.  The code that serves a request sets .ops and .user when the
 * head has arrived (clients.h), and gets callbacks from then on; a connection
 * knows neither requests nor servers.  An idle client owns no block, except for
 * a stray CRLF.  Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

/* Release the structs of clients that were closed in this turn, for reuse. */
void clients_reap(struct clients *all);

/* Serve a socket that l just accepted (the client owns it after success).
 *   proxy_header  the connection begins with a PROXY header, which names the
 *                 peer
 * 0, -ENOMEM, or -EUSERS if its address has too many connections. */
int client_open(
    struct listener *l, int fd, const struct peer *peer, bool proxy_header);

/* Set the peer of c, from a PROXY header.  0 or -EUSERS, as client_open. */
int client_belongs(struct client *c, const struct peer *peer);

/* Write the bytes that wait in c->out.  c may be closed on return. */
void client_flush(struct client *c);

/* Call client_flush when the turn ends. */
void client_flush_later(struct client *c);

/* Write the rest when the socket takes more, in a later turn. */
void client_write_later(struct client *c);

/* From now on a client's bytes go to ops->stream. */
void client_tunnel(struct client *c);

/* Make the kernel send the bytes that it holds back because the last flush had
 * c->more set. */
void client_push(struct client *c);

/* The present request is over: begin the next one, or close. */
void client_next(struct client *c);

/* Stop and resume reading (a tunnel's back-pressure). */
void client_pause(struct client *c);
void client_resume(struct client *c);

/* Close a client at once, because it left.  c may be gone on return. */
void client_close(struct client *c);
/* The same, because Tailor decides so: why is static text. */
void client_cut(struct client *c, const char *why);

/* True if a client has acknowledged all of its last response and sent nothing
 * since: closing it causes no reset that could overtake the response. */
bool client_has_all(const struct client *c);

/* Count bytes that came after a client's last response and were dropped.  c may
 * be closed on return. */
void client_linger(struct client *c, uint64_t bytes);

/* Close the client that has been without a request for longest, to make room
 * for another.  False: all clients have a request.  O(1). */
bool client_shed(struct clients *all);

/* A client's request begins: client_shed must not close it any more. */
void client_is_needed(struct client *c);

/* A response of Tailor's own. */
struct client_reply {
	unsigned status;
	const char *type;  /* Content-Type of the text */
	const char *extra; /* further whole header lines, or NULL */
	const char *text;
	size_t length;
	const char *request_id; /* or NULL */
	bool head_only;		/* omit text, but send Content-Length */
};

/* Send a client a response of Tailor's own.  The connection is kept if c->close
 * is not set.  If c->ops is set, c->response must be WHOLE, and ops->written is
 * called as for any other response. */
void client_respond(struct client *c, const struct client_reply *reply);
