/* options.c: the tables of the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/instant.h"
#include "tailorctl/options.h"

#define COUNT_MAX 1000000000
#define SINCE "a time from 1s to 3650d: 90s, 10m, 2h, 1d"

static const struct line_command commands[COMMAND_COUNT] = {
#define OPTIONS_X(name, argument, values, summary) \
	[COMMAND_##name] = {#name, argument, summary, values},
    COMMANDS(OPTIONS_X)
#undef OPTIONS_X
};

/* Store a length of time: "90s", "10m", "2h", "1d". */
static int
set_since(void *to, const struct option_row *row, const char *text)
{
	static const struct {
		char letter;
		double seconds;
	} unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	char *end;
	double v = strtod(text, &end);

	for (unsigned i = 0; i < COUNT(unit); i++)
		if (end != text && end[0] == unit[i].letter && end[1] == '\0')
			v *= unit[i].seconds, end++;
	if (end == text || *end != '\0' || !(v >= 1) || v > 3650 * 86400.0)
		return -EINVAL;
	*(int64_t *)((char *)to + row->at) = (int64_t)(v * (double)NS_PER_S);
	return 0;
}

static int
set_ago(void *to, const struct option_row *row, const char *text)
{
	return set_since(to, row, strcmp(text, "yesterday") == 0 ? "1d" : text);
}

/* Store the option's name as the form. */
static int
set_form(void *to, const struct option_row *row, const char *text)
{
	(void)text;
	((struct ctl_options *)to)->format = row->name;
	return 0;
}

#define AT(member) .at = offsetof(struct ctl_options, member)
#define OF(name) LINE_COMMAND(COMMAND_##name)
#define WHY_BLAME OF(why) | OF(blame)
#define NUMBER .set = option_number, AT(count), .low = 1, .high = COUNT_MAX
#define SECONDS                                                            \
	.set = option_duration, .low = NS_PER_MS, .high = 3600 * NS_PER_S, \
	.values = "", .wants = "a number of seconds from 0.001 to 3600"
