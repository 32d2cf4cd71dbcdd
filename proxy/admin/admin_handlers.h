/* admin_handlers.h: the handlers of the admin listener's routes.  Proxy thread
 * only. */
#pragma once

#include "proxy/admin/admin_call.h"

/* Handlers that change something, by POST (admin_actions.c). */
void admin_switch(struct admin_call *call);
void admin_hazard(struct admin_call *call);
void admin_reload(struct admin_call *call);
void admin_drain(struct admin_call *call);
void admin_undrain(struct admin_call *call);
void admin_restart(struct admin_call *call);
void admin_log(struct admin_call *call);

/* Handlers that put a question to the analysis thread, and respond when its
 * text arrives (admin_timeline.c). */

/* GET /timeline/ID: the tale of ID, in the form that the client requests. */
void admin_timeline(struct admin_call *call);
/* POST /pin?id=ID: keep the tale of ID. */
void admin_pin(struct admin_call *call);
/* POST analyze: keep and show the tale of the body's id, with the client's
 * stamps; only under /.talechain/. */
void admin_analyze(struct admin_call *call);
/* GET /slow?n=20&since=SECONDS&cause=CODE&path=PATH: tailor.slow/1. */
void admin_slow(struct admin_call *call);
/* GET /blame?percentile=P&route=ROUTE&since=SECONDS&until=SECONDS: what the
 * tail consists of, JSON or a page. */
void admin_blame(struct admin_call *call);
/* GET /accounts?since=SECONDS&until=SECONDS: the accounts of requests, CSV. */
void admin_accounts(struct admin_call *call);
/* GET /latencies?since=SECONDS&until=SECONDS: histograms of all requests by
 * class, CSV. */
void admin_latencies(struct admin_call *call);
/* GET /live.json: tailor.live/1. */
void admin_live(struct admin_call *call);

/* GET /live: the page that draws /live.json.  Does not wait. */
void admin_live_page(struct admin_call *call);

/* True if Accept prefers HTML to plain text. */
bool admin_wants_page(const struct admin_call *call);
