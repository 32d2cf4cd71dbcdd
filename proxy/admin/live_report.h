/*
 * live_report.h: the last ten minutes as a JSON document, tailor.live/1, which
 * page/live.js draws.
 */
#ifndef TAILOR_PROXY_ADMIN_LIVE_REPORT_H
#define TAILOR_PROXY_ADMIN_LIVE_REPORT_H

#include "proxy/analysis/analysis.h"

struct proxy;

/* Begin it with the current state; the analysis thread adds hazards, latencies
 * and slow requests.  NULL: no memory.  Proxy thread. */
struct analysis_report *live_report_new(struct proxy *p);

#endif
