#include "base/command_line.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/text.h"

#define WORD_MAX 64	/* of a word in a sentence */
#define LEFT_COLUMNS 24 /* of options and commands in --help, at most */
#define CASE ('a' ^ 'A')

enum { HELP, VERSION };

static const struct option_row own[] = {
    [HELP] = {.name = "help", .letter = 'h', .help = "print this"},
    [VERSION] = {.name = "version", .letter = 'V', .help = "print the version"},
};

struct parse {
	const struct command_line *l;
	void *to;
	char *why;
	unsigned command; /* named by a word; LINE_ANY: none */
	bool given[LINE_ROWS_MAX];
	int argc, at; /* the next word */
	char **argv;
};

const struct option_row *
line_row(const struct command_line *l, unsigned i)
{
	if (i < l->rows)
		return &l->row[i];
	return i < l->rows + COUNT(own) ? &own[i - l->rows] : NULL;
}

bool
line_takes(const struct option_row *row, unsigned command)
{
	return row->commands == 0 || command == LINE_ANY ||
	       (row->commands & LINE_COMMAND(command)) != 0;
}

static int __attribute__((format(printf, 2, 3)))
refuse(struct parse *p, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(p->why, LINE_WHY, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

/* --- setters -------------------------------------------------------------- */

static void *
member(void *to, const struct option_row *row)
{
	return (char *)to + row->at;
}

int
option_flag(void *to, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)member(to, row) = true;
	return 0;
}

int
option_off(void *to, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)member(to, row) = false;
	return 0;
}

int
option_text(void *to, const struct option_row *row, const char *text)
{
	*(const char **)member(to, row) = text;
	return (int64_t)strlen(text) >= row->low ? 0 : -EINVAL;
}

int
option_number(void *to, const struct option_row *row, const char *text)
{
	uint64_t n;

	if (quantity_parse(QUANTITY_THOUSANDS, text, 1, &n) != 0 ||
	    n > INT64_MAX || (int64_t)n < row->low || (int64_t)n > row->high)
		return -EINVAL;
	*(int64_t *)member(to, row) = (int64_t)n;
	return 0;
}

int
option_duration(void *to, const struct option_row *row, const char *text)
{
	uint64_t ns;

	if (quantity_parse(QUANTITY_DURATION, text, NS_PER_S, &ns) != 0 ||
	    ns > INT64_MAX || (int64_t)ns < row->low ||
	    (row->high != 0 && (int64_t)ns > row->high))
		return -EINVAL;
	*(int64_t *)member(to, row) = (int64_t)ns;
	return 0;
}

/* Return the index of a word in a list separated by blanks, or -EINVAL. */
static int
place_of(const char *list, const char *word, size_t length)
{
	for (int place = 0; *list != '\0'; place++) {
		size_t n = strcspn(list, " ");

		if (n == length && strncmp(list, word, n) == 0)
			return place;
		list += n;
		list += strspn(list, " ");
	}
	return -EINVAL;
}

int
option_choice(void *to, const struct option_row *row, const char *text)
{
	int place = place_of(row->values, text, strlen(text));

	if (place >= 0)
		*(unsigned *)member(to, row) = (unsigned)place;
	return place < 0 ? place : 0;
}

int
option_chosen(void *to, const struct option_row *row, const char *text)
{
	(void)option_text(to, row, text);
	return place_of(row->values, text, strlen(text)) < 0 ? -EINVAL : 0;
}

/* Describe the values of an argument: "on, off or kernel". */
static const char *
wanted(const struct option_row *row, char out[LINE_WHY])
{
	const char *next;

	if (row->wants != NULL)
		return row->wants;
	snprintf(out, LINE_WHY, "a whole number from %lld to %lld",
	    (long long)row->low, (long long)row->high);
	if (row->set == option_number)
		return out;
	out[0] = '\0';
	for (const char *at = row->values; *at != '\0'; at = next) {
		size_t n = strcspn(at, " ");

		next = at + n + strspn(at + n, " ");
		text_append(out, LINE_WHY, "%s%.*s",
		    at == row->values ? ""
		    : *next == '\0'   ? " or "
				      : ", ",
		    (int)n, at);
	}
	return out;
}

