/* Goal: a command line is taken as its tables say, or refused with what to do;
 * the other sentences are in tests/e2e/test_mistakes.py. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/command_line.h"

struct taken {
	bool flag, given;
	const char *text;
	int64_t number;
	unsigned choice;
};

#define AT(member) .at = offsetof(struct taken, member)

static const struct line_command commands[] = {
    {"", "[WORD]", "run", NULL}, {"pin", "ID", "pin", NULL}};
static const struct option_row rows[] = {
    {"flag", 'f', NULL, "a flag", option_flag, AT(flag)},
    {"text", 't', "TEXT", "a text", option_text, AT(text), .low = 1,
	.wants = "a text"},
    {"number", 'n', "N", "a number", option_number, AT(number), .low = 1,
	.high = 9, .given = offsetof(struct taken, given),
	.commands = LINE_COMMAND(1)},
    {"name", 0, "WHAT", "a name", option_choice, AT(choice), .values = "a b c",
	.commands = LINE_COMMAND(0)},
};
static const struct line_instead insteads[] = {
    {"show --show", "did you mean pin?"}, {"pin/--name", "it has none"}};
static const struct command_line line = {.program = "p",
    .command = commands,
    .commands = COUNT(commands),
    .row = rows,
    .rows = COUNT(rows),
    .instead = insteads,
    .insteads = COUNT(insteads)};

static struct taken taken;
static struct line_words words;
static char why[LINE_WHY], text[256];

/* A program that runs another one. */
static const struct line_command runs[] = {{"", "PROGRAM...", "run", NULL}};
static const struct command_line runner = {
    .program = "r", .command = runs, .commands = 1, .row = rows, .rows = 2};

static int
parse_as(const struct command_line *l, const char *given)
{
	char *argv[16] = {(char[]){"p"}}, *rest = text, *word;
	int argc = 1, err;
	static char *kept[16];

	snprintf(text, sizeof(text), "%s", given);
	while ((word = strsep(&rest, " ")) != NULL)
		argv[argc++] = word;
	memcpy(kept, argv, sizeof(argv));
	taken = (struct taken){.choice = 9};
	err = line_parse(l, &taken, argc, kept, &words, why);
	return err;
}

static int
parse(const char *given)
{
	return parse_as(&line, given);
}

TEST(test_taken)
{
	assert_int_equal(parse("x -ftone --name=b"), 0);
	assert_int_equal(words.command, 0);
	assert_string_equal(words.word[0], "x");
	assert_true(taken.flag && !taken.given);
	assert_string_equal(taken.text, "one");
	assert_int_equal(taken.choice, 1);
	/* Options before the command, cut as it allows, and none after --. */
	assert_int_equal(parse("-n 7 --te x pin -- -f"), 0);
	assert_int_equal(words.command, 1);
	assert_int_equal(words.count, 1);
	assert_string_equal(words.word[0], "-f");
	assert_true(!taken.flag && taken.given);
	assert_int_equal(taken.number, 7);
	assert_int_equal(parse("pin --n 3 x"), 0);
	assert_int_equal(taken.number, 3);
}

/* Goal: what follows the program's name is its own, options too. */
TEST(test_rest)
{
	assert_int_equal(parse_as(&runner, "-f x -t --nosuch -- y"), 0);
	assert_true(taken.flag);
	assert_null(taken.text);
	assert_int_equal(words.count, 5);
	assert_string_equal(words.word[0], "x");
	assert_string_equal(words.word[1], "-t");
	assert_string_equal(words.word[3], "--");
	assert_int_equal(parse_as(&runner, "-- -x -f"), 0);
	assert_int_equal(words.count, 2);
	assert_string_equal(words.word[0], "-x");
	assert_int_equal(parse_as(&runner, "-f"), -EINVAL);
	assert_non_null(strstr(why, "r [OPTION]... PROGRAM..."));
}

TEST(test_refused)
{
	static const char *const wrong[][2] = {
	    {"--n 3", "--n is ambiguous: --number or --name?"},
	    {"-n 3 x", "p does not take --number; pin does"},
	    {"pin --name a x", "pin does not take --name: it has none"},
	    {"pin", "ID is missing: p pin ID [OPTION]..."},
	    {"pin a b", "\"b\" is one word too many: p pin ID [OPTION]..."},
	    {"-n 10 pin x",
		"--number: \"10\" is not a whole number from 1 to 9"},
	    {"-n +1 pin x",
		"--number: \"+1\" is not a whole number from 1 to 9"},
	    {"--name d", "--name: \"d\" is not a, b or c"},
	    {"-t", "option --text needs an argument"},
	    {"--text=", "--text: \"\" is not a text"},
	    {"--flag=x", "option --flag takes no argument"},
	    {"--flga", "unknown option --flga; did you mean --flag?"},
	    {"-flag", "unknown option -flag; did you mean --flag?"},
	    {"-F", "unknown option -F; did you mean -f?"},
	    {"--show", "unknown option --show; did you mean pin?"},
	    {"show", "no command \"show\"; did you mean pin?"},
	    {"PIN x", "no command \"PIN\"; did you mean pin?"},
	    {"version", "no command \"version\"; did you mean --version?"},
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_int_equal(parse(wrong[i][0]), -EINVAL);
		assert_string_equal(why, wrong[i][1]);
	}
}
