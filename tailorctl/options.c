/*
 * options.c: see options.h.
 *
 * getopt_long does the splitting; what exists and which command takes it is
 * in the tables here.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "tailorctl/options.h"

#define COUNT_MAX UINT64_C(1000000000)
#define SECONDS_MAX 3600.0
#define EVERYBODY "ajthV"

struct command_row {
	const char *name, *letters, *argument, *summary;
};

static const struct command_row commands[COMMAND_COUNT] = {
#define OPTIONS_X(name, letters, argument, summary) \
	[COMMAND_##name] = {#name, letters, argument, summary},
    COMMANDS(OPTIONS_X)
#undef OPTIONS_X
};

static const struct option_row {
	char letter;
	const char *name, *argument, *help;
} rows[] = {
    {'a', "admin", "ADDR", "the admin socket: a path, or HOST:PORT"},
    {'j', "json", NULL, "print JSON"},
    {'t', "timeout", "SECONDS", "wait so long for an answer (5)"},
    {'n', "number", "N", "so many requests (20)"},
    {'1', "once", NULL, "print once and exit"},
    {'i', "interval", "SECONDS", "print again after so long (1)"},
    {'A', "all", NULL, "also what is zero"},
    {'k', "stop-after", "N", "exit after N events"},
    {'d', "dump", NULL, "print the events there are and exit"},
    {'s', "stream", "FILE", "the stream's file, without asking a tailor"},
    {'f', "force", NULL, "even if no other server is ready"},
    {'h', "help", NULL, "print this"},
    {'V', "version", NULL, "print the version"},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void
print_option(const struct option_row *row)
{
	char words[40];

	snprintf(words, sizeof(words), "--%s%s%s", row->name,
	    row->argument != NULL ? " " : "",
	    row->argument != NULL ? row->argument : "");
	printf("  -%c, %-22s %s\n", row->letter, words, row->help);
}

static void
print_help(void)
{
	printf("tailorctl: ask a running tailor\n\n"
	       "usage: tailorctl [OPTION]... COMMAND [ARGUMENT]\n\n"
	       "commands:\n");
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		char words[32];

		snprintf(words, sizeof(words), "%s %s", commands[i].name,
		    commands[i].argument);
		printf("  %-16s %s\n", words, commands[i].summary);
	}
	printf("\noptions of every command:\n");
	for (unsigned i = 0; i < ROWS; i++)
		if (strchr(EVERYBODY, rows[i].letter) != NULL)
			print_option(&rows[i]);
	for (unsigned c = 0; c < COMMAND_COUNT; c++) {
		if (commands[c].letters[0] == '\0')
			continue;
		printf("options of %s:\n", commands[c].name);
		for (unsigned i = 0; i < ROWS; i++)
			if (strchr(commands[c].letters, rows[i].letter) != NULL)
				print_option(&rows[i]);
	}
	printf("\nWithout --admin the address is $TAILOR_ADMIN, or else "
	       "admin.sock in\n/run/tailor, $XDG_RUNTIME_DIR/tailor or "
	       "/tmp/tailor-UID.\n"
	       "Exit status: 0 done, 1 no tailor or a negative answer, "
	       "2 wrong usage.\n");
}

void
options_completion(void)
{
	printf("# bash completion for tailorctl: put it into\n"
	       "# /usr/share/bash-completion/completions/tailorctl\n"
	       "_tailorctl()\n{\n"
	       "\tlocal word=${COMP_WORDS[COMP_CWORD]} i command=\n"
	       "\tlocal commands='");
	for (unsigned i = 0; i < COMMAND_COUNT; i++)
		printf("%s%s", i > 0 ? " " : "", commands[i].name);
	printf("'\n\tlocal options='");
	for (unsigned i = 0; i < ROWS; i++)
		if (strchr(EVERYBODY, rows[i].letter) != NULL)
			printf("--%s ", rows[i].name);
	printf("'\n"
	       "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	       "\t\t[[ \" $commands \" == *\" ${COMP_WORDS[i]} \"* ]] &&\n"
	       "\t\t\tcommand=${COMP_WORDS[i]} && break\n"
	       "\tdone\n"
	       "\tcase $command in\n");
	for (unsigned c = 0; c < COMMAND_COUNT; c++) {
		if (commands[c].letters[0] == '\0')
			continue;
		printf("\t%s) options+='", commands[c].name);
		for (unsigned i = 0; i < ROWS; i++)
			if (strchr(commands[c].letters, rows[i].letter) != NULL)
				printf("--%s ", rows[i].name);
		printf("' ;;\n");
	}
	printf("\t'') options+=$commands ;;\n"
	       "\tesac\n"
	       "\tmapfile -t COMPREPLY < <(compgen -W \"$options\" "
	       "-- \"$word\")\n"
	       "}\n"
	       "complete -F _tailorctl tailorctl\n");
}

/* A whole number from 1 up. */
static int
parse_count(const char *text, uint64_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    v == 0 || v > COUNT_MAX)
		return -EINVAL;
	*out = v;
	return 0;
}

