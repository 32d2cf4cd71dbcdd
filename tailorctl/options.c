/* options.c: the options, and the parser.
 *
 * getopt_long splits the arguments; the options, and which command takes which,
 * are in the tables here. */
#include <errno.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/completion.h"
#include "base/instant.h"
#include "base/nearest.h"
#include "base/usage.h"
#include "tailorctl/mistakes.h"
#include "tailorctl/options.h"
#include "tailorctl/plain.h"

#define COUNT_MAX UINT64_C(1000000000)
#define SECONDS_MAX 3600.0
#define COMMON_OPTIONS "ajthV"
#define USAGE_COLUMNS 72

struct command_row {
	const char *name, *letters, *argument, *summary;
};

static const struct command_row commands[COMMAND_COUNT] = {
#define OPTIONS_X(name, letters, argument, summary) \
	[COMMAND_##name] = {#name, letters, argument, summary},
    COMMANDS(OPTIONS_X)
#undef OPTIONS_X
};

/* What becomes of an option's argument; what it may be, is in ranges. */
enum option_kind {
	FLAG,
	TEXT,
	COUNT,
	SECONDS,
	SINCE,
	AGO, /* SINCE, or "yesterday" */
	BY,
	FORMAT, /* of why: the option's name */
	DONE,	/* prints something, and that is all */
};

static const char *const ranges[] = {
    [COUNT] = "a whole number from 1 to 1000000000",
    [SECONDS] = "seconds, from 0.001 to 3600",
    [SINCE] = "from 1s to 3650d, as 90s, 10m, 2h, 1d",
    [AGO] = "from 1s to 3650d, as 10m, 2h, 1d, or yesterday",
    [BY] = "cause, path, cpu or waker",
};

#define AT(member) offsetof(struct options, member)

static const struct option_row {
	char letter;
	const char *name, *argument, *help;
	enum option_kind kind;
	size_t at; /* the member that is set */
} rows[] = {
    {'a', "admin", "WHICH", "a tailor's name or port, or its admin socket",
	TEXT, AT(admin)},
    {'j', "json", NULL, "print JSON", FLAG, AT(json)},
    {'t', "timeout", "SECONDS", "time limit for a response, default 5", SECONDS,
	AT(timeout_ns)},
    {'n', "number", "N", "limit, default 20", COUNT, AT(count)},
    {'w', "since", "TIME", "finished within: 90s, 2h, 1d", SINCE, AT(since_ns)},
    {'c', "cause", "CODE", "only requests with this cause", TEXT, AT(cause)},
    {'p', "path", "PATH", "only requests with this path", TEXT, AT(path)},
    {'x', "sort", "KEY", "by time, total, server, cause or status", TEXT,
	AT(sort)},
    {'H', "html", NULL, "print an HTML page", FORMAT, 0},
    {'S', "svg", NULL, "print only the picture, as SVG", FORMAT, 0},
    {'C', "chrome", NULL, "print trace events for ui.perfetto.dev", FORMAT, 0},
    {'o', "output", "FILE", "write to FILE", TEXT, AT(output)},
    {'P', "percentile", "P", "the percentile, default 99", TEXT,
	AT(percentile)},
    {'R', "route", "ROUTE", "only this one: \"GET /search\"", TEXT, AT(route)},
    {'W', "without", "CODES", "percentiles without these: gc,lock", TEXT,
	AT(without)},
    {'G', "against", "TIME", "compare with 1h, yesterday, 7d ago", AGO,
	AT(against_ns)},
    {'U', "until", "TIME", "finished so long ago or longer", SINCE,
	AT(until_ns)},
    {'I', "impact", NULL, "the VarMRI paper's table", FLAG, AT(impact)},
    {'F', "accounts", "FORM", "print the accounts, as csv or ndjson", TEXT,
	AT(accounts)},
    {'X', "file", "FILE", "read accounts (csv) from FILE", TEXT, AT(file)},
    {'b', "by", "WHAT", "group by cause, path, cpu or waker", BY, AT(by)},
    {'q', "query", "QUERY", "only matching events; see tailorctl(1)", TEXT,
	AT(query)},
    {'r', "requests", NULL, "show finished requests, not events", FLAG,
	AT(requests)},
    {'1', "once", NULL, "print once and exit", FLAG, AT(once)},
    {'i', "interval", "SECONDS", "time between updates, default 1", SECONDS,
	AT(interval_ns)},
    {'A', "all", NULL, "include zero counters", FLAG, AT(all)},
    {'k', "stop-after", "N", "exit after N lines", COUNT, AT(count)},
    {'d', "dump", NULL, "print what the stream holds and exit", FLAG, AT(dump)},
    {'s', "stream", "FILE", "the stream's file; no tailor needed", TEXT,
	AT(stream)},
    {'f', "force", NULL, "even if no other server is ready", FLAG, AT(force)},
    {'h', "help", NULL, "print this", DONE, 0},
    {'V', "version", NULL, "print the version", DONE, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const struct option_row *
row_of(char letter)
{
	const struct option_row *row = rows;

	while (row->letter != letter)
		row++;
	return row;
}

/* With the commands that take it, unless it is the help of one of them. */
static void
print_option(const struct option_row *row, bool whose)
{
	char words[40];

	snprintf(words, sizeof(words), "--%s%s%s", row->name,
	    row->argument != NULL ? " " : "",
	    row->argument != NULL ? row->argument : "");
	printf("  -%c, %-18s %s", row->letter, words, row->help);
	if (whose && strchr(COMMON_OPTIONS, row->letter) == NULL) {
		const char *before = " (";

		for (unsigned c = 0; c < COMMAND_COUNT; c++) {
			if (strchr(commands[c].letters, row->letter) == NULL)
				continue;
			printf("%s%s", before, commands[c].name);
			before = ", ";
		}
		putchar(')');
	}
	putchar('\n');
}

static void
print_usage(FILE *out, const struct command_row *command)
{
	fprintf(out, "tailorctl %s%s%s [OPTION]...\n", command->name,
	    command->argument[0] != '\0' ? " " : "", command->argument);
}

/* The first of these words that is a command; NULL: none is. */
static const struct command_row *
command_among(int argc, char *const *argv)
{
	for (int i = 1; i < argc; i++)
		for (unsigned c = 0; c < COMMAND_COUNT; c++)
			if (strcmp(argv[i], commands[c].name) == 0)
				return &commands[c];
	return NULL;
}

static void
print_command_help(const struct command_row *command)
{
	printf("usage: ");
	print_usage(stdout, command);
	printf("%s\n\noptions:\n", command->summary);
	for (unsigned i = 0; i < ROWS; i++)
		if (strchr(command->letters, rows[i].letter) != NULL ||
		    strchr(COMMON_OPTIONS, rows[i].letter) != NULL)
			print_option(&rows[i], false);
	printf("\"man tailorctl\" has the rest.\n");
}

/* Of one command, if the words name one. */
static void
print_help(int argc, char *const *argv)
{
	const struct command_row *command = command_among(argc, argv);

	if (command != NULL) {
		print_command_help(command);
		return;
	}
	printf("usage: tailorctl [OPTION]... COMMAND [ARGUMENT]\n\n"
	       "commands:\n");
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		char words[32];

		snprintf(words, sizeof(words), "%s %s", commands[i].name,
		    commands[i].argument);
		printf("  %-16s %s\n", words, commands[i].summary);
	}
	printf("\noptions (of the commands in parentheses, else of all):\n");
	for (unsigned i = 0; i < ROWS; i++)
		print_option(&rows[i], true);
	printf("Without --admin: $TAILOR_ADMIN, $TAILOR_INSTANCE, or the "
	       "only tailor that runs.\n"
	       "Exit status: 0 success, 1 failure, 2 wrong usage.\n");
}

/* What an argument may be; "@ID": what "tailorctl completion ID" prints; "":
 * not known. */
static const struct {
	const char *argument, *words;
} values[] = {
    {"WHICH", "@WHICH"},
    {"SERVER", "@SERVER"},
    {"ID", "@ID"},
    {"CODE", "@CODE"},
    {"PATH", "@PATH"},
    {"NAME", "@NAME"},
    {"WHAT", "cause path cpu waker"},
    {"KEY", "time total server cause status"},
    {"SHELL", "bash zsh fish"},
    {"FORM", "csv ndjson"},
    {"P", "90 99 99.9"},
    {"ROUTE", ""},
    {"CODES", ""},
    {"N", ""},
    {"SECONDS", ""},
    {"TIME", "1m 10m 1h 1d"},
    {"QUERY", ""},
};

static const char *
values_of(const char *argument)
{
	size_t n = strcspn(argument += *argument == '[', "]");

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (strlen(values[i].argument) == n &&
		    strncmp(values[i].argument, argument, n) == 0)
			return values[i].words;
	return NULL;
}

bool
options_completion(const char *shell)
{
	struct completion_word command[COMMAND_COUNT], option[ROWS];

	for (unsigned i = 0; i < COMMAND_COUNT; i++)
		command[i] = (struct completion_word){.name = commands[i].name,
		    .meaning = commands[i].summary,
		    .values = values_of(commands[i].argument),
		    .options = commands[i].letters};
	for (unsigned i = 0; i < ROWS; i++)
		option[i] = (struct completion_word){.name = rows[i].name,
		    .meaning = rows[i].help,
		    .argument = rows[i].argument != NULL,
		    .letter = rows[i].letter,
		    .values = rows[i].argument != NULL
				  ? values_of(rows[i].argument)
				  : NULL};
	return completion_print(stdout, shell,
	    &(struct completion){"tailorctl", command, COMMAND_COUNT, option,
		ROWS, COMMON_OPTIONS, &option[0]});
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

/* Seconds, with or without a fraction: "0.5". */
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

/* A length of time: "90s", "10m", "2h", "1d". */
static int
parse_since(const char *text, int64_t *out_ns)
{
	static const struct {
		char letter;
		double seconds;
	} unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	double v = strtod(text, &end);

	for (unsigned i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
		if (end != text && end[0] == unit[i].letter && end[1] == '\0')
			v *= unit[i].seconds, end++;
	if (end == text || *end != '\0' || !(v >= 1) || v > 3650 * 86400.0)
		return -EINVAL;
	*out_ns = (int64_t)(v * (double)NS_PER_S);
	return 0;
}

static int
parse_by(const char *text, enum top_kind *out)
{
	static const char *const words[] = {
#define OPTIONS_X(symbol, word) word,
	    TOP_KINDS(OPTIONS_X)
#undef OPTIONS_X
	};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i]) == 0) {
			*out = (enum top_kind)i;
			return 0;
		}
	return -EINVAL;
}

/* Take one option.  0 or -EINVAL for a bad argument. */
static int
take(struct options *o, const struct option_row *row, const char *argument)
{
	void *member = (char *)o + row->at;

	switch (row->kind) {
	case FLAG:
		*(bool *)member = true;
		return 0;
	case TEXT:
		*(const char **)member = argument;
		return 0;
	case COUNT:
		return parse_count(argument, member);
	case SECONDS:
		return parse_seconds(argument, member);
	case SINCE:
		return parse_since(argument, member);
	case AGO:
		if (strcmp(argument, "yesterday") == 0)
			argument = "1d";
		return parse_since(argument, member);
	case BY:
		return parse_by(argument, member);
	case FORMAT:
		o->format = row->name;
		return 0;
	case DONE:
		break;
	}
	return 0;
}

static void
refuse_argument(const struct option_row *row, const char *argument)
{
	char cell[64];

	fprintf(stderr, "tailorctl: --%s \"%s\": it must be %s\n", row->name,
	    plain_cell(cell, sizeof(cell), argument, 12), ranges[row->kind]);
}

/* 0, or -ENOENT after a message. */
static int
find_command(const char *name, enum command *out)
{
	struct nearest best = {mistakes_command(name), 0};

	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(name, commands[i].name) == 0) {
			*out = (enum command)i;
			return 0;
		}
		if (strcasecmp(name, commands[i].name) == 0)
			best = (struct nearest){commands[i].name, 0};
		nearest_consider(&best, name, commands[i].name);
	}
	if (best.word != NULL)
		fprintf(stderr,
		    "tailorctl: no command \"%s\"; did you mean %s%s\n", name,
		    best.word, strchr(best.word, '?') != NULL ? "" : "?");
	else
		fprintf(stderr,
		    "tailorctl: no command \"%s\" (see tailorctl --help)\n",
		    name);
	return -ENOENT;
}

