/*
 * limits.h: what a configuration means in numbers: for the policy, for the
 * gate, in bytes of memory, in descriptors.
 *
 * Applied at the start and again at each reload.  Proxy thread only.
 */
#ifndef TAILOR_DAEMON_LIMITS_H
#define TAILOR_DAEMON_LIMITS_H

#include "config/config.h"
#include "hedging/hedging.h"

struct proxy;

void limits_hedging(const struct config *c, struct hedging_limits *l);

/* Make the directory for spools, and warn if it cannot be used.  After
 * privileges have been dropped. */
void limits_try_spool(const struct proxy *p);

/* Put p->config's limits in force and say what they come to. */
void limits_apply(struct proxy *p);

#endif
