/*
 * option_table.c: every option of tailor-load, its help text and its setter.
 */
#include "loadgen/option_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int
set_rate(struct options *o, const char *text)
{
	const char *unit;
	double rate;

	if (quantity_real(text, &rate, &unit) < 0)
		return -EINVAL;
	if (strcmp(unit, "k") == 0)
		rate *= 1e3;
	else if (strcmp(unit, "M") == 0)
		rate *= 1e6;
	else if (*unit != '\0')
		return -EINVAL;
	if (rate < 0.001 || rate > 1e7)
		return -EINVAL;
	o->plan.rate_per_s = rate;
	o->rate_given = true;
	return 0;
}

static int
set_requests(struct options *o, const char *text)
{
	o->requests_given = true;
	return count_between(text, 1, PLAN_REQUESTS_MAX, &o->plan.requests);
}

static int
set_iterations(struct options *o, const char *text)
{
	return count_between(text, 1, 100000, &o->plan.iterations);
}

static int
set_duration(struct options *o, const char *text)
{
	int err = quantity_duration(text, &o->duration_ns);

	return err < 0 || o->duration_ns == 0 ? -EINVAL : 0;
}

static int
set_arrivals(struct options *o, const char *text)
{
	static const char closed[] = "closed:";
	static const char file[] = "file:";

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
set_seed(struct options *o, const char *text)
{
	char *end;

	errno = 0;
	o->plan.seed = strtoull(text, &end, 0);
	/* strtoull() would take "-1" and " 1". */
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
		return -EINVAL;
	return 0;
}

static int
set_warmup(struct options *o, const char *text)
{
	return count_between(text, 0, PLAN_REQUESTS_MAX, &o->plan.warmup);
}

static int
set_pause(struct options *o, const char *text)
{
	return quantity_duration(text, &o->plan.pause_ns);
}

static int
set_connections(struct options *o, const char *text)
{
	o->connections_given = true;
	return count_between(
	    text, 0, PLAN_CONNECTIONS_MAX, &o->plan.connections);
}

static int
set_max_connections(struct options *o, const char *text)
{
	o->max_connections_given = true;
	return count_between(
	    text, 1, PLAN_CONNECTIONS_MAX, &o->plan.max_connections);
}

static int
set_cpu(struct options *o, const char *text)
{
	o->pin = strcmp(text, "none") != 0;
	if (!o->pin)
		return 0;
	o->cpus_given = true;
	return topology_parse_cpus(text, &o->cpus);
}

static int
set_timeout(struct options *o, const char *text)
{
	int err = quantity_duration(text, &o->plan.timeout_ns);

	return err < 0 || o->plan.timeout_ns == 0 ? -EINVAL : 0;
}

static int
set_no_spin(struct options *o, const char *text)
{
	(void)text;
	o->plan.spin = false;
	return 0;
}

static int
set_priority(struct options *o, const char *text)
{
	(void)text;
	o->real_time = true;
	return 0;
}

static int
set_token(const char **out, const char *text)
{
	if (*text == '\0' || strlen(text) > 64)
		return -EINVAL;
	for (const char *c = text; *c != '\0'; c++) {
		if (!token_char(*c))
			return -EINVAL;
	}
	*out = text;
	return 0;
}

static int
set_method(struct options *o, const char *text)
{
	return set_token(&o->plan.method, text);
}

static int
set_header(struct options *o, const char *text)
{
	if (o->plan.header_count == PLAN_HEADERS_MAX)
		return -EINVAL;
	o->plan.headers[o->plan.header_count++] =
	    text; /* request.c checks it */
	return 0;
}

static int
set_data(struct options *o, const char *text)
{
	o->plan.data = text;
	return 0;
}

static int
set_urls(struct options *o, const char *text)
{
	o->urls_path = text;
	return 0;
}

static int
set_urls_random(struct options *o, const char *text)
{
	(void)text;
	o->plan.urls_random = true;
	return 0;
}

/* "2xx,304": the first use replaces the default. */
static int
set_expect_status(struct options *o, const char *text)
{
	if (!o->expect_given)
		memset(o->plan.expected_status, 0,
		    sizeof(o->plan.expected_status));
	o->expect_given = true;
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

/* 64 hexadecimal digits, as sha256sum prints them. */
static int
set_expect_body(struct options *o, const char *text)
{
	o->plan.body_sha256 = text;
	return strlen(text) == 64 &&
		       strspn(text, "0123456789abcdefABCDEF") == 64
		   ? 0
		   : -EINVAL;
}

static int
set_nodelay(struct options *o, const char *text)
{
	o->plan.tcp_nodelay = strcmp(text, "on") == 0;
	return o->plan.tcp_nodelay || strcmp(text, "off") == 0 ? 0 : -EINVAL;
}

static int
set_quickack(struct options *o, const char *text)
{
	if (strcmp(text, "on") == 0)
		o->plan.quickack = QUICKACK_ON;
	else if (strcmp(text, "off") == 0)
		o->plan.quickack = QUICKACK_OFF;
	else if (strcmp(text, "kernel") == 0)
		o->plan.quickack = QUICKACK_KERNEL;
	else
		return -EINVAL;
	return 0;
}

static int
set_id_header(struct options *o, const char *text)
{
	return set_token(&o->plan.id_header, text);
}

static int
set_server_timing(struct options *o, const char *text)
{
	return set_token(&o->plan.server_timing, text);
}

static int
set_slow(struct options *o, const char *text)
{
	const char *value = strchr(text, ':');
	const char *end;

	if (value == NULL)
		return -EINVAL;
	value++;
	if (strncmp(text, "top:", 4) == 0) {
		o->criteria.slow_rule = SLOW_TOP;
		return count_between(
		    value, 0, CRITERIA_SLOW_MAX, &o->criteria.slow_top);
	}
	o->criteria.slow_top = CRITERIA_SLOW_MAX;
	if (strncmp(text, "over:", 5) == 0) {
		o->criteria.slow_rule = SLOW_OVER;
		return quantity_duration(value, &o->criteria.slow_over_ns);
	}
	o->criteria.slow_rule = SLOW_PERCENTILE;
	if (strncmp(text, "p:", 2) != 0 ||
	    quantity_real(value, &o->criteria.slow_percent, &end) < 0 ||
	    *end != '\0')
		return -EINVAL;
	return o->criteria.slow_percent > 0 && o->criteria.slow_percent < 100
		   ? 0
		   : -EINVAL;
}

static int
set_analyze(struct options *o, const char *text)
{
	o->analyze_url = text;
	if (strcmp(text, "auto") == 0)
		o->analyze = ANALYZE_AUTO;
	else if (strcmp(text, "off") == 0)
		o->analyze = ANALYZE_OFF;
	else
		o->analyze = ANALYZE_URL; /* talechain.c checks it */
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_stamps(struct options *o, const char *text)
{
	o->plan.kernel_stamps = strcmp(text, "kernel") == 0;
	return o->plan.kernel_stamps || strcmp(text, "user") == 0 ? 0 : -EINVAL;
}

static int
set_csv(struct options *o, const char *text)
{
	o->output.csv_path = text;
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_no_report(struct options *o, const char *text)
{
	(void)text;
	o->output.page = false;
	return 0;
}

static int
set_url_a(struct options *o, const char *text)
{
	o->url_a = text;
	return 0;
}

static int
set_url_b(struct options *o, const char *text)
{
	o->url_b = text;
	return 0;
}

static int
set_plot(struct options *o, const char *text)
{
	static const char *const known[] = {
	    "time", "worst", "iterations", "tail"};

	o->plot = text;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(text, known[i]) == 0)
			return 0;
	}
	return -EINVAL;
}

static int
set_out(struct options *o, const char *text)
{
	o->output.out_dir = text;
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_json(struct options *o, const char *text)
{
	o->output.json_path = text;
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_ndjson(struct options *o, const char *text)
{
	o->output.ndjson_path = text;
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_hgrm(struct options *o, const char *text)
{
	o->output.hgrm_path = text;
	return *text != '\0' ? 0 : -EINVAL;
}

static int
set_percentiles(struct options *o, const char *text)
{
	o->percentiles_given = true;
	return percentiles_parse(&o->criteria.percentiles, text);
}

static int
set_fail(struct options *o, const char *text)
{
	if (o->criteria.fail_count == CRITERIA_FAILS_MAX)
		return -EINVAL;
	return expectation_parse(
	    &o->criteria.fails[o->criteria.fail_count++], text);
}

static int
set_quiet(struct options *o, const char *text)
{
	(void)text;
	o->output.quiet = true;
	return 0;
}

static int
set_verbose(struct options *o, const char *text)
{
	(void)text;
	o->output.verbose = true;
	return 0;
}

static int
set_color(struct options *o, const char *text)
{
	if (strcmp(text, "auto") == 0)
		o->output.color = COLOR_AUTO;
	else if (strcmp(text, "always") == 0)
		o->output.color = COLOR_ALWAYS;
	else if (strcmp(text, "never") == 0)
		o->output.color = COLOR_NEVER;
	else
		return -EINVAL;
	return 0;
}

#define A_RATE "a rate of 0.001 to 10M per second"
#define A_COUNT "a number in range"
#define A_DURATION "a duration like 500ms"
#define A_TOKEN "an HTTP token of 1 to 64 characters"
#define A_FILE "a file name"
#define RUN "xa" /* commands that run an experiment */

/* clang-format off: a table is read in columns */
const struct option_row option_rows[] = {
    {"Load", "rate", 'r', "N", "requests per second, in total [1000]", set_rate,
	A_RATE, "xak"},
    {NULL, "rps", 'R', "N", NULL, set_rate, A_RATE, RUN},
    {NULL, "qps", 0, "N", NULL, set_rate, A_RATE, RUN},
    {NULL, "requests", 'n', "N", "requests per iteration [1000]", set_requests,
	A_COUNT, RUN},
    {NULL, "iterations", 'i', "N", "iterations [20]", set_iterations, A_COUNT,
	RUN},
    {NULL, "duration", 'd', "T", "length of an iteration, instead of -n",
	set_duration, A_DURATION, "xak"},
    {NULL, "arrivals", 0, "KIND", "poisson, uniform, file:PATH, closed:C",
	set_arrivals, "poisson, uniform, file:PATH or closed:C", RUN},
    {NULL, "seed", 0, "N", "of the schedule; iteration k uses N+k [1]",
	set_seed, "an unsigned 64-bit number", RUN},
    {NULL, "warmup", 0, "N", "unmeasured requests before each one [100]",
	set_warmup, A_COUNT, RUN},
    {NULL, "pause", 0, "T", "quiet time between iterations [500ms]", set_pause,
	A_DURATION, RUN},
    {NULL, "connections", 'c', "N", "connections opened in advance [64]",
	set_connections, A_COUNT, RUN},
    {NULL, "max-connections", 0, "N", "open more, never wait, up to [1024]",
	set_max_connections, A_COUNT, RUN},
    {NULL, "cpu", 0, "LIST", "CPUs of the sender, or none [last allowed]",
	set_cpu, "a CPU list like 2-3, or none", "xak"},
    {NULL, "timeout", 0, "T", "per request, from when it is sent [10s]",
	set_timeout, A_DURATION, RUN},
    {NULL, "no-spin", 0, NULL, "only sleep: less CPU, more lag", set_no_spin,
	NULL, RUN},
    {NULL, "priority", 0, NULL, "ask for real-time scheduling of the sender",
	set_priority, NULL, "xak"},
    {NULL, "a", 0, "URL", "of ab: the first target", set_url_a, NULL, "a"},
    {NULL, "b", 0, "URL", "of ab: the second, compared with it", set_url_b,
	NULL, "a"},

    {"Request", "method", 'X', "M", "method [GET, with --data POST]",
	set_method, A_TOKEN, RUN},
    {NULL, "header", 'H', "'K: V'", "add or replace a header (repeat)",
	set_header, "one of at most 64 headers", RUN},
    {NULL, "data", 0, "STR|@FILE", "body", set_data, NULL, RUN},
    {NULL, "urls", 0, "FILE", "targets or URLs, one a line, in turn", set_urls,
	A_FILE, RUN},
    {NULL, "urls-random", 0, NULL, "draw them, by the seed", set_urls_random,
	NULL, RUN},
    {NULL, "expect-status", 0, "LIST", "what counts as success [2xx]",
	set_expect_status, "a list like 2xx,304", RUN},
    {NULL, "expect-body-sha256", 0, "HEX", "hash of the body of a success",
	set_expect_body, "64 hexadecimal digits", RUN},
    {NULL, "tcp-nodelay", 0, "on|off", "on the client's sockets [on]",
	set_nodelay, "on or off", RUN},
    {NULL, "quickack", 0, "on|off", "or kernel: leave it alone [kernel]",
	set_quickack, "on, off or kernel", RUN},
    {NULL, "id-header", 0, "NAME", "carries the request's id [x-request-id]",
	set_id_header, A_TOKEN, RUN},
    {NULL, "server-timing", 0, "NAME",
	"metric that is the server's latency [app]", set_server_timing, A_TOKEN,
	RUN},
    {NULL, "stamps", 0, "kernel|user", "whose instants to log [kernel]",
	set_stamps, "kernel or user", RUN},

    {"Slow requests", "slow", 0, "RULE", "top:K, over:T or p:Q [top:3]",
	set_slow, "top:K with K up to 1000, over:20ms or p:99", RUN},
    {NULL, "analyze", 0, "URL", "ask TaleChain there; auto, off [auto]",
	set_analyze, "a URL, auto or off", RUN},

    {"Output", "out", 'o', "DIR", "write run.json, report.html and the rest",
	set_out, "a directory name", "xar"},
    {NULL, "json", 0, "FILE|-", "summary", set_json, A_FILE, "xc"},
    {NULL, "ndjson", 0, "FILE|-", "one line per request", set_ndjson, A_FILE,
	"x"},
    {NULL, "csv", 0, "FILE|-", "the same as a table", set_csv, A_FILE, "x"},
    {NULL, "hgrm", 0, "FILE|-", "HdrHistogram text", set_hgrm, A_FILE, "x"},
    {NULL, "percentiles", 0, "LIST", "to report [50,90,99,99.9]",
	set_percentiles, "a list like 50,99.9 (fractions from 10 on)", RUN},
    {NULL, "no-report", 0, NULL, "no report.html", set_no_report, NULL, RUN},
    {NULL, "plot", 0, "NAME", "of report: one SVG, time, worst, iterations",
	set_plot, "time, worst, iterations or tail", "r"},
    {NULL, "fail", 0, "EXPR", "p99<20ms, errors<0.1%, lag.p99<200us (repeat)",
	set_fail, "an expression like p99<20ms", "x"},
    {NULL, "quiet", 'q', NULL, "no report, only warnings", set_quiet, NULL,
	"xac"},
    {NULL, "verbose", 'v', NULL, "more lines in the report", set_verbose, NULL,
	RUN},
    {NULL, "color", 0, "WHEN", "auto, always or never [auto]", set_color,
	"auto, always or never", "xacrk"},
    {NULL, "help", 'h', NULL, "this text", NULL, NULL, "xacrk"},
    {NULL, "version", 'V', NULL, "the version", NULL, NULL, "xacrk"},
};
/* clang-format on */

const unsigned option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX,
    "getopt's arrays are too small");