/* clang-format off: an option a line, or two */
static const struct option_row rows[] = {
    {"admin", 'a', "WHICH", "a tailor's name or port, or its admin socket",
	option_text, AT(admin), .values = "@WHICH"},
    {"json", 'j', NULL, "print JSON", option_flag, AT(json)},
    {"timeout", 't', "SECONDS", "time limit for a response, default 5", SECONDS,
	AT(timeout_ns)},
    {"number", 'n', "N", "limit, default 20", NUMBER, .values = "",
	.commands = OF(requests) | OF(slow) | OF(top)},
    {"since", 'w', "TIME", "within: 90s, 2h, 1d", set_since, AT(since_ns),
	.wants = SINCE, .values = "1m 10m 1h 1d",
	.commands = OF(slow) | OF(top) | OF(borrow) | WHY_BLAME},
    {"cause", 'c', "CODE", "only requests with this cause", option_text,
	AT(cause), .values = "@CODE", .commands = OF(slow)},
    {"path", 'p', "PATH", "only requests with this path", option_text, AT(path),
	.values = "@PATH", .commands = OF(slow)},
    {"sort", 'x', "KEY", "by time, total, server, cause or status",
	option_chosen, AT(sort), .values = "time total server cause status",
	.commands = OF(slow)},
    {"html", 'H', NULL, "print an HTML page", set_form, .commands = WHY_BLAME},
    {"svg", 'S', NULL, "print only the picture, as SVG", set_form,
	.commands = OF(why)},
    {"chrome", 'C', NULL, "print trace events for ui.perfetto.dev", set_form,
	.commands = OF(why)},
    {"all", 0, NULL, "all that is known, not only the first lines", option_flag,
	AT(all), .commands = OF(why) | OF(slow)},
    {"pin", 0, NULL, "keep the timeline until Tailor ends", option_flag,
	AT(pin), .commands = OF(why)},
    {"output", 'o', "FILE", "write to FILE", option_text, AT(output),
	.commands = WHY_BLAME},
    {"percentile", 0, "P", "the percentile, default 99", option_text,
	AT(percentile), .values = "90 99 99.9", .commands = OF(blame)},
    {"route", 0, "ROUTE", "only this one: \"GET /search\"", option_text,
	AT(route), .values = "", .commands = OF(blame)},
    {"without", 0, "CODES", "percentiles without these: gc,lock", option_text,
	AT(without), .values = "", .commands = OF(blame)},
    {"against", 0, "TIME", "compare with 1h, yesterday, 7d ago", set_ago,
	AT(against_ns), .wants = SINCE ", or yesterday",
	.values = "1h yesterday 7d", .commands = OF(blame)},
    {"until", 0, "TIME", "finished at least this long ago", set_since,
	AT(until_ns), .wants = SINCE, .values = "1m 10m 1h 1d",
	.commands = OF(blame)},
    {"impact", 0, NULL, "the VarMRI paper's table", option_flag, AT(impact),
	.commands = OF(blame)},
    {"accounts", 0, NULL, "print the accounts, as CSV", option_flag,
	AT(accounts), .commands = OF(blame)},
    {"file", 0, "FILE", "read accounts (csv) from FILE", option_text, AT(file),
	.commands = OF(blame)},
    {"by", 'b', "WHAT", "group by cause, path, latency, cpu or waker",
	option_choice, AT(by), .values = TOP_KINDS, .commands = OF(top)},
    {"query", 'q', "QUERY", "only matching events; see tailorctl(1)",
	option_text, AT(query), .values = "", .commands = OF(log)},
    {"requests", 'r', NULL, "show finished requests, not events", option_flag,
	AT(requests), .commands = OF(log)},
    {"list", 0, NULL, "list event types and their arguments", option_flag,
	AT(list), .commands = OF(log)},
    {"rates", 0, NULL, "what changes, per second, updated", option_flag,
	AT(rates), .commands = OF(metrics)},
    {"once", '1', NULL, "print once and exit", option_flag, AT(once),
	.commands = OF(top) | OF(metrics)},
    {"interval", 'i', "SECONDS", "time between updates, default 1", SECONDS,
	AT(interval_ns), .commands = OF(top) | OF(metrics)},
    {"stop-after", 'k', "N", "exit after N lines", NUMBER, .values = "",
	.commands = OF(log)},
    {"dump", 'd', NULL, "print what the stream holds and exit", option_flag,
	AT(dump), .commands = OF(top) | OF(log)},
    {"stream", 's', "FILE", "the stream's file; no tailor needed", option_text,
	AT(stream), .commands = OF(top) | OF(log)},
    {"with", 0, "COMMAND", "restarts $SERVER, if Tailor did not launch it",
	option_text, AT(with), .values = "", .commands = OF(deploy)},
    {"hold", 0, "SECONDS", "compare the new version so long, default 10",
	SECONDS, AT(hold_ns), .commands = OF(deploy)},
    {"resume", 0, NULL, "let the job go on", option_flag, AT(resume),
	.commands = OF(hold)},
    {"force", 'f', NULL, "even if no other server is ready", option_flag,
	AT(force), .commands = OF(drain) | OF(restart)},
};
/* clang-format on */

static const struct line_instead insteads[] = {
    {"status ps health ready", "did you mean servers?"},
    {"list ls", "did you mean slow?"},
    {"show explain trace analyze timeline", "did you mean why?"},
    {"pin keep", "did you mean why ID --pin?"},
    {"tail follow events watch",
	"did you mean log? It follows events; watch mode is tailor --watch"},
    {"stat stats", "did you mean metrics?"},
    {"hist histogram latency", "did you mean top --by latency?"},
    {"ledger cost savings", "did you mean gain?"},
    {"maint disable", "did you mean drain?"},
    {"enable", "did you mean undrain?"},
    {"upgrade rollout update", "did you mean deploy?"},
    {"swap failover", "did you mean switch?"},
    {"start", "did you mean restart?"},
    {"stop quit kill shutdown",
	"did you mean drain? SIGTERM ends Tailor itself"},
    {"config", "did you mean info? \"tailor -T\" prints all keys"},
    {"--limit --count --lines", "did you mean --number?"},
    {"--last", "did you mean --since?"},
    {"--order", "did you mean --sort?"},
    {"restart/--all", "deploy restarts both servers"},
    {"--tail", "log --stop-after N ends after N lines"},
    {"log/--force", "log follows without an option"},
    {"log/--number", "--stop-after ends log after N lines"},
    {"why/--number", "\"slow\" lists several requests"},
    {"slow/--html slow/--output",
	"\"why ID -o FILE\" writes a page about one request"},
    {"servers/--once", "servers prints once"},
};

