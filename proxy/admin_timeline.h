/*
 * admin_timeline.h: GET /timeline/ID on the admin listener.
 *
 * The answer comes from the analysis thread and so arrives later; whoever
 * asked may be gone by then.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_TIMELINE_H
#define TAILOR_PROXY_ADMIN_TIMELINE_H

struct evhttp_request;
struct proxy;

/* Answer an admitted request with the tale of id. */
void admin_timeline(struct evhttp_request *r, struct proxy *p, const char *id);

#endif
