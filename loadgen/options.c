#include "loadgen/options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>

#include "base/completion.h"
#include "base/nearest.h"
#include "base/usage.h"
#include "loadgen/option_table.h"
#include "loadgen/send/quantity.h"

#define P99_REQUESTS 1000
#define WARMUP_MAX 100 /* by default, as the next two */
#define WARMUP_SHARE 10
#define WARMUP_S 10
#define CODE_FIRST 256 /* val of the n-th row, if it has no letter */

static void
options_init(struct options *o)
{
	memset(o, 0, sizeof(*o));
	o->plan.rate_per_s = 1000;
	o->plan.requests = 1000;
	o->plan.iterations = 20;
	o->plan.seed = 1;
	o->plan.pause_ns = 500 * NS_PER_MS;
	o->plan.connections = 1;
	o->plan.max_connections = 1024;
	o->pin = true;
	o->plan.timeout_ns = 10 * NS_PER_S;
	o->plan.spin = true;
	for (unsigned status = 200; status < 300; status++)
		o->plan.expected_status[status] = true;
	o->plan.kernel_stamps = true;
	o->criteria.slow = 3;
	/* The table shows these two, the verdict needs one. */
	(void)percentiles_add(&o->criteria.percentiles, 50);
	(void)percentiles_add(&o->criteria.percentiles, 99);
}

static int
wrong(struct options *o, const char *text)
{
	snprintf(o->why, sizeof(o->why), "%s", text);
	return -EINVAL;
}

static int
check_closed(struct options *o)
{
	if (o->rate_given)
		return wrong(o,
		    "--arrivals closed:C has no --rate: the responses set it");
	if (o->duration_ns > 0)
		return wrong(
		    o, "--arrivals closed:C needs --requests, not --duration");
	if (o->connections_given)
		return wrong(o, "--arrivals closed:C sets the number of "
				"connections itself");
	o->plan.connections = o->plan.closed_clients;
	return 0;
}

static int
check_trace(struct options *o)
{
	if (o->rate_given || o->requests_given || o->duration_ns > 0)
		return wrong(o, "--arrivals file:PATH sets rate and number of "
				"requests itself");
	return 0;
}

static int
check_duration(struct options *o)
{
	if (o->requests_given)
		return wrong(o, "give --requests or --duration, not both");
	double n =
	    o->plan.rate_per_s * (double)o->duration_ns / (double)NS_PER_S;
	/* As many iterations as have a p99 that rests on ten requests. */
	if (!o->iterations_given)
		o->plan.iterations =
		    n < 2 * P99_REQUESTS ? 1
		    : n < (double)o->plan.iterations * P99_REQUESTS
			? (uint64_t)(n / P99_REQUESTS)
			: o->plan.iterations;
	n /= (double)o->plan.iterations;
	if (n < 1 || n > PLAN_REQUESTS_MAX)
		return wrong(o, "--duration times --rate must be 1 to 100 "
				"million requests an iteration");
	o->plan.requests = (uint64_t)llround(n);
	return 0;
}

void
options_default_warmup(struct options *o)
{
	struct plan *plan = &o->plan;
	uint64_t n = (plan->requests + WARMUP_SHARE - 1) / WARMUP_SHARE;

	if (o->warmup_given)
		return;
	if (n > WARMUP_MAX)
		n = WARMUP_MAX;
	if (plan->arrivals != ARRIVALS_CLOSED &&
	    (double)n > plan->rate_per_s * WARMUP_S)
		n = (uint64_t)(plan->rate_per_s * WARMUP_S);
	plan->warmup = n;
}

static int
check_output(struct options *o)
{
	const char *path[] = {o->output.json_path, o->output.ndjson_path};
	unsigned on_stdout = 0;

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		if (path[i] != NULL && o->output.out_dir != NULL)
			return wrong(o, "--out has --json and --ndjson in it: "
					"give one or the others");
		if (path[i] != NULL && strcmp(path[i], "-") == 0)
			on_stdout++;
	}
	o->output.on_stdout = on_stdout > 0;
	if (on_stdout > 1)
		return wrong(o, "only one output can go to stdout (-)");
	return 0;
}

static int
check_combinations(struct options *o)
{
	int err = 0;

	if (o->plan.arrivals == ARRIVALS_CLOSED)
		err = check_closed(o);
	else if (o->plan.arrivals == ARRIVALS_FILE)
		err = check_trace(o);
	else if (o->duration_ns > 0)
		err = check_duration(o);
	if (err < 0)
		return err;
	options_default_warmup(o);
	if (o->plan.connections > o->plan.max_connections) {
		if (o->max_connections_given)
			return wrong(
			    o, "--connections is above --max-connections");
		o->plan.max_connections = o->plan.connections;
	}
	if (!o->percentiles_given)
		(void)percentiles_parse(&o->criteria.percentiles, "90,99.9");
	/* So that whatever is compared has been computed. */
	for (unsigned i = 0; i < o->criteria.fail_count; i++) {
		if (o->criteria.fails[i].statistic == STATISTIC_PERCENTILE &&
		    percentiles_add(&o->criteria.percentiles,
			o->criteria.fails[i].percent) < 0)
			return wrong(o, "--fail: too many percentiles");
	}
	return check_output(o);
}

