/*
 * admin_timeline.h: what the admin listener asks the analysis thread for:
 * timelines, the list of slow requests, the live page.
 *
 * The handlers respond when its text arrives.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_TIMELINE_H
#define TAILOR_PROXY_ADMIN_ADMIN_TIMELINE_H

#include "proxy/admin/admin_call.h"

/* GET /timeline/ID: the tale of id, in the form that is wanted. */
void admin_timeline(struct admin_call *call);

/* GET /slow?n=20&since=SECONDS&cause=CODE&path=PATH: tailor.slow/1. */
void admin_slow(struct admin_call *call);

/* GET /live.json: tailor.live/1. */
void admin_live(struct admin_call *call);

/* GET /live: the page that draws it.  Does not wait. */
void admin_live_page(struct admin_call *call);

/* Whether the asker would rather see a page than plain text. */
bool admin_wants_page(const struct admin_call *call);

/* POST /pin?id=ID: keep the tale of id. */
void admin_pin(struct admin_call *call);

#endif
