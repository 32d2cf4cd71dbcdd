/* command_line.h: the command line of a program, from tables.
 *
 * A program gives rows: its commands, its options, and words of other programs
 * with what they mean here.  Parsing, --help, --version, the completion scripts
 * and the sentence about a wrong line follow from them.  A long option may be
 * cut where its command has no other that begins so; its value follows "=" or
 * is the next word.  Letters may be joined; options and words may be mixed;
 * "--" ends the options.  (getopt_long() knows no commands, and its state is
 * global.)  Any thread; main's words are not copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define LINE_WHY 256 /* bytes of a sentence */
#define LINE_ROWS_MAX 80
#define LINE_ANY UINT32_MAX /* no command in particular */
#define LINE_COMMAND(index) (UINT32_C(1) << (index))

struct option_row;

/* Store the argument (NULL: it takes none) in the program's options.  0, or
 * negative: it is not what the row wants. */
typedef int
option_set(void *to, const struct option_row *row, const char *text);

struct option_row {
	const char *name;
	char letter;	      /* 0: none */
	const char *argument; /* as --help calls it; NULL: takes none */
	const char *help;     /* NULL: an alias, which is not shown */
	option_set *set;
	size_t at;	   /* of what is set, in the program's options */
	size_t given;	   /* of a bool that it was given; 0: none */
	int64_t low, high; /* of option_number; option_text: least length */
	/* "a list like 2xx,304"; NULL: from values, else from low and high */
	const char *wants;
	/* Completion: words that the argument may be, "" if they are not known;
	 * "@ID": what complete prints; NULL: files. */
	const char *values;
	const char *group; /* heading before this row of --help, or NULL */
	uint32_t commands; /* LINE_COMMAND of those that take it; 0: all */
};

option_set option_flag, option_off;	 /* bool: true, false */
option_set option_text;			 /* const char *, borrowed */
option_set option_number;		 /* int64_t, low .. high, also "20k" */
option_set option_duration;		 /* int64_t, ns, low .. high (0: none);
					    without a unit it is seconds */
option_set option_choice, option_chosen; /* unsigned: a place in values, from 0;
					    const char *: the word */

struct line_command {
	const char *name;     /* "" of the first: what runs without a name */
	const char *argument; /* words that follow: "ID", "[ID]", "A B"; "" */
	const char *help;
	const char *values; /* of the argument, as in option_row; NULL: none */
};

/* Words of other programs, and their meaning here. */
struct line_instead {
	/* Words with a blank between: "ps status", "-f --file" or, of an option
	 * that a command does not take, "log/--force". */
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
	/* Print, by line_offer, words that only the program knows: those of
	 * "@WHAT" in values.  selected: the argument of row[0], or NULL. */
	void (*complete)(
	    const char *what, const char *selected, const char *typed);
	/* Explain in why an option that is unknown, or a word too many; false:
	 * not known either.  NULL: none is. */
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
 * -EINVAL with a sentence in why.  Without a word, where no command runs
 * without a name, also -EINVAL, and out->count is 0. */
int line_parse(const struct command_line *l, void *to, int argc, char **argv,
    struct line_words *out, char why[LINE_WHY]);

/* Print the sentence on standard error, in 80 columns. */
void line_complain(const struct command_line *l, const char *why);

/* Print the help of a command, or of the program (LINE_ANY). */
void line_help(FILE *out, const struct command_line *l, unsigned command);

/* Print the names of the commands, with what they do. */
void line_help_commands(FILE *out, const struct command_line *l);

/* Row i, and after those of the program --help and --version; then NULL. */
const struct option_row *line_row(const struct command_line *l, unsigned i);

/* True if a command takes an option; LINE_ANY takes each. */
bool line_takes(const struct option_row *row, unsigned command);

/* The first of the words that is a command's name; LINE_ANY: none is. */
unsigned
line_command_of(const struct command_line *l, int count, char *const *word);

/* completion.c: print the words that may stand in place of the last of count
 * words (at least one), which was typed in part.  line_parse does so for
 * "__complete". */
void line_complete(const struct command_line *l, int count, char *const *word);

/* Print those words of a list, with blanks between, that begin so. */
void line_offer(const char *list, const char *typed);

/* Print the script for "bash", "zsh" or "fish".  False for another shell. */
bool
line_completion(FILE *out, const struct command_line *l, const char *shell);