/* Explain a word that should be the argument of an option. */
static bool
explain(const struct line_command *command, const char *word, char *why)
{
	bool blame = command == &commands[COMMAND_blame];
	const char *option = "";
	size_t n;

	if (word[strspn(word, "0123456789")] == '\0')
		option = "number N";
	else if (blame && (word[0] == '/' || strchr(word, ' ') != NULL))
		option = "route \"GET /path\"";
	else if (word[0] == '/')
		option = "path PATH";
	n = strcspn(option, " ");
	for (unsigned i = 0; n > 0 && i < COUNT(rows); i++)
		if (strncmp(rows[i].name, option, n) == 0 &&
		    rows[i].name[n] == '\0' &&
		    line_takes(&rows[i], (unsigned)(command - commands))) {
			snprintf(why, LINE_WHY,
			    "\"%.32s\" is one word too many: a %.*s is --%s",
			    word, (int)n, option, option);
			return true;
		}
	return false;
}

static const struct command_line line = {
    .program = "tailorctl",
    .end = "Without --admin: $TAILOR_ADMIN, $TAILOR_INSTANCE, or the only "
	   "tailor that runs.\n"
	   "Exit status: 0 success, 1 failure, 2 wrong usage.",
    .command = commands,
    .commands = COUNT(commands),
    .row = rows,
    .rows = COUNT(rows),
    .acting = OF(hold) | OF(drain) | OF(undrain) | OF(restart) | OF(deploy) |
	      OF(switch) | OF(reload),
    .instead = insteads,
    .insteads = COUNT(insteads),
    .explain = explain,
    .complete = completion_words,
};

bool
options_completion(const char *shell)
{
	return line_completion(stdout, &line, shell);
}

/* Choose the form by the file's ending.  -EINVAL with a message if the ending
 * promises a form that the command does not have. */
static int
form_by_ending(struct ctl_options *o, char why[LINE_WHY])
{
	static const char *const endings[] = {"html", "svg", "json", "txt"};
	bool blame = o->command == COMMAND_blame;
	const char *base = strrchr(o->output, '/');
	const char *end = strrchr(base != NULL ? base : o->output, '.');
	unsigned i = 0;

	while (end != NULL && i < (blame ? 1 : COUNT(endings)) &&
	       strcmp(end + 1, endings[i]) != 0)
		i++;
	if (end == NULL || i == 3)
		return 0;
	if (i < (blame ? 1 : COUNT(endings))) {
		o->format = endings[i];
		return 0;
	}
	snprintf(why, LINE_WHY,
	    "cannot write a %.40s file; this command writes %s", end,
	    blame ? ".html; redirect the output for text, --json or --accounts"
		  : ".html, .svg, .json and .txt");
	return -EINVAL;
}

/* Choose the form; refuse a page on a terminal. */
static int
choose_form(struct ctl_options *o, char why[LINE_WHY])
{
	if (o->output != NULL && o->format == NULL && !o->json)
		return form_by_ending(o, why);
	if (o->format == NULL || o->output != NULL || !isatty(STDOUT_FILENO))
		return 0;
	snprintf(why, LINE_WHY, "--%s is not for a terminal: add -o FILE",
	    o->format);
	return -EINVAL;
}

int
options_parse(struct ctl_options *out, int argc, char **argv)
{
	struct line_words words;
	char why[LINE_WHY];
	int err;

	*out = (struct ctl_options){.interval_ns = NS_PER_S,
	    .hold_ns = 10 * NS_PER_S,
	    .timeout_ns = 5 * NS_PER_S};
	err = line_parse(&line, out, argc, argv, &words, why);
	out->command = (enum ctl_command)words.command;
	out->argument = words.count > 0 ? words.word[0] : NULL;
	if (err == 0)
		err = choose_form(out, why);
	if (err < 0)
		line_complain(&line, why);
	if (err < 0 && argc == 1)
		line_help_commands(stderr, &line);
	return err;
}