/* What getopt_long() wants, made from our table. */
static void
make_getopt_arrays(struct option *longs, char *letters)
{
	*letters++ = ':'; /* a missing argument is no unknown option */
	for (unsigned i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		longs[i] = (struct option){.name = row->name,
		    .has_arg =
			row->argument != NULL ? required_argument : no_argument,
		    .val =
			row->letter != 0 ? row->letter : CODE_FIRST + (int)i};
		if (row->letter == 0)
			continue;
		*letters++ = row->letter;
		if (row->argument != NULL)
			*letters++ = ':';
	}
	longs[option_row_count] = (struct option){0};
	*letters = '\0';
}

static const struct option_row *
row_find(int code)
{
	if (code >= CODE_FIRST)
		return &option_rows[code - CODE_FIRST];
	for (unsigned i = 0; i < option_row_count; i++) {
		if (option_rows[i].letter == code)
			return &option_rows[i];
	}
	return NULL;
}

static int
apply(struct options *o, const struct option_row *row, enum options_verb *verb)
{
	if (row->set == NULL) {
		*verb = row->letter == 'V' ? OPTIONS_VERSION : OPTIONS_HELP;
		return 0;
	}
	if (row->set(o, row, optarg) == 0) {
		if (row->given != 0)
			*((bool *)o + row->given) = true;
		return 0;
	}
	/* A setter may have said more than that the value is wrong. */
	if (o->why[0] == '\0')
		snprintf(o->why, sizeof(o->why), "--%s: \"%s\" is not %s",
		    row->name, optarg, row->wants);
	return -EINVAL;
}

static const struct {
	const char *word;
	enum options_verb verb;
	char letter;	   /* in option_row.verbs */
	unsigned operands; /* wanted, of those without a URL */
	const char *wants;
	const char *meaning;
} verbs[] = {
    {"ab", OPTIONS_AB, 'a', 0, "", "measure two targets in turn"},
    {"check", OPTIONS_CHECK, 'k', 0, "", "measure this machine"},
    {"completion", OPTIONS_COMPLETION, 's', 1, "one of bash, zsh and fish",
	"print a completion script"},
};
#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* Whether the subcommand has that option. */
static int
check_belongs(
    struct options *o, const struct option_row *row, enum options_verb verb)
{
	const char *word = "";
	char letter = 'x';

	for (size_t i = 0; i < VERBS; i++) {
		if (verbs[i].verb == verb) {
			letter = verbs[i].letter;
			word = verbs[i].word;
		}
	}
	if (strchr(row->verbs, letter) != NULL)
		return 0;
	snprintf(o->why, sizeof(o->why), "tailor-load%s%s has no --%s",
	    *word != '\0' ? " " : "", word, row->name);
	return -EINVAL;
}

/* Whether what stands for the URL is a mistyped command; why is set then. */
static bool
is_mistyped(struct options *o, const char *word)
{
	struct nearest best = {NULL, 0};

	for (size_t i = 0; i < VERBS; i++)
		nearest_consider(&best, word, verbs[i].word);
	if (best.word != NULL)
		snprintf(o->why, sizeof(o->why),
		    "\"%s\" is neither a URL nor a command; did you mean %s?",
		    word, best.word);
	return best.word != NULL;
}

/* "-rate=5": what vegeta and hey take for a long option; why is set then. */
static bool
is_single_dashed(struct options *o, const char *word)
{
	size_t n = strcspn(word, "=");

	if (word[0] != '-' || word[1] == '-' || n < 3)
		return false;
	for (unsigned i = 0; i < option_row_count; i++) {
		const char *name = option_rows[i].name;
		if (strlen(name) != n - 1 ||
		    strncmp(name, word + 1, n - 1) != 0)
			continue;
		snprintf(o->why, sizeof(o->why),
		    "%s: long options have two dashes: -%s", word, word);
		return true;
	}
	return false;
}

static bool
is_number(const char *text)
{
	const char *rest;
	double value;

	return quantity_real(text, &value, &rest) == 0 && *rest == '\0';
}

