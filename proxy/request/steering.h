/* steering.h: carries out what hedging/steer.c decides.  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Look at the servers' heaps: swap, or have one collect, if that is due. */
void steering_tick(struct proxy *p, struct instant now);
