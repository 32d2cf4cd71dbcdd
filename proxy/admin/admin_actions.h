/*
 * admin_actions.h: what the admin listener can be asked to change.  All of it
 * wants POST; anything else is answered 405 and does nothing.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_ACTIONS_H
#define TAILOR_PROXY_ADMIN_ADMIN_ACTIONS_H

#include <event2/http.h>

struct admin;
struct proxy;

/* Register the paths. */
void admin_actions_add(struct evhttp *http, struct admin *a);

/* Answer with what /servers shows. */
void admin_reply_servers(struct evhttp_request *r, struct proxy *p);

#endif
