/*
 * metrics_text.h: everything that is counted, in the format that Prometheus
 * reads.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_METRICS_TEXT_H
#define TAILOR_PROXY_ADMIN_METRICS_TEXT_H

#include "proxy/admin/exposition.h"

struct proxy;

/*
 * metrics_write(p, e):
 * Write everything.  About 1000 lines; costs the proxy thread some 60 us
 * however many requests and connections there were (it is counted, and reported
 * the next time).
 */
void metrics_write(struct proxy *p, struct exposition *e);

/* Its parts in other files. */
void metrics_write_hazards(struct proxy *p, struct exposition *e);
void metrics_write_steering(struct proxy *p, struct exposition *e);
void metrics_write_servers(struct proxy *p, struct exposition *e);
void metrics_write_process(struct proxy *p, struct exposition *e);
void metrics_write_profiler(struct proxy *p, struct exposition *e);
void metrics_write_tales(struct proxy *p, struct exposition *e);

#endif
