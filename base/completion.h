/* completion.h: shell completion scripts, from the same table as --help. */
#ifndef TAILOR_BASE_COMPLETION_H
#define TAILOR_BASE_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

/* A command, or an option (without its dashes). */
struct completion_word {
	const char *name, *meaning;
	bool argument; /* an option with an argument: files are offered */
};

struct completion {
	const char *program;
	const struct completion_word *command; /* may be empty */
	unsigned commands;
	const struct completion_word *option;
	unsigned options;
};

/* Print the script for "bash", "zsh" or "fish".  False for another shell. */
bool completion_print(FILE *out, const char *shell, const struct completion *c);

#endif
