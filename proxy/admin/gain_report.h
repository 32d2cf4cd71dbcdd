/*
 * gain_report.h: what acting would have gained (proxy/stats/gain.h) as a JSON
 * document, tailor.gain/1.  Proxy thread only; some 2 ms for a whole day.
 */
#ifndef TAILOR_PROXY_ADMIN_GAIN_REPORT_H
#define TAILOR_PROXY_ADMIN_GAIN_REPORT_H

#include "base/json.h"

struct proxy;

void gain_report(struct proxy *p, struct json *j);

#endif
