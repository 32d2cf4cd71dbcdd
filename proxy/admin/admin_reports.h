/* admin_reports.h: the JSON documents of the admin listener.
 *
 * Each function writes one whole document into an empty j.  Proxy thread
 * only. */
#pragma once

#include "base/json.h"
#include "proxy/admin/exposition.h"
#include "proxy/analysis/analysis.h"

struct profiler_stats;
struct proxy;

/* Write both servers, tailor.servers/1; or one of them, as an object. */
void admin_write_servers(struct proxy *p, struct json *j);
void admin_write_server(struct proxy *p, unsigned i,
    const struct profiler_stats *stats, struct json *j);

/* Requests in flight, the oldest max of them: tailor.requests/1. */
void admin_write_requests(struct proxy *p, unsigned max, struct json *j);

/* Write where the timeline stream is. */
void admin_write_stream(struct proxy *p, struct json *j);

/* Version, placement, listeners: tailor.info/1. */
void admin_write_info(struct proxy *p, struct json *j);

/* Cost and worth of hedging (proxy/stats/ledger.h): tailor.ledger/1. */
void ledger_report(struct proxy *p, struct json *j);

/* Begin the report on the last ten minutes, tailor.live/1, which page/live.js
 * draws, with the current state; the analysis thread adds hazards, latencies
 * and slow requests.  NULL: no memory. */
struct analysis_report *live_report_new(struct proxy *p);

/* In watch mode, what acting would have gained (proxy/stats/gain.h):
 * tailor.gain/1. */
void gain_report(struct proxy *p, struct json *j);

/* --- everything that is counted, for Prometheus ------------------------ */

/* Write all metrics, about 1000 lines.  Costs the proxy thread some 60 us
 * however many requests and connections there were; that time is itself a
 * metric of the next call. */
void metrics_write(struct proxy *p, struct exposition *e);

/* Parts of metrics_write. */
void metrics_write_hazards(struct proxy *p, struct exposition *e);
void metrics_write_steering(struct proxy *p, struct exposition *e);
void metrics_write_servers(struct proxy *p, struct exposition *e);
void metrics_write_process(struct proxy *p, struct exposition *e);
void metrics_write_profiler(struct proxy *p, struct exposition *e);
void metrics_write_tales(struct proxy *p, struct exposition *e);
