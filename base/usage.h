/*
 * usage.h: explain a wrong command line in a sentence.
 *
 * For programs that parse with getopt_long and name the nearest option in the
 * message.  They set opterr to 0 and begin the string of letters with ":".
 */
#ifndef TAILOR_BASE_USAGE_H
#define TAILOR_BASE_USAGE_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Explain what getopt_long() refused when it returned code ('?' or ':').
 *   longs  its options, ended by one without a name; a letter's is its val
 *   argv   as getopt_long got it
 *   out    receives "unknown option --frob; did you mean --from?", no newline
 * Returns out.  Reads getopt's global state: main thread.
 */
const char *usage_refusal(const struct option *longs, int code,
    char *const *argv, char *out, size_t size);

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