/* Seconds, also with a fraction: "0.5". */
static int
parse_seconds(const char *text, int64_t *out_ns)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end != '\0' || !(v >= 0.001) || v > SECONDS_MAX)
		return -EINVAL;
	*out_ns = (int64_t)(v * (double)NS_PER_S);
	return 0;
}

/* Take one option.  0 or -EINVAL for a bad argument. */
static int
take(struct options *o, char letter, const char *argument)
{
	switch (letter) {
	case 'a':
		o->admin = argument;
		return 0;
	case 's':
		o->stream = argument;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case '1':
		o->once = true;
		return 0;
	case 'A':
		o->all = true;
		return 0;
	case 'd':
		o->dump = true;
		return 0;
	case 'f':
		o->force = true;
		return 0;
	case 't':
		return parse_seconds(argument, &o->timeout_ns);
	case 'i':
		return parse_seconds(argument, &o->interval_ns);
	default: /* n, k */
		return parse_count(argument, &o->count);
	}
}

static int
find_command(const char *name, enum command *out)
{
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(name, commands[i].name) == 0) {
			*out = (enum command)i;
			return 0;
		}
	}
	return -ENOENT;
}

/* The words after the options: COMMAND [ARGUMENT]. */
static int
take_words(struct options *o, int argc, char **argv)
{
	const struct command_row *command;

	if (argc == 0) {
		fprintf(stderr, "tailorctl: what? (see tailorctl --help)\n");
		return -EINVAL;
	}
	if (find_command(argv[0], &o->command) < 0) {
		fprintf(stderr,
		    "tailorctl: no command \"%s\" (see tailorctl --help)\n",
		    argv[0]);
		return -EINVAL;
	}
	command = &commands[o->command];
	o->argument = argc > 1 ? argv[1] : NULL;
	if (argc > 2 || (argc > 1 && command->argument[0] == '\0') ||
	    (argc == 1 && command->argument[0] != '\0' &&
		command->argument[0] != '[')) {
		fprintf(stderr, "usage: tailorctl [OPTION]... %s %s\n",
		    command->name, command->argument);
		return -EINVAL;
	}
	return 0;
}

/* getopt's two descriptions of the table. */
static void
describe(struct option *longs, char *shorts)
{
	for (unsigned i = 0; i < ROWS; i++) {
		longs[i] = (struct option){rows[i].name,
		    rows[i].argument != NULL ? required_argument : no_argument,
		    NULL, rows[i].letter};
		*shorts++ = rows[i].letter;
		if (rows[i].argument != NULL)
			*shorts++ = ':';
	}
	longs[ROWS] = (struct option){NULL, 0, NULL, 0};
	*shorts = '\0';
}

enum options_result
options_parse(struct options *out, int argc, char **argv)
{
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 1], given[ROWS + 1] = "";
	int c;

	*out = (struct options){
	    .interval_ns = NS_PER_S, .timeout_ns = 5 * NS_PER_S};
	describe(longs, shorts);
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		char letter[2] = {(char)c, '\0'};

		if (c == 'h') {
			print_help();
			return OPTIONS_DONE;
		}
		if (c == 'V') {
			printf("tailorctl %s\n", TAILOR_VERSION);
			return OPTIONS_DONE;
		}
		if (c == '?')
			return OPTIONS_BAD;
		if (take(out, letter[0], optarg) < 0) {
			fprintf(stderr, "tailorctl: -%c: not in range: %s\n", c,
			    optarg);
			return OPTIONS_BAD;
		}
		if (strchr(given, c) == NULL)
			strcat(given, letter);
	}
	if (take_words(out, argc - optind, argv + optind) < 0)
		return OPTIONS_BAD;
	for (const char *p = given; *p != '\0'; p++) {
		if (strchr(EVERYBODY, *p) == NULL &&
		    strchr(commands[out->command].letters, *p) == NULL) {
			fprintf(stderr, "tailorctl: %s does not take -%c\n",
			    commands[out->command].name, *p);
			return OPTIONS_BAD;
		}
	}
	return OPTIONS_RUN;
}