/* --- options -------------------------------------------------------------- */

/* Return the meaning here of another program's word; NULL: not known. */
static const char *
meant_by(const struct command_line *l, const char *word)
{
	for (unsigned i = 0; i < l->insteads; i++)
		if (place_of(l->instead[i].typed, word, strlen(word)) >= 0)
			return l->instead[i].meant;
	return NULL;
}

static int
option_unknown(struct parse *p, const char *given)
{
	const struct option_row *row;
	struct nearest best = {NULL, 0};
	char word[WORD_MAX];
	const char *meant;

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(given, "="), given);
	meant = meant_by(p->l, word);
	if (meant != NULL)
		return refuse(p, "unknown option %s; %s", word, meant);
	if (p->l->explain != NULL &&
	    p->l->explain(&p->l->command[0], given, p->why))
		return -EINVAL;
	for (unsigned i = 0; (row = line_row(p->l, i)) != NULL; i++)
		if (row->help != NULL && line_takes(row, p->command))
			nearest_consider(&best, word + 2, row->name);
	if (best.word == NULL)
		return refuse(p, "unknown option %s", word);
	return refuse(
	    p, "unknown option %s; did you mean --%s?", word, best.word);
}

static int
letter_unknown(struct parse *p, char letter)
{
	const struct option_row *row;
	const char word[] = {'-', letter, '\0'};
	const char *meant = meant_by(p->l, word);

	if (meant != NULL)
		return refuse(p, "unknown option %s; %s", word, meant);
	for (unsigned i = 0; (row = line_row(p->l, i)) != NULL; i++)
		if (row->letter == (letter ^ CASE) && row->help != NULL &&
		    line_takes(row, p->command))
			return refuse(p, "unknown option %s; did you mean -%c?",
			    word, row->letter);
	return refuse(p, "unknown option %s", word);
}

/* Take an option.  text: its argument from the same word; NULL: the next word.
 */
static int
option_take(struct parse *p, const struct option_row *row, const char *text)
{
	char range[LINE_WHY];

	if (row->argument == NULL && text != NULL)
		return refuse(p, "option --%s takes no argument", row->name);
	if (row->argument != NULL && text == NULL && p->at == p->argc)
		return refuse(p, "option --%s needs an argument", row->name);
	if (row->argument != NULL && text == NULL)
		text = p->argv[p->at++];
	if (row == &own[HELP])
		line_help(stdout, p->l, p->command);
	if (row == &own[VERSION])
		printf("%s " TAILOR_VERSION "\n", p->l->program);
	if (row->set == NULL)
		return 1;
	if (row->set(p->to, row, text) < 0)
		return refuse(p, "--%s: \"%.32s\" is not %s", row->name, text,
		    wanted(row, range));
	if (row->given != 0)
		*((bool *)p->to + row->given) = true;
	p->given[row - p->l->row] = true;
	return 0;
}

/* Take --NAME, --NA or --NAME=VALUE. */
static int
long_take(struct parse *p, const char *given)
{
	const char *name = given + 2;
	size_t n = strcspn(name, "=");
	const char *text = name[n] == '=' ? name + n + 1 : NULL;
	const struct option_row *row, *begun = NULL;
	char several[2 * WORD_MAX] = "";
	unsigned count = 0;

	for (unsigned i = 0; (row = line_row(p->l, i)) != NULL; i++) {
		if (strncmp(row->name, name, n) != 0)
			continue;
		if (row->name[n] == '\0')
			return option_take(p, row, text);
		if (row->help == NULL || !line_takes(row, p->command))
			continue;
		text_append(several, sizeof(several), "%s--%s",
		    count++ > 0 ? " or " : "", row->name);
		begun = row;
	}
	if (count > 1)
		return refuse(
		    p, "--%.*s is ambiguous: %s?", (int)n, name, several);
	return begun != NULL ? option_take(p, begun, text)
			     : option_unknown(p, given);
}

