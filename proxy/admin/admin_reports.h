/*
 * admin_reports.h: what the admin listener reports, as JSON documents.
 *
 * Each writes one whole document into an empty writer.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_REPORTS_H
#define TAILOR_PROXY_ADMIN_ADMIN_REPORTS_H

#include "base/json.h"
#include "proxy/analysis/analysis.h"

struct proxy;

/* Both servers: tailor.servers/1. */
void admin_write_servers(struct proxy *p, struct json *j);

/* What is in flight, the oldest max of it: tailor.requests/1. */
void admin_write_requests(struct proxy *p, unsigned max, struct json *j);

/* Where the timeline stream is. */
void admin_write_stream(struct proxy *p, struct json *j);

/* Version, placement, listeners: tailor.info/1. */
void admin_write_info(struct proxy *p, struct json *j);

/* What hedging cost and what it was worth (proxy/stats/ledger.h):
 * tailor.ledger/1. */
void ledger_report(struct proxy *p, struct json *j);

/* The last ten minutes, tailor.live/1, which page/live.js draws: begun with the
 * current state; the analysis thread adds hazards, latencies and slow requests.
 * NULL: no memory. */
struct analysis_report *live_report_new(struct proxy *p);

#endif
