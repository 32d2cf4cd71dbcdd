/*
 * admin_timeline.h: what the admin listener asks the analysis thread for:
 * timelines, the list of slow requests, the live page.
 *
 * Answers arrive later; the asker may be gone by then.  Each function
 * answers an admitted request.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_TIMELINE_H
#define TAILOR_PROXY_ADMIN_ADMIN_TIMELINE_H

#include <stdbool.h>

struct evhttp_request;
struct proxy;

/* GET /timeline/ID: the tale of id, in the form that is wanted. */
void admin_timeline(struct evhttp_request *r, struct proxy *p, const char *id);

/* GET /slow?n=20&since=SECONDS&cause=CODE&path=PATH: tailor.slow/1. */
void admin_slow(struct evhttp_request *r, struct proxy *p);

/* GET /live.json: tailor.live/1. */
void admin_live(struct evhttp_request *r, struct proxy *p);

/* GET /live: the page that draws it.  Does not wait. */
void admin_live_page(struct evhttp_request *r);

/* Whether the asker would rather see a page than plain text. */
bool admin_wants_page(struct evhttp_request *r);

/* POST /pin?id=ID: keep the tale of id. */
void admin_pin(struct evhttp_request *r, struct proxy *p);

#endif