/* Take -x, -xy or -nVALUE. */
static int
letters_take(struct parse *p, const char *letter)
{
	const struct option_row *row;
	size_t n = strcspn(letter, "=");
	int err = 0;

	/* "-listen": other programs have long options with one dash. */
	for (unsigned i = 0; n > 1 && (row = line_row(p->l, i)) != NULL; i++)
		if (strlen(row->name) == n &&
		    strncmp(row->name, letter, n) == 0)
			return refuse(p,
			    "unknown option -%s; did you mean --%s?", row->name,
			    row->name);
	for (; err == 0 && *letter != '\0'; letter++) {
		unsigned i = 0;

		while ((row = line_row(p->l, i++)) != NULL &&
		       row->letter != *letter)
			;
		if (row == NULL)
			return letter_unknown(p, *letter);
		if (row->argument != NULL)
			return option_take(
			    p, row, letter[1] != '\0' ? letter + 1 : NULL);
		err = option_take(p, row, NULL);
	}
	return err;
}

/* True if all that follows the first word is the command's, options too. */
static bool
takes_rest(const struct line_command *c)
{
	size_t n = strlen(c->argument);

	return n >= 3 && strcmp(c->argument + n - 3, "...") == 0;
}

/* Take the options, and move the other words to the front.  Returns 0 with the
 * number of words in *count, 1 (help was printed) or -EINVAL. */
static int
options_take(struct parse *p, int *count)
{
	bool ended = false;
	int err = 0;

	*count = 0;
	for (p->at = 1; err == 0 && p->at < p->argc;) {
		char *word = p->argv[p->at++];

		if (ended || word[0] != '-' || word[1] == '\0') {
			p->argv[1 + (*count)++] = word;
			ended |= takes_rest(&p->l->command[0]);
		} else if (strcmp(word, "--") == 0)
			ended = true;
		else if (word[1] == '-')
			err = long_take(p, word);
		else
			err = letters_take(p, word + 1);
	}
	return err;
}

/* --- commands ------------------------------------------------------------- */

unsigned
line_command_of(const struct command_line *l, int count, char *const *word)
{
	for (int i = 0; i < count; i++)
		for (unsigned c = 0; c < l->commands; c++)
			if (l->command[c].name[0] != '\0' &&
			    strcmp(word[i], l->command[c].name) == 0)
				return c;
	return LINE_ANY;
}

/* Write the usage: "tailorctl why [ID] [OPTION]..." */
static const char *
usage(const struct command_line *l, unsigned command, char out[LINE_WHY])
{
	const struct line_command *c = &l->command[command];

	if (takes_rest(c)) {
		snprintf(out, LINE_WHY, "%s [OPTION]... %s", l->program,
		    c->argument);
		return out;
	}
	snprintf(out, LINE_WHY, "%s%s%s%s%s [OPTION]...", l->program,
	    c->name[0] != '\0' ? " " : "", c->name,
	    c->argument[0] != '\0' ? " " : "", c->argument);
	return out;
}

/* Refuse a word that is no command, if it resembles one or a command is needed;
 * 0: it is an argument. */
static int
command_unknown(struct parse *p, const char *word)
{
	const struct option_row *row;
	const char *meant = meant_by(p->l, word);
	struct nearest best = {NULL, 0};
	const char *dashes = "";

	if (meant != NULL)
		return refuse(p, "no command \"%s\"; %s", word, meant);
	for (unsigned i = 0; i < p->l->commands; i++) {
		if (strcasecmp(word, p->l->command[i].name) == 0)
			best = (struct nearest){p->l->command[i].name, 0};
		else if (!(p->l->acting & LINE_COMMAND(i)) ||
			 nearest_distance(word, p->l->command[i].name) == 1)
			nearest_consider(&best, word, p->l->command[i].name);
	}
	for (unsigned i = 0; (row = line_row(p->l, i)) != NULL; i++)
		if (strcmp(row->name, word) == 0) {
			best.word = row->name;
			dashes = "--";
		}
	if (best.word != NULL && best.word[0] != '\0')
		return refuse(p, "no command \"%s\"; did you mean %s%s?", word,
		    dashes, best.word);
	if (p->l->command[0].name[0] == '\0')
		return 0;
	return refuse(p, "no command \"%.32s\"", word);
}

