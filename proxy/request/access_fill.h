/* access_fill.h: records of requests for the access log.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Log a request that is over, and a head that was refused. */
void access_log_request(struct proxy *p, const struct request *r,
    const struct client *c, struct instant now);
void
access_log_refusal(const struct client *c, const struct http_refusal *refusal);

/* A call that Tailor itself responded to; the request table has none of it. */
struct access_local {
	const char *client, *method, *target;
	const char *flag; /* a flag, or the reason for a refusal */
	unsigned status;
};
void access_log_local(const struct client *c, const struct access_local *l);

/* Open the access log's file again (SIGUSR1). */
void access_log_reopen(struct proxy *p);
