/* find.h: select the running tailor.
 *
 * The one that --admin names; else the environment ($TAILOR_ADMIN its admin
 * socket, $TAILOR_INSTANCE its name); else the only one that runs.  Names are
 * those of the key "instance" and part of the names of admin sockets. */
#pragma once

#include "tailorctl/options.h"

/* Returns a connected, non-blocking socket of its admin listener; the caller
 * closes it.  Or -1 after one message on standard error that says what to
 * do. */
int find_tailor(const struct ctl_options *options);

/* Whether find_tailor would succeed, or fail for another reason than that none
 * runs: one was named, or several run.  Prints nothing. */
bool find_any(const struct ctl_options *options);

/* Print the names of those that run and that begin as was typed, for shells. */
void find_print_names(const struct ctl_options *options, const char *typed);