/* Refuse more or fewer words than the command takes. */
static int
words_check(struct parse *p, const struct line_words *w)
{
	const struct line_command *c = &p->l->command[w->command];
	const char *at = c->argument;
	char use[LINE_WHY];
	int most = 0;

	for (; *at != '\0'; most++) {
		size_t n = strcspn(at, " ");

		if (most >= w->count && *at != '[')
			return refuse(p, "%.*s is missing: %s", (int)n, at,
			    usage(p->l, w->command, use));
		at += n + strspn(at + n, " ");
	}
	if (w->count <= most || takes_rest(c))
		return 0;
	for (int i = 0; p->l->explain != NULL && i < w->count; i++)
		if (p->l->explain(c, w->word[i], p->why))
			return -EINVAL;
	return refuse(p, "\"%.32s\" is one word too many: %s", w->word[most],
	    usage(p->l, w->command, use));
}

/* The first command that takes an option; the program, if that has no name. */
static const char *
taker(const struct command_line *l, const struct option_row *row)
{
	unsigned i = 0;

	while (i + 1 < l->commands && !line_takes(row, i))
		i++;
	return l->command[i].name[0] != '\0' ? l->command[i].name : l->program;
}

/* Refuse options that the command does not take. */
static int
given_check(struct parse *p, unsigned command)
{
	const char *name = p->l->command[command].name;

	for (unsigned i = 0; i < p->l->rows; i++) {
		char key[WORD_MAX];
		const char *meant;

		if (!p->given[i] || line_takes(&p->l->row[i], command))
			continue;
		snprintf(key, sizeof(key), "%s/--%s", name, p->l->row[i].name);
		meant = meant_by(p->l, key);
		if (meant != NULL)
			return refuse(p, "%s does not take --%s: %s",
			    *name != '\0' ? name : p->l->program,
			    p->l->row[i].name, meant);
		return refuse(p, "%s does not take --%s; %s does",
		    *name != '\0' ? name : p->l->program, p->l->row[i].name,
		    taker(p->l, &p->l->row[i]));
	}
	return 0;
}

int
line_parse(const struct command_line *l, void *to, int argc, char **argv,
    struct line_words *out, char why[LINE_WHY])
{
	struct parse p = {.l = l,
	    .to = to,
	    .why = why,
	    .argc = argc,
	    .argv = argv,
	    .command = line_command_of(l, argc - 1, argv + 1)};
	int err;

	assert(l->rows <= LINE_ROWS_MAX);
	*out = (struct line_words){.word = argv + 1};
	if (argc > 2 && strcmp(argv[1], "__complete") == 0) {
		line_complete(l, argc - 2, argv + 2);
		return 1;
	}
	err = options_take(&p, &out->count);
	if (err != 0)
		return err;
	if (out->count == 0 && l->command[0].name[0] != '\0')
		return refuse(&p, "no command is given");
	if (out->count > 0 && strcmp(out->word[0], "help") == 0) {
		line_help(stdout, l, p.command);
		return 1;
	}
	if (out->count > 0) {
		out->command = line_command_of(l, 1, out->word);
		if (out->command != LINE_ANY) {
			out->word++;
			out->count--;
		} else {
			out->command = 0;
			err = command_unknown(&p, out->word[0]);
		}
	}
	if (err == 0)
		err = given_check(&p, out->command);
	return err == 0 ? words_check(&p, out) : err;
}

