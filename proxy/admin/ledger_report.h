/*
 * ledger_report.h: the ledger (proxy/stats/ledger.h) as a JSON document,
 * tailor.ledger/1.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_LEDGER_REPORT_H
#define TAILOR_PROXY_ADMIN_LEDGER_REPORT_H

#include "base/json.h"

struct proxy;

void ledger_report(struct proxy *p, struct json *j);

#endif
