/*
 * actions.h: commands that change something and wait for the result.
 */
#ifndef TAILOR_TAILORCTL_ACTIONS_H
#define TAILOR_TAILORCTL_ACTIONS_H

#include "tailorctl/options.h"

/* "ready SERVER": return a drained server to service, and wait for it. */
int action_return(const struct options *options);

#endif
