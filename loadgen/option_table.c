/* option_table.c: the tables of the command line. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/topology.h"
#include "loadgen/options.h"
#include "base/quantity.h"
#include "loadgen/send/request.h"

static void *
member(void *to, const struct option_row *row)
{
	return (char *)to + row->at;
}

/* Store a switch: false for the first of its values, true for the second. */
static int
set_switch(void *to, const struct option_row *row, const char *text)
{
	const struct option_row alone = {.values = row->values};
	unsigned place = 0;
	int err = option_choice(&place, &alone, text);

	*(bool *)member(to, row) = place == 1;
	return err;
}

static int
set_token(void *to, const struct option_row *row, const char *text)
{
	size_t n = 0;

	while (token_char(text[n]))
		n++;
	*(const char **)member(to, row) = text;
	return n >= 1 && n <= 64 && text[n] == '\0' ? 0 : -EINVAL;
}

static int
set_rate(void *to, const struct option_row *row, const char *text)
{
	const char *unit;
	double rate;

	if (quantity_real(text, &rate, &unit) < 0)
		return -EINVAL;
	if (strcmp(unit, "k") == 0)
		rate *= 1e3;
	else if (strcmp(unit, "M") == 0)
		rate *= 1e6;
	else if (*unit != '\0' && strcmp(unit, "/s") != 0 &&
		 strcmp(unit, "/1s") != 0) /* vegeta's */
		return -EINVAL;
	if (rate < 0.001 || rate > 1e7)
		return -EINVAL;
	*(double *)member(to, row) = rate;
	return 0;
}

/* Store the limit of a percentile: row->low is 990 for p99.  Only one may be
 * given. */
static int
set_limit(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;
	const struct option_row limit = {
	    .at = offsetof(struct load_options, find_limit_ns), .low = 1};

	if (o->find_percent > 0)
		return -EINVAL;
	o->find_percent = (double)row->low / 10;
	return option_duration(to, &limit, text);
}

static int
set_arrivals(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;
	static const char closed[] = "closed:";
	static const char file[] = "file:";

	(void)row;
	if (strcmp(text, "poisson") == 0) {
		o->plan.arrivals = ARRIVALS_POISSON;
		return 0;
	}
	if (strcmp(text, "uniform") == 0) {
		o->plan.arrivals = ARRIVALS_UNIFORM;
		return 0;
	}
	if (strncmp(text, file, strlen(file)) == 0) {
		o->plan.arrivals = ARRIVALS_FILE;
		o->arrivals_path = text + strlen(file);
		return *o->arrivals_path != '\0' ? 0 : -EINVAL;
	}
	if (strncmp(text, closed, strlen(closed)) != 0)
		return -EINVAL;
	o->plan.arrivals = ARRIVALS_CLOSED;
	return quantity_parse(QUANTITY_THOUSANDS, text + strlen(closed), 1,
		   &o->plan.closed_clients) == 0 &&
		       o->plan.closed_clients >= 1 &&
		       o->plan.closed_clients <= PLAN_CONNECTIONS_MAX
		   ? 0
		   : -EINVAL;
}

static int
set_seed(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;
	char *end;

	(void)row;
	errno = 0;
	o->plan.seed = strtoull(text, &end, 0);
	/* strtoull() would take "-1" and " 1". */
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
		return -EINVAL;
	return 0;
}

static int
set_cpu(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	o->pin = strcmp(text, "none") != 0;
	if (!o->pin)
		return 0;
	o->cpus_given = true;
	return topology_parse_cpus(text, &o->cpus);
}

static int
set_header(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	if (o->plan.header_count == PLAN_HEADERS_MAX)
		return -EINVAL;
	o->plan.headers[o->plan.header_count++] =
	    text; /* request.c checks it */
	return 0;
}