/* The short usage, for a command line without a command. */
static void
print_commands(FILE *out)
{
	size_t column = USAGE_COLUMNS;

	fprintf(out, "usage: tailorctl [OPTION]... COMMAND [ARGUMENT]\n"
		     "commands:");
	for (unsigned i = 0; i < COMMAND_COUNT; i++) {
		size_t n = strlen(commands[i].name);

		if (column + 1 + n > USAGE_COLUMNS) {
			fprintf(out, "\n ");
			column = 1;
		}
		column += (size_t)fprintf(out, " %s", commands[i].name);
	}
	fprintf(out, "\n\"tailorctl servers\" shows the servers, "
		     "\"tailorctl --help\" explains the rest.\n");
}

static int
most_words(const struct command_row *command)
{
	return command->argument[0] != '\0' ? 2 : 1;
}

/* The words after the options: COMMAND [ARGUMENT]. */
static int
take_words(struct options *o, int argc, char **argv)
{
	const struct command_row *command;
	const char *instead = "";
	char cell[64];

	if (argc == 0) {
		print_commands(stderr);
		return -EINVAL;
	}
	if (find_command(argv[0], &o->command) < 0)
		return -EINVAL;
	command = &commands[o->command];
	o->argument = argc > 1 ? argv[1] : NULL;
	if (argc > most_words(command)) {
		const char *extra = argv[most_words(command)];

		instead = mistakes_word(command->letters, extra);
		fprintf(stderr, "tailorctl: \"%s\" is one word too many%s",
		    plain_cell(cell, sizeof(cell), extra, 16),
		    *instead != '\0' ? instead : ": ");
	} else if (argc == 1 && command->argument[0] != '\0' &&
		   command->argument[0] != '[')
		fprintf(
		    stderr, "tailorctl: %s is missing: ", command->argument);
	else
		return 0;
	if (*instead != '\0')
		fputc('\n', stderr);
	else
		print_usage(stderr, command);
	return -EINVAL;
}