void
line_complain(const struct command_line *l, const char *why)
{
	char *sentence, safe[4 * LINE_WHY];
	struct text t = {0};
	size_t n = strlen(l->program) + 2;

	text_add(&t, "%s: ", l->program);
	text_wrap(&t, text_safe(safe, sizeof(safe), why), n, n);
	if (text_take(&t, &sentence, &n) == 0)
		fputs(sentence, stderr);
	free(sentence);
	fprintf(stderr, "Try '%s --help'.\n", l->program);
}

/* --- help ----------------------------------------------------------------- */

/* Write "-n, --number N". */
static int
left_of(const struct option_row *row, char out[WORD_MAX])
{
	return snprintf(out, WORD_MAX, "%c%c%c --%s%s%s",
	    row->letter != 0 ? '-' : ' ', row->letter != 0 ? row->letter : ' ',
	    row->letter != 0 ? ',' : ' ', row->name,
	    row->argument != NULL ? " " : "",
	    row->argument != NULL ? row->argument : "");
}

/* Print an option.  whose: also print the commands that take it. */
static void
help_option(FILE *out, const struct command_line *l,
    const struct option_row *row, int columns, bool whose)
{
	const char *before = " (";
	char left[WORD_MAX];

	left_of(row, left);
	fprintf(out, "  %-*s %s", columns, left, row->help);
	for (unsigned c = 0; whose && row->commands != 0 && c < l->commands;
	     c++) {
		if (!line_takes(row, c))
			continue;
		fprintf(out, "%s%s", before, l->command[c].name);
		before = ", ";
	}
	fprintf(out, "%s\n", *before == ',' ? ")" : "");
}

static void
help_options(FILE *out, const struct command_line *l, unsigned command)
{
	bool whose = command == LINE_ANY && l->command[0].name[0] != '\0';
	const struct option_row *row = line_row(l, 0);
	bool grouped = row != NULL && row->group != NULL;
	char left[WORD_MAX];
	int columns = 0;

	for (unsigned i = 0; (row = line_row(l, i)) != NULL; i++) {
		int n = left_of(row, left);

		if (row->help != NULL && n > columns && n <= LEFT_COLUMNS)
			columns = n;
	}
	if (command != LINE_ANY || !grouped)
		fprintf(out, "\noptions%s:\n",
		    whose ? " (of the commands in parentheses, else of all)"
			  : "");
	for (unsigned i = 0; (row = line_row(l, i)) != NULL; i++) {
		if (row->help == NULL || !line_takes(row, command))
			continue;
		if (row->group != NULL && command == LINE_ANY)
			fprintf(out, "\n%s:\n", row->group);
		help_option(out, l, row, columns, whose);
	}
}

void
line_help_commands(FILE *out, const struct command_line *l)
{
	char left[WORD_MAX];

	fprintf(out, "commands:\n");
	for (unsigned i = 0; i < l->commands; i++) {
		const struct line_command *c = &l->command[i];

		if (c->name[0] == '\0')
			continue;
		snprintf(left, sizeof(left), "%s %s", c->name, c->argument);
		fprintf(out, "  %-16s %s\n", left, c->help);
	}
}

void
line_help(FILE *out, const struct command_line *l, unsigned command)
{
	bool named = l->command[0].name[0] != '\0';
	char use[LINE_WHY];

	if (command == LINE_ANY && named)
		fprintf(out, "usage: %s [OPTION]... COMMAND [ARGUMENT]\n",
		    l->program);
	else
		fprintf(out, "usage: %s\n",
		    usage(l, command == LINE_ANY ? 0 : command, use));
	if (command != LINE_ANY)
		fprintf(out, "%s\n", l->command[command].help);
	else if (l->about != NULL)
		fprintf(out, "%s\n", l->about);
	if (command == LINE_ANY && (named || l->commands > 1)) {
		fputc('\n', out);
		line_help_commands(out, l);
	}
	help_options(out, l, command);
	if (command == LINE_ANY && l->end != NULL)
		fprintf(out, "%s\n", l->end);
	else
		fprintf(out, "\"man %s\" has the rest.\n", l->program);
}
