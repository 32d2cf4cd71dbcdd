/*
 * tunnel.h: upgrades to WebSocket.
 *
 * Where proxy.websocket allows it, the upgrade of a client is asked for anew
 * at the server; when that answers 101 the request becomes a tunnel: what the
 * client sends is passed on as it comes, what the server sends is the
 * response's endless body, and who does not read stops who sends.
 * Neither is framed or looked into.
 *
 * Only WebSocket: an upgrade that the two sides understand differently is a
 * smuggled request, and h2c is the known case.  A tunnel has one end and is
 * never hedged (E3).  Proxy thread only.
 */
#ifndef TAILOR_PROXY_REQUEST_TUNNEL_H
#define TAILOR_PROXY_REQUEST_TUNNEL_H

#include "proxy/request/request.h"

/* Lines that ask a server for it. */
#define TUNNEL_LINES "Connection: upgrade\r\nUpgrade: websocket\r\n"

/* Whether a request asks for an upgrade that may be passed on: GET without a
 * body, exactly "Upgrade: websocket", one Sec-WebSocket-Key. */
bool tunnel_wanted(const struct http_head *head);

/* Whether a 101 agrees to exactly that. */
bool tunnel_agreed(const struct http_head *head);

/* The 101 of this attempt has been committed: bytes flow from now on. */
void tunnel_begin(struct attempt *a);

/* All that the client has sent: pass it on. */
void tunnel_pass(struct client *c);

/* The client will send no more; what the server still says is passed on. */
void tunnel_ended(struct client *c);

#endif
