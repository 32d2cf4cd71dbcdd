/* access_fill.h: records of requests for the access log.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Log a request that is over. */
void access_log_request(struct proxy *p, const struct request *r,
    const struct client *c, struct instant now);

/* A call that Tailor itself responded to, or a head that was refused. */
struct access_local {
	const char *client, *method, *target, *id;
	const char *reason; /* "talechain", or that of a refusal */
	unsigned status;
};
void access_log_local(const struct client *c, const struct access_local *l);

/* Open the access log's file again (SIGUSR1). */
void access_log_reopen(struct proxy *p);