/* What is left of the command line behind the options. */
static int
take_operands(
    struct options *o, enum options_verb verb, int count, char **operand)
{
	for (size_t i = 0; i < VERBS; i++) {
		if (verbs[i].verb != verb || verbs[i].operands == 0)
			continue;
		if (count != (int)verbs[i].operands) {
			snprintf(o->why, sizeof(o->why), "%s needs %s",
			    verbs[i].word, verbs[i].wants);
			return -EINVAL;
		}
		memcpy(o->files, operand, (size_t)count * sizeof(o->files[0]));
		return check_output(o);
	}
	for (int i = 0; i < count; i++) {
		if (!is_number(operand[i]))
			continue;
		snprintf(o->why, sizeof(o->why),
		    "%s is not a URL; a rate is -r %s (-q is --quiet)",
		    operand[i], operand[i]);
		return -EINVAL;
	}
	if (count > 0 && verb == OPTIONS_RUN && is_mistyped(o, operand[0]))
		return -EINVAL;
	if (count > (verb == OPTIONS_RUN))
		return wrong(o, verb == OPTIONS_RUN ? "more than one URL given"
				: verb == OPTIONS_AB
				    ? "ab needs --a URL and --b URL"
				    : "an operand is not allowed here");
	if (count == 1)
		o->url = operand[0];
	if (verb == OPTIONS_RUN && o->url == NULL && o->urls_path == NULL)
		return wrong(o, "no URL given; for example:\n"
				"    tailor-load -r 100 -d 10s "
				"http://localhost:8080/");
	if (verb == OPTIONS_AB && (o->url_a == NULL || o->url_b == NULL))
		return wrong(o, "ab needs --a URL and --b URL");
	if (verb == OPTIONS_CHECK)
		return 0;
	return check_combinations(o);
}

int
options_parse(struct options *o, int argc, char **argv, enum options_verb *verb)
{
	struct option longs[OPTION_ROWS_MAX + 1];
	char letters[3 * OPTION_ROWS_MAX];
	int code;

	options_init(o);
	make_getopt_arrays(longs, letters);
	*verb = OPTIONS_RUN;
	for (size_t i = 0; i < VERBS && argc > 1; i++) {
		if (strcmp(argv[1], verbs[i].word) != 0)
			continue;
		*verb = verbs[i].verb;
		argc--;
		argv++;
		break;
	}
	const enum options_verb given = *verb;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (is_single_dashed(o, argv[i]))
			return -EINVAL;
	}
	opterr = 0;
	optind = 0; /* also resets glibc's position inside a word */
	while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (code == '?' || code == ':') {
			usage_refusal(
			    longs, code, argv, o->why, sizeof(o->why));
			return -EINVAL;
		}
		if (check_belongs(o, row_find(code), given) < 0 ||
		    apply(o, row_find(code), verb) < 0)
			return -EINVAL;
		if (*verb != given)
			return 0;
	}
	return take_operands(o, *verb, argc - optind, argv + optind);
}

void
options_help(FILE *out)
{
	fputs("Usage: tailor-load [options] URL\n"
	      "       tailor-load ab [options] --a URL --b URL\n"
	      "       tailor-load check [-d 10s]\n"
	      "       tailor-load completion bash|zsh|fish\n"
	      "Measure the latency of an HTTP server under open-loop load: "
	      "requests are\n"
	      "sent when they are due, and timed from that instant, whatever "
	      "the server\n"
	      "does.  URL is http://host[:port]/path or "
	      "http+unix://%2Fpath%2Fsocket/path.\n",
	    out);
	for (unsigned i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		char left[40];

		if (row->help == NULL)
			continue;
		if (row->group != NULL)
			fprintf(out, "\n%s\n", row->group);
		snprintf(left, sizeof(left), "%c%c%c --%s%s%s",
		    row->letter != 0 ? '-' : ' ',
		    row->letter != 0 ? row->letter : ' ',
		    row->letter != 0 ? ',' : ' ', row->name,
		    row->argument != NULL ? " " : "",
		    row->argument != NULL ? row->argument : "");
		fprintf(out, "  %-25s %s\n", left, row->help);
	}
	fputs("\nDurations take ns us ms s m h, or are seconds; counts take k "
	      "and "
	      "M.\n"
	      "Exit: 0 done, 1 could not run, 2 usage, 3 a --fail expression "
	      "failed,\n"
	      "4 the figures are mostly the generator's lateness, 130 "
	      "interrupted.\n",
	    out);
}

bool
options_completion(FILE *out, const char *shell)
{
	struct completion_word command[VERBS], option[OPTION_ROWS_MAX];
	unsigned options = 0;

	for (size_t i = 0; i < VERBS; i++)
		command[i] = (struct completion_word){
		    .name = verbs[i].word, .meaning = verbs[i].meaning};
	for (unsigned i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		if (row->help != NULL)
			option[options++] =
			    (struct completion_word){.name = row->name,
				.meaning = row->help,
				.argument = row->argument != NULL,
				.letter = row->letter};
	}
	return completion_print(out, shell,
	    &(struct completion){.program = "tailor-load",
		.command = command,
		.commands = VERBS,
		.option = option,
		.options = options});
}
