/* hazards.h: where hazards become decisions of the policy.
 *
 * They are counted and put into the policy here; what it decides is carried out
 * when the event is over (hedge.c).  Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Take all waiting hazards into account.  Called at the top of each turn and
 * before every choice of a server.  About 5 ns when there are none. */
void proxy_hazards(struct proxy *p);

/* Act on one hazard. */
void proxy_hazard(struct proxy *p, const struct hazard *h);

/* Set the timer for a pause that is waited out (T4), as the policy has it. */
void hazards_wait(struct proxy *p);

/* Look at the servers' heaps: swap, or have one collect, if that is due
 * (steering.c). */
void steering_tick(struct proxy *p, struct instant now);

/* Keep the time in which every server was in a hazard.  Every tick. */
void hazards_tick(struct proxy *p, struct instant now);

/* The policy wants these (enum hedging_action): count them now, have them
 * carried out. */
void proxy_want(struct proxy *p, unsigned actions);

/* The response of an attempt that lost has ended: metrics. */
void proxy_loser_done(
    void *proxy, const struct connection *u, enum exchange_end end);

/* Carry out what is wanted (proxy_want), and run the queue.  Work of
 * LOOP_POLICY. */
void proxy_carry_out(void *proxy);
