/* command_line.h: parses the command line of a program by tables.
 *
 * A program declares its commands, its options, and words of other programs
 * with their meaning here.  Parsing, --help, --version, completion scripts and
 * error messages use these tables.  A long option may be abbreviated if its
 * command has no other option that begins so; its value follows "=" or is the
 * next word.  Letters may be joined; options and words may be mixed;
 * "--" ends the options.  (getopt_long() knows no commands, and its state is
 * global.)  Any thread; main's words are not copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LINE_WHY 256 /* bytes of an error message */
#define LINE_ROWS_MAX 80
#define LINE_ANY UINT32_MAX /* no command in particular */
#define LINE_COMMAND(index) (UINT32_C(1) << (index))

struct option_row;

/* Store an option's argument (NULL: none) in the program's options, to.  0, or
 * negative: the argument is not valid. */
typedef int
option_set(void *to, const struct option_row *row, const char *text);

struct option_row {
	const char *name;
	char letter;	      /* 0: none */
	const char *argument; /* name in --help; NULL: takes none */
	const char *help;     /* NULL: an alias, which is not shown */
	option_set *set;
	size_t at;	   /* offset in the program's options */
	size_t given;	   /* offset of a bool "was given"; 0: none */
	int64_t low, high; /* of option_number; option_text: least length */
	/* Valid arguments in words, "a list like 2xx,304"; NULL: made from
	 * values, else from low and high. */
	const char *wants;
	/* Possible arguments, for completion; "": not known; "@ID": call
	 * complete; NULL: files. */
	const char *values;
	const char *group; /* heading before this row of --help, or NULL */
	uint32_t commands; /* commands that take it (LINE_COMMAND); 0: all */
};

option_set option_flag, option_off;	 /* bool: true, false */
option_set option_text;			 /* const char *, borrowed */
option_set option_number;		 /* int64_t, low .. high, also "20k" */
option_set option_duration;		 /* int64_t, ns, low .. high (0: none);
					    without a unit it is seconds */
option_set option_choice, option_chosen; /* unsigned: index in values;
					    const char *: the word */

struct line_command {
	const char *name; /* "" (first only): runs if none is named */
	/* Words that follow: "ID", "[ID]", "A B"; "".  "A...", of a program's
	 * only command: A and all that follows, options too. */
	const char *argument;
	const char *help;
	const char *values; /* of the argument, as in option_row; NULL: none */
};

/* Words of other programs, and their meaning here. */
struct line_instead {
	/* Words separated by blanks: "ps status", "-f --file"; or an option
	 * that a command does not take: "log/--force". */
	const char *typed;
	const char *meant; /* "did you mean -c?" */
};

struct command_line {
	const char *program;
	const char *about, *end; /* in --help, below the usage and at the end */
	const struct line_command *command; /* at least one */
	const struct option_row *row;
	const struct line_instead *instead;
	unsigned commands, rows, insteads;
	/* Commands that change something (LINE_COMMAND): suggested only for a
	 * word with one letter wrong. */
	uint32_t acting;
	/* Print, with line_offer, the words for "@WHAT" in values, which only
	 * the program knows.  selected: the argument of row[0], or NULL. */
	void (*complete)(
	    const char *what, const char *selected, const char *typed);
	/* Explain in why an unknown option, or a word too many; false: no
	 * explanation.  May be NULL. */
	bool (*explain)(const struct line_command *command, const char *word,
	    char why[LINE_WHY]);
};

/* The command, and the words that follow its name. */
struct line_words {
	unsigned command;
	int count;
	char **word; /* in argv, which is reordered */
};

/* Parse, and store options in to.  0; 1 after printing help or the version;
 * -EINVAL with a message in why.  If no command is given and none runs without
 * a name, also -EINVAL, and out->count is 0. */
int line_parse(const struct command_line *l, void *to, int argc, char **argv,
    struct line_words *out, char why[LINE_WHY]);

/* Print the message why on standard error, in 80 columns. */
void line_complain(const struct command_line *l, const char *why);

/* Print the help of a command, or of the program (LINE_ANY). */
void line_help(FILE *out, const struct command_line *l, unsigned command);

/* Print the names of the commands, with what they do. */
void line_help_commands(FILE *out, const struct command_line *l);

/* Return row i; --help and --version follow the program's rows, then NULL. */
const struct option_row *line_row(const struct command_line *l, unsigned i);

/* True if a command takes an option; LINE_ANY takes every option. */
bool line_takes(const struct option_row *row, unsigned command);

/* Return the command named by the first word that names one, or LINE_ANY. */
unsigned
line_command_of(const struct command_line *l, int count, char *const *word);

/* completion.c: print completions of the last of count words (at least one).
 * line_parse calls it for "__complete". */
void line_complete(const struct command_line *l, int count, char *const *word);

/* Print the words of list (separated by blanks) that begin with typed. */
void line_offer(const char *list, const char *typed);

/* Print the script for "bash", "zsh" or "fish".  False for another shell. */
bool
line_completion(FILE *out, const struct command_line *l, const char *shell);