/* Fill in getopt's two descriptions of the options. */
static void
describe(struct option *longs, char *shorts)
{
	*shorts++ = ':';
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

/* Of another command's options none is suggested for this one. */
static void
keep_taken(struct option *longs, int argc, char *const *argv)
{
	const struct command_row *command = command_among(argc, argv);
	struct option *kept = longs;
	const char *letters;

	if (command == NULL)
		return;
	letters = command->letters;
	for (; longs->name != NULL; longs++)
		if (strchr(letters, longs->val) != NULL ||
		    strchr(COMMON_OPTIONS "h", longs->val) != NULL)
			*kept++ = *longs;
	*kept = *longs;
}

/* The file's ending gives the form; to a terminal a page is no use. */
static int
choose_form(struct options *o)
{
	const char *end = o->output != NULL ? strrchr(o->output, '.') : NULL;

	if (end != NULL && o->format == NULL && !o->json)
		o->format =
		    strcmp(end, ".html") == 0 ? "html"
		    : strcmp(end, ".svg") == 0 && o->command == COMMAND_why
			? "svg"
			: NULL;
	if (o->format == NULL || o->output != NULL || !isatty(STDOUT_FILENO))
		return 0;
	fprintf(stderr, "tailorctl: --%s is not for a terminal: add -o FILE\n",
	    o->format);
	return -EINVAL;
}

enum options_result
options_parse(struct options *out, int argc, char **argv)
{
	struct option longs[ROWS + 1];
	char shorts[2 * ROWS + 2], given[ROWS + 1] = "", why[256];
	int c;

	*out = (struct options){
	    .interval_ns = NS_PER_S, .timeout_ns = 5 * NS_PER_S};
	describe(longs, shorts);
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		char letter[2] = {(char)c, '\0'};

		if (c == 'h') {
			print_help(argc, argv);
			return OPTIONS_DONE;
		}
		if (c == 'V') {
			printf("tailorctl %s\n", TAILOR_VERSION);
			return OPTIONS_DONE;
		}
		if (c == '?' || c == ':') {
			if (optopt == 0)
				keep_taken(longs, argc, argv);
			fprintf(stderr,
			    "tailorctl: %s\nTry 'tailorctl --help'.\n",
			    usage_refusal(longs, c, argv, why, sizeof(why)));
			return OPTIONS_BAD;
		}
		if (take(out, row_of(letter[0]), optarg) < 0) {
			refuse_argument(row_of(letter[0]), optarg);
			return OPTIONS_BAD;
		}
		if (strchr(given, c) == NULL)
			strcat(given, letter);
	}
	if (optind < argc && strcmp(argv[optind], "help") == 0) {
		print_help(argc, argv);
		return OPTIONS_DONE;
	}
	if (take_words(out, argc - optind, argv + optind) < 0)
		return OPTIONS_BAD;
	for (const char *p = given; *p != '\0'; p++) {
		if (strchr(COMMON_OPTIONS, *p) == NULL &&
		    strchr(commands[out->command].letters, *p) == NULL) {
			fprintf(stderr, "tailorctl: %s does not take --%s%s\n",
			    commands[out->command].name, row_of(*p)->name,
			    mistakes_option(out->command, *p));
			return OPTIONS_BAD;
		}
	}
	if (choose_form(out) < 0)
		return OPTIONS_BAD;
	return OPTIONS_RUN;
}
