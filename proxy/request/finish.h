/*
 * finish.h: the end of a request: counted, logged, kept in the history,
 * remembered for warming servers up.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_REQUEST_FINISH_H
#define TAILOR_PROXY_REQUEST_FINISH_H

#include "proxy/request/proxy.h"

/* It is over. */
void request_record(struct request *r);

#endif
