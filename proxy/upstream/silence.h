/*
 * silence.h: noticing that a server has stopped responding.
 *
 * A server that hangs shows no collection and no end; its connections stay
 * open.  What can be seen is that requests wait on it and not a byte comes
 * from it.  That is called a hazard (unresponsive) only when
 *
 *   - several requests wait (SILENCE_REQUESTS), or one for very long;
 *   - the silence is longer than the longest of the last five to ten minutes,
 *     by a factor, and than a second; ten while little is known of the server;
 *   - a request of Tailor's own (its health target, or a copy of a recent
 *     request) was sent meanwhile and had no response either.
 *
 * It ends with the first byte from the server.  A false alarm costs a swap and
 * a second attempt for what may be repeated; no request fails by it.
 *
 * Cost: a counter for each read, and a walk over the busy connections ten
 * times a second.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_UPSTREAM_SILENCE_H
#define TAILOR_PROXY_UPSTREAM_SILENCE_H

#include "proxy/upstream/upstream.h"

/* Look how long the server has been silent.  Every tick. */
void silence_tick(struct server *s, struct instant now);

#endif
