#include "loadgen/option_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/topology.h"
#include "loadgen/send/quantity.h"
#include "loadgen/send/token.h"

static int
count_between(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
	uint64_t n;

	if (quantity_count(text, &n) < 0 || n < low || n > high)
		return -EINVAL;
	*out = n;
	return 0;
}

static void *
member(struct options *o, const struct option_row *row)
{
	return (char *)o + row->at;
}

static int
set_true(struct options *o, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)member(o, row) = true;
	return 0;
}

static int
set_false(struct options *o, const struct option_row *row, const char *text)
{
	(void)text;
	*(bool *)member(o, row) = false;
	return 0;
}

static int
set_text(struct options *o, const struct option_row *row, const char *text)
{
	*(const char **)member(o, row) = text;
	return 0;
}

static int
set_name(struct options *o, const struct option_row *row, const char *text)
{
	(void)set_text(o, row, text);
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_token(struct options *o, const struct option_row *row, const char *text)
{
	size_t n = 0;

	while (token_char(text[n]))
		n++;
	(void)set_text(o, row, text);
	return n >= 1 && n <= 64 && text[n] == '\0' ? 0 : -EINVAL;
}

static int
set_count(struct options *o, const struct option_row *row, const char *text)
{
	return count_between(text, row->low, row->high, member(o, row));
}

static int
set_duration(struct options *o, const struct option_row *row, const char *text)
{
	int64_t *out_ns = member(o, row);
	int err = quantity_duration(text, out_ns);
	const char *unit;
	double seconds;

	/* As other generators have it: 10 is 10s. */
	if (err < 0 && quantity_real(text, &seconds, &unit) == 0 &&
	    *unit == '\0' && seconds < 9e9) {
		*out_ns = llround(seconds * (double)NS_PER_S);
		err = 0;
	}
	return err < 0 || *out_ns < (int64_t)row->low ? -EINVAL : 0;
}

/* What other programs call it, or have and we have not. */
static int
set_explained(struct options *o, const struct option_row *row, const char *text)
{
	(void)text;
	snprintf(o->why, sizeof(o->why), "--%s: %s", row->name, row->wants);
	return -EINVAL;
}

/* The place of text among the row's choices, or -EINVAL. */
static int
choice(const struct option_row *row, const char *text)
{
	for (int i = 0; row->choices[i] != NULL; i++) {
		if (strcmp(text, row->choices[i]) == 0)
			return i;
	}
	return -EINVAL;
}

/* The first choice is false, the second true. */
static int
set_switch(struct options *o, const struct option_row *row, const char *text)
{
	int i = choice(row, text);

	*(bool *)member(o, row) = i == 1;
	return i < 0 ? i : 0;
}

static int
set_rate(struct options *o, const struct option_row *row, const char *text)
{
	const char *unit;
	double rate;

	(void)row;
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
	o->plan.rate_per_s = rate;
	return 0;
}

static int
set_arrivals(struct options *o, const struct option_row *row, const char *text)
{
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
	return count_between(text + strlen(closed), 1, PLAN_CONNECTIONS_MAX,
	    &o->plan.closed_clients);
}

static int
set_seed(struct options *o, const struct option_row *row, const char *text)
{
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
set_cpu(struct options *o, const struct option_row *row, const char *text)
{
	(void)row;
	o->pin = strcmp(text, "none") != 0;
	if (!o->pin)
		return 0;
	o->cpus_given = true;
	return topology_parse_cpus(text, &o->cpus);
}

static int
set_header(struct options *o, const struct option_row *row, const char *text)
{
	(void)row;
	if (o->plan.header_count == PLAN_HEADERS_MAX)
		return -EINVAL;
	o->plan.headers[o->plan.header_count++] =
	    text; /* request.c checks it */
	return 0;
}

/* "2xx,304": the first use replaces the default. */
static int
set_expect_status(
    struct options *o, const struct option_row *row, const char *text)
{
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
set_analyze(struct options *o, const struct option_row *row, const char *text)
{
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

static int
set_percentiles(
    struct options *o, const struct option_row *row, const char *text)
{
	(void)row;
	return percentiles_parse(&o->criteria.percentiles, text);
}

static int
set_fail(struct options *o, const struct option_row *row, const char *text)
{
	(void)row;
	if (o->criteria.fail_count == CRITERIA_FAILS_MAX)
		return -EINVAL;
	return expectation_parse(
	    &o->criteria.fails[o->criteria.fail_count++], text);
}

#define A_RATE "a rate of 0.001 to 10M per second"
#define A_COUNT "a number in range"
#define A_DURATION "a duration like 500ms or 10 (seconds)"
#define A_TOKEN "an HTTP token of 1 to 64 characters"
#define A_FILE "a file name"
#define RUN "xa" /* commands that run an experiment */
#define AT(member) .at = offsetof(struct options, member)
#define GIVEN(member) .given = offsetof(struct options, member)
#define FROM(lowest, highest) .low = (lowest), .high = (highest)
#define EXPLAINED(n, l, a, why)                                      \
	{                                                            \
		.name = n, .letter = l, .argument = a, .wants = why, \
		.verbs = RUN, .set = set_explained                   \
	}
#define NO_WORKERS                                                         \
	"leave it out: requests do not wait for workers; --connections N " \
	"opens that many in advance"
/* clang-format off */
#define OF(...) .choices = (const char *const[]){__VA_ARGS__, NULL}
/* clang-format on */

const struct option_row option_rows[] = {
    {"Load", "rate", 'r', "N", "requests per second, in total [1000]", A_RATE,
	"xak", .set = set_rate, GIVEN(rate_given)},
    {NULL, "rps", 'R', "N", NULL, A_RATE, RUN, .set = set_rate,
	GIVEN(rate_given)},
    {NULL, "qps", 0, "N", NULL, A_RATE, RUN, .set = set_rate,
	GIVEN(rate_given)},
    {NULL, "requests", 'n', "N", "requests per iteration [1000]", A_COUNT, RUN,
	.set = set_count, AT(plan.requests), FROM(1, PLAN_REQUESTS_MAX),
	GIVEN(requests_given)},
    {NULL, "iterations", 'i', "N", "iterations [20]", A_COUNT, RUN,
	.set = set_count, AT(plan.iterations), FROM(1, 100000),
	GIVEN(iterations_given)},
    {NULL, "duration", 'd', "T", "how long to send, in all; instead of -n",
	A_DURATION "; a body is --data", "xak", .set = set_duration,
	AT(duration_ns), FROM(1, 0)},
    {NULL, "timelimit", 'z', "T", NULL, A_DURATION, RUN, .set = set_duration,
	AT(duration_ns), FROM(1, 0)},
    {NULL, "arrivals", 0, "KIND", "poisson, uniform, file:PATH, closed:C",
	"poisson, uniform, file:PATH or closed:C", RUN, .set = set_arrivals},
    {NULL, "seed", 0, "N", "seed of the schedule; iteration k uses N+k [1]",
	"an unsigned 64-bit number", RUN, .set = set_seed},
    {NULL, "warmup", 0, "N", "unmeasured requests per iteration [a tenth]",
	A_COUNT, RUN, .set = set_count, AT(plan.warmup),
	FROM(0, PLAN_REQUESTS_MAX), GIVEN(warmup_given)},
    {NULL, "pause", 0, "T", "quiet time between iterations [500ms]", A_DURATION,
	RUN, .set = set_duration, AT(plan.pause_ns)},
    {NULL, "connections", 'c', "N", "connections opened in advance [1]",
	A_COUNT, RUN, .set = set_count, AT(plan.connections),
	FROM(0, PLAN_CONNECTIONS_MAX), GIVEN(connections_given)},
    {NULL, "max-connections", 0, "N", "open more if all are busy, up to [1024]",
	A_COUNT, RUN, .set = set_count, AT(plan.max_connections),
	FROM(1, PLAN_CONNECTIONS_MAX), GIVEN(max_connections_given)},
    {NULL, "cpu", 0, "LIST", "CPUs of the sender, or none [last allowed]",
	"a CPU list like 2-3, or none", "xak", .set = set_cpu},
    {NULL, "timeout", 0, "T", "per request, from when it is sent [10s]",
	A_DURATION, RUN, .set = set_duration, AT(plan.timeout_ns), FROM(1, 0)},
    {NULL, "no-spin", 0, NULL, "only sleep: less CPU, more lag", NULL, RUN,
	.set = set_false, AT(plan.spin)},
    {NULL, "priority", 0, NULL, "ask for real-time scheduling of the sender",
	NULL, "xak", .set = set_true, AT(real_time)},
    {NULL, "a", 0, "URL", "for ab: the first target", NULL, "a",
	.set = set_text, AT(url_a)},
    {NULL, "b", 0, "URL", "for ab: the second, compared with it", NULL, "a",
	.set = set_text, AT(url_b)},

    {"Request", "method", 'X', "M", "method [GET, with --data POST]", A_TOKEN,
	RUN, .set = set_token, AT(plan.method)},
    {NULL, "request", 'm', "M", NULL, A_TOKEN, RUN, .set = set_token,
	AT(plan.method)},
    {NULL, "header", 'H', "'K: V'", "add or replace a header (repeat)",
	"one of at most 64 headers", RUN, .set = set_header},
    {NULL, "data", 0, "STR|@FILE", "body", NULL, RUN, .set = set_text,
	AT(plan.data)},
    {NULL, "urls", 0, "FILE", "targets or URLs, one per line, used in turn",
	A_FILE, RUN, .set = set_text, AT(urls_path)},
    {NULL, "expect-status", 0, "LIST", "statuses that count as success [2xx]",
	"a list like 2xx,304", RUN, .set = set_expect_status,
	GIVEN(expect_given)},
    {NULL, "stamps", 0, "kernel|user", "which time stamps to log [kernel]",
	"kernel or user", RUN, .set = set_switch, AT(plan.kernel_stamps),
	OF("user", "kernel")},

    {"Slow requests", "slow", 0, "K", "list the K slowest of an iteration [3]",
	"a number up to 1000", RUN, .set = set_count, AT(criteria.slow),
	FROM(0, CRITERIA_SLOW_MAX)},
    {NULL, "analyze", 0, "URL", "Tailor that explains them; auto, off [auto]",
	"a URL, auto or off", RUN, .set = set_analyze},

    {NULL, "token-file", 0, "FILE", "token for that Tailor", A_FILE, RUN,
	.set = set_name, AT(token_path)},

    {"Output", "out", 'o', "DIR", "write run.json, report.html and the rest",
	"a directory name", RUN, .set = set_name, AT(output.out_dir)},
    {NULL, "json", 0, "FILE|-", "summary", A_FILE, "x", .set = set_name,
	AT(output.json_path)},
    {NULL, "ndjson", 0, "FILE|-", "one line per request", A_FILE, "x",
	.set = set_name, AT(output.ndjson_path)},
    {NULL, "percentiles", 0, "LIST", "percentiles to report [50,90,99,99.9]",
	"a list like 50,99.9 (fractions from 10 on)", RUN,
	.set = set_percentiles, GIVEN(percentiles_given)},
    {NULL, "fail", 0, "EXPR", "p99<20ms, errors<0.1%, lag.p99<200us (repeat)",
	"an expression like p99<20ms", "x", .set = set_fail},
    {NULL, "quiet", 'q', NULL, "no report, only warnings", NULL, RUN,
	.set = set_true, AT(output.quiet)},

    /* clang-format off */
    EXPLAINED("threads", 't', "N", "leave it out: one thread sends, up to "
	"some 90k requests/s (a limit of time is --duration or --timeout)"),
    EXPLAINED("concurrency", 0, "N", NO_WORKERS),
    EXPLAINED("workers", 'w', "N", NO_WORKERS),
    EXPLAINED("latency", 'L', NULL, "leave it out: it is always reported"),
    EXPLAINED("latency-correction", 0, NULL,
	"leave it out: latency always counts from the schedule"),
    EXPLAINED("script", 's', "FILE",
	"there are no scripts; see --urls, --method, --header and --data"),
    EXPLAINED("targets", 0, "FILE", "use --urls FILE, a path or URL a line"),
    EXPLAINED("body", 'D', "FILE", "use --data STR or --data @FILE"),
    EXPLAINED("postfile", 'p', "FILE", "use --data @FILE"),
    EXPLAINED("content-type", 'T', "TYPE", "use -H 'Content-Type: TYPE'"),
    EXPLAINED("auth", 'A', "USER", "use -H 'Authorization: Basic BASE64'"),
    EXPLAINED("http2", 0, NULL, "only HTTP/1.1 is supported"),
    EXPLAINED("insecure", 0, NULL,
	"TLS is not supported: measure behind the TLS proxy"),
    EXPLAINED("keepalive", 'k', NULL,
	"leave it out: connections are always kept"),
    /* clang-format on */
    {NULL, "help", 'h', NULL, "this text", NULL, "xak", .set = NULL},
    {NULL, "version", 'V', NULL, "the version", NULL, "xak", .set = NULL},
};

const unsigned option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX,
    "getopt's arrays are too small");
