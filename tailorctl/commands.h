/* commands.h: the commands.  Each function runs one command and returns its
 * exit status; output goes to standard output, errors to standard error, and
 * both keep within 80 columns. */
#pragma once

#include "tailorctl/options.h"

#define COMMANDS_X(name, argument, values, summary) \
	int command_##name(const struct ctl_options *options);
COMMANDS(COMMANDS_X)
#undef COMMANDS_X

/* Print the words that the running tailor knows for "@WHAT" (completion.c).
 *   selected  of --admin, or NULL */
void
completion_words(const char *what, const char *selected, const char *typed);

/* "ready SERVER": return a drained server to service, and wait for it. */
int action_return(const struct ctl_options *options);
