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

#include "proxy/request/proxy.h"

/* The 101 of this attempt has been committed: bytes flow from now on. */
void tunnel_begin(struct attempt *a);

/* What the client has sent (taken over); NULL: it will send no more. */
void tunnel_pass(struct request *r, struct chain *data);

#endif
