/* completion.h: shell completion scripts, from the same table as --help. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A command, or an option (without its dashes). */
struct completion_word {
	const char *name, *meaning;
	bool argument; /* an option with an argument */
	char letter;   /* of the option; 0: none */
	/* Words that the argument may be, "" if they are not known; "@ID": the
	 * lines that "PROGRAM completion ID" prints; NULL: files for an option,
	 * nothing for a command. */
	const char *values;
	/* bash: letters of the options of this command; NULL: all */
	const char *options;
};

struct completion {
	const char *program;
	const struct completion_word *command; /* may be empty */
	unsigned commands;
	const struct completion_word *option;
	unsigned options;
	const char *common; /* letters of the options of all commands */
	/* The option that "PROGRAM completion ID" gets as typed; NULL: no value
	 * begins with "@". */
	const struct completion_word *selector;
};

/* Print the script for "bash", "zsh" or "fish".  False for another shell. */
bool completion_print(FILE *out, const char *shell, const struct completion *c);