/* "2xx,304": the first use replaces the default. */
static int
set_expect_status(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	if (!o->expect_given)
		memset(o->plan.expected_status, 0,
		    sizeof(o->plan.expected_status));
	for (;;) {
		if (text[0] < '1' || text[0] > '5')
			return -EINVAL;
		unsigned low = (unsigned)(text[0] - '0') * 100;
		unsigned n = 100;
		if (strncmp(text + 1, "xx", 2) != 0) {
			if (text[1] < '0' || text[1] > '9' || text[2] < '0' ||
			    text[2] > '9')
				return -EINVAL;
			low += (unsigned)(text[1] - '0') * 10 +
			       (unsigned)(text[2] - '0');
			n = 1;
		}
		memset(&o->plan.expected_status[low], true, n);
		text += 3;
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

static int
set_analyze(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	o->analyze_url = text;
	if (strcmp(text, "auto") == 0)
		o->analyze = ANALYZE_AUTO;
	else if (strcmp(text, "off") == 0)
		o->analyze = ANALYZE_OFF;
	else
		o->analyze = ANALYZE_URL; /* analyzer.c checks it */
	return *text != '\0' ? 0 : -EINVAL;
}

/* Store a directory's name, which is no file's. */
static int
set_directory(void *to, const struct option_row *row, const char *text)
{
	static const char *const files[] = {
	    ".json", ".ndjson", ".html", ".csv", ".svg", ".txt"};
	const char *end = strrchr(text, '.');

	for (unsigned i = 0; end != NULL && i < COUNT(files); i++)
		if (strcmp(end, files[i]) == 0)
			return -EINVAL;
	return *text != '\0' ? option_text(to, row, text) : -EINVAL;
}

static int
set_percentiles(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	return percentiles_parse(&o->criteria.percentiles, text);
}

static int
set_fail(void *to, const struct option_row *row, const char *text)
{
	struct load_options *o = to;

	(void)row;
	if (o->criteria.fail_count == CRITERIA_FAILS_MAX)
		return -EINVAL;
	return expectation_parse(
	    &o->criteria.fails[o->criteria.fail_count++], text);
}

#define A_FILE "a file name"
#define A_DURATION "a duration like 500ms or 10 (seconds)"
#define RATE \
	set_rate, .wants = "a rate of 0.001 to 10M per second", .values = ""
#define NUMBER option_number, .wants = "a number in range", .values = ""
#define DURATION option_duration, .wants = A_DURATION, .values = ""
#define TOKEN \
	set_token, .wants = "an HTTP token of 1 to 64 characters", .values = ""
#define OF(verb) LINE_COMMAND(OPTIONS_##verb)
#define RUNS OF(RUN) | OF(AB)
#define SENDS RUNS | OF(FIND)
#define LIMIT                                   \
	set_limit,                              \
	    .values = "", .commands = OF(FIND), \
	    .wants =                            \
		"a duration like 10ms; one of --p50, --p90, --p99, --p999"
#define AT(member) .at = offsetof(struct load_options, member)
#define GIVEN(member) .given = offsetof(struct load_options, member)
#define FROM(lowest, highest) .low = (lowest), .high = (highest)

/* clang-format off: an option a line, or two */
static const struct option_row rows[] = {
    {"rate", 'r', "N", "requests per second, in total [1000]", RATE,
	AT(plan.rate_per_s), GIVEN(rate_given), .commands = RUNS | OF(CHECK),
	.group = "Load"},
    {"rps", 'R', "N", NULL, RATE, AT(plan.rate_per_s), GIVEN(rate_given),
	.commands = RUNS},
    {"qps", 0, "N", NULL, RATE, AT(plan.rate_per_s), GIVEN(rate_given),
	.commands = RUNS},
    {"requests", 'n', "N", "requests per iteration [1000]", NUMBER,
	AT(plan.requests), FROM(1, PLAN_REQUESTS_MAX), GIVEN(requests_given),
	.commands = RUNS},
    {"iterations", 'i', "N", "iterations [20]", NUMBER, AT(plan.iterations),
	FROM(1, 100000), GIVEN(iterations_given), .commands = RUNS},
    {"duration", 'd', "T", "how long to send, in all; instead of -n",
	option_duration, AT(duration_ns), FROM(1, 0),
	.wants = A_DURATION "; a body is --data",
	.commands = SENDS | OF(CHECK)},
    {"timelimit", 'z', "T", NULL, DURATION, AT(duration_ns), FROM(1, 0),
	.commands = RUNS},
    {"arrivals", 0, "KIND", "poisson, uniform, file:PATH, closed:C",
	set_arrivals, .wants = "poisson, uniform, file:PATH or closed:C",
	.commands = RUNS},
    {"seed", 0, "N", "seed of the schedule; iteration k uses N+k [1]", set_seed,
	.wants = "an unsigned 64-bit number", .commands = SENDS},
    {"warmup", 0, "N", "unmeasured requests per iteration [a tenth]", NUMBER,
	AT(plan.warmup), FROM(0, PLAN_REQUESTS_MAX), GIVEN(warmup_given),
	.commands = RUNS},
    {"pause", 0, "T", "quiet time between iterations [500ms]", DURATION,
	AT(plan.pause_ns), .commands = RUNS},
    {"connections", 'c', "N", "connections opened in advance [1]", NUMBER,
	AT(plan.connections), FROM(0, PLAN_CONNECTIONS_MAX),
	GIVEN(connections_given), .commands = SENDS},
    {"max-connections", 0, "N", "open more if all are busy, up to [1024]",
	NUMBER, AT(plan.max_connections), FROM(1, PLAN_CONNECTIONS_MAX),
	GIVEN(max_connections_given), .commands = SENDS},
    {"cpu", 0, "LIST", "CPUs of the sender, or none [last allowed]", set_cpu,
	.wants = "a CPU list like 2-3, or none", .commands = SENDS | OF(CHECK)},
    {"timeout", 0, "T", "per request, from when it is sent [10s]", DURATION,
	AT(plan.timeout_ns), FROM(1, 0), .commands = SENDS},
    {"no-spin", 0, NULL, "only sleep: less CPU, more lag", option_off,
	AT(plan.spin), .commands = SENDS},
    {"priority", 0, NULL, "ask for real-time scheduling of the sender",
	option_flag, AT(real_time), .commands = SENDS | OF(CHECK)},
    {"a", 0, "URL", "for ab: the first target", option_text, AT(url_a),
	.commands = OF(AB)},
    {"b", 0, "URL", "for ab: the second, compared with it", option_text,
	AT(url_b), .commands = OF(AB)},
    {"p50", 0, "T", "for find: keep the p50 within T", LIMIT, FROM(500, 0)},
    {"p90", 0, "T", "for find: keep the p90 within T", LIMIT, FROM(900, 0)},
    {"p99", 0, "T", "for find: keep the p99 within T", LIMIT, FROM(990, 0)},
    {"p999", 0, "T", "for find: keep the p99.9 within T", LIMIT, FROM(999, 0)},
    {"step", 0, "T", "for find: try each rate so long [10s]", DURATION,
	AT(find_step_ns), FROM(1, 0), .commands = OF(FIND)},
    {"min-rate", 0, "N", "for find: the lowest rate to try [1]", RATE,
	AT(find_lowest_per_s), .commands = OF(FIND)},
    {"max-rate", 0, "N", "for find: the highest rate to try [100k]", RATE,
	AT(find_highest_per_s), .commands = OF(FIND)},
    {"method", 'X', "M", "method [GET, with --data POST]", TOKEN,
	AT(plan.method), .commands = SENDS, .group = "Request"},
    {"request", 'm', "M", NULL, TOKEN, AT(plan.method), .commands = SENDS},
    {"header", 'H', "'K: V'", "add or replace a header (repeat)", set_header,
	.wants = "one of at most 64 headers", .commands = SENDS},
    {"data", 0, "STR|@FILE", "body", option_text, AT(plan.data),
	.commands = SENDS},
    {"urls", 0, "FILE", "targets or URLs, one per line, used in turn",
	option_text, AT(urls_path), .wants = A_FILE, .commands = SENDS},
    {"expect-status", 0, "LIST", "statuses that count as success [2xx]",
	set_expect_status, GIVEN(expect_given), .wants = "a list like 2xx,304",
	.commands = SENDS},
    {"stamps", 0, "kernel|user", "which time stamps to log [kernel]",
	set_switch, AT(plan.kernel_stamps), .values = "user kernel",
	.commands = SENDS},
    {"slow", 0, "K", "list the K slowest of an iteration [3]", NUMBER,
	AT(criteria.slow), FROM(0, CRITERIA_SLOW_MAX), .commands = RUNS,
	.group = "Slow requests"},
    {"analyze", 0, "URL", "Tailor that explains them; auto, off [auto]",
	set_analyze, .wants = "a URL, auto or off", .commands = SENDS},
    {"token-file", 0, "FILE", "token for that Tailor", option_text,
	AT(token_path), FROM(1, 0), .wants = A_FILE, .commands = SENDS},
    {"out", 'o', "DIR", "write run.json, report.html and the rest",
	set_directory, AT(output.out_dir),
	.wants = "a directory (a file is --json FILE or --ndjson FILE)",
	.commands = RUNS, .group = "Output"},
    {"json", 0, "FILE|-", "summary", option_text, AT(output.json_path),
	FROM(1, 0), .wants = A_FILE, .commands = OF(RUN)},
    {"ndjson", 0, "FILE|-", "one line per request", option_text,
	AT(output.ndjson_path), FROM(1, 0), .wants = A_FILE,
	.commands = OF(RUN)},
    {"all", 0, NULL, "also report iterations, bounds, lag, the slowest",
	option_flag, AT(output.all), .commands = OF(RUN)},
    {"percentiles", 0, "LIST", "percentiles to report [50,90,99,99.9]",
	set_percentiles, GIVEN(percentiles_given),
	.wants = "a list like 50,99.9 (fractions from 10 on)",
	.commands = RUNS},
    {"fail", 0, "EXPR", "p99<20ms, errors<0.1%, lag.p99<200us (repeat)",
	set_fail, .wants = "an expression like p99<20ms", .commands = OF(RUN)},
    {"quiet", 'q', NULL, "no report, only warnings", option_flag,
	AT(output.quiet), .commands = SENDS},
};
/* clang-format on */

/* The order is that of enum options_verb. */
static const struct line_command commands[] = {
    {"", "[URL]", "measure a server", NULL},
    {"ab", "", "measure two targets, --a and --b, in turn", NULL},
    {"find", "[URL]", "find the highest rate that keeps a percentile", NULL},
    {"check", "", "measure this machine", NULL},
    {"completion", "SHELL", "print a script for bash, zsh or fish",
	"bash zsh fish"},
};

#define NO_WORKERS                                                         \
	"leave it out: requests do not wait for workers; --connections N " \
	"opens that many in advance"

/* Options that only other programs have. */
static const struct line_instead insteads[] = {
    {"--threads -t",
	"leave it out: one thread sends, up to some 90k requests/s (if you "
	"meant a time limit: --duration or --timeout)"},
    {"--concurrency --workers -w", NO_WORKERS},
    {"--latency -L", "leave it out: it is always reported"},
    {"--latency-correction",
	"leave it out: latency always counts from the schedule"},
    {"--script -s",
	"there are no scripts; see --urls, --method, --header and --data"},
    {"--targets", "use --urls FILE, with one path or URL per line"},
    {"--body -D", "use --data STR or --data @FILE"},
    {"--postfile -p", "use --data @FILE"},
    {"--content-type -T", "use -H 'Content-Type: TYPE'"},
    {"--auth -A", "use -H 'Authorization: Basic BASE64'"},
    {"--http2", "only HTTP/1.1 is supported"},
    {"--insecure", "TLS is not supported: measure behind the TLS proxy"},
    {"--keepalive -k", "leave it out: connections are always kept"},
};

/* Explain a rate in the form of other programs, or a URL for ab. */
static bool
explain(const struct line_command *command, const char *word, char *why)
{
	const char *rest;
	double value;

	if (quantity_real(word, &value, &rest) == 0 && *rest == '\0')
		snprintf(why, LINE_WHY,
		    "%.40s is not a URL; a rate is -r %.40s (-q is --quiet)",
		    word, word);
	else if (word[0] != '-' && command == &commands[OPTIONS_AB])
		snprintf(why, LINE_WHY, "ab needs --a URL and --b URL");
	else
		return false;
	return true;
}

const struct command_line options_line = {
    .program = "tailor-load",
    .about = "Measure the latency of an HTTP server under open-loop load: "
	     "requests are\nsent when they are due, and timed from that "
	     "instant, whatever the server\ndoes.  URL is "
	     "http://host[:port]/path or http+unix://%2Fpath%2Fsocket/path.",
    .end = "\nDurations take ns us ms s m h, or are seconds; counts take k "
	   "and M.\nExit: 0 done, 1 could not run, 2 usage, 3 a --fail "
	   "expression failed,\n4 the figures are mostly the generator's "
	   "lateness, 130 interrupted.",
    .command = commands,
    .commands = COUNT(commands),
    .row = rows,
    .rows = COUNT(rows),
    .instead = insteads,
    .insteads = COUNT(insteads),
    .explain = explain,
};
