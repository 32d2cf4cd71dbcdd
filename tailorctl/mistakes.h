/* mistakes.h: what users of other programs type, and what they mean. */
#pragma once

#include "tailorctl/options.h"

/* The command, or option, that a word of another program stands for, to follow
 * "did you mean"; NULL: not known.  With its own "?" if more is said. */
const char *mistakes_command(const char *word);

/* What to do instead of giving this option to this command: ": ..."; "". */
const char *mistakes_option(enum command command, char letter);

/* What to do instead of giving this command that word: "" or ": ...".
 *   letters  the options that the command takes */
const char *mistakes_word(const char *letters, const char *word);
