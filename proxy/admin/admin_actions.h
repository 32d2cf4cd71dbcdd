/*
 * admin_actions.h: what the admin listener can be asked to change.  All of it
 * wants POST.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_ACTIONS_H
#define TAILOR_PROXY_ADMIN_ADMIN_ACTIONS_H

#include "proxy/admin/admin_call.h"

void admin_switch(struct admin_call *call);
void admin_hazard(struct admin_call *call);
void admin_reload(struct admin_call *call);
void admin_drain(struct admin_call *call);
void admin_ready(struct admin_call *call);
void admin_restart(struct admin_call *call);
void admin_log(struct admin_call *call);

#endif
