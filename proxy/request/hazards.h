/* hazards.h: hazards, counted and passed to the policy.
 *
 * The policy's decisions are carried out when the event is over (hedge.c).
 * Proxy thread only. */
#pragma once

#include "proxy/request/proxy.h"

/* Take all waiting hazards into account.  Called at the top of each turn and
 * before every choice of a server.  About 5 ns when there are none. */
void proxy_hazards(struct proxy *p);

/* Act on one hazard. */
void proxy_hazard(struct proxy *p, const struct hazard *h);

/* Set or clear the timer for a pause that is waited out (T4), to the time that
 * the policy gives. */
void hazards_wait(struct proxy *p);

/* Check the servers' heaps: swap, or order a server to collect, if that is due
 * (steering.c). */
void steering_tick(struct proxy *p, struct instant now);

/* Add up the time in which every server was in a hazard.  Every tick. */
void hazards_tick(struct proxy *p, struct instant now);

/* Count the actions that the policy wants (a set of enum hedging_action), and
 * have them carried out when the event is over. */
void proxy_want(struct proxy *p, unsigned actions);

/* The response of an attempt that lost has ended: count it. */
void proxy_loser_done(
    void *proxy, const struct connection *u, enum exchange_end end);

/* Carry out the actions noted by proxy_want, and run the queue.  Runs as work
 * of stage LOOP_POLICY. */
void proxy_carry_out(void *proxy);
