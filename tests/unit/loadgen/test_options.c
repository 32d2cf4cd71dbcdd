/* Goal: the command line is understood, or refused with a reason. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "loadgen/options.h"

#define WORDS_MAX 64
#define URL "http://127.0.0.1:1/"

static struct load_options o;
static enum options_verb verb;
static char line[512];

/* Parse a command line given as one text, words separated by a space. */
static int
parse(const char *text)
{
	char *argv[WORDS_MAX + 1] = {(char[]){"tailor-load"}};
	int argc = 1;
	char *rest = line;
	char *word;

	assert_true(strlen(text) < sizeof(line));
	strcpy(line, text);
	while ((word = strsep(&rest, " ")) != NULL) {
		assert_in_range(argc, 1, WORDS_MAX - 1);
		if (*word != '\0')
			argv[argc++] = word;
	}
	return options_parse(&o, argc, argv, &verb);
}

/* Goal: a subcommand has its own options and operands, and no others. */
TEST(test_subcommands)
{
	assert_int_equal(parse("check -d 2s -r 500"), 0);
	assert_int_equal(verb, OPTIONS_CHECK);
	assert_int_equal(parse("ab --a " URL " --b " URL " -i 6"), 0);
	assert_int_equal(verb, OPTIONS_AB);
	assert_int_equal(parse("check --pause 7"), -EINVAL);
	assert_string_equal(
	    o.why, "check does not take --pause; tailor-load does");
	assert_int_equal(parse("--a " URL), -EINVAL);
	assert_int_equal(parse("ab --a " URL), -EINVAL);
	assert_int_equal(parse("check " URL), -EINVAL);
}

/* Goal: instants come from a file, and nothing else then sets them. */
TEST(test_arrivals_file)
{
	assert_int_equal(parse("--arrivals file:/x " URL), 0);
	assert_int_equal(o.plan.arrivals, ARRIVALS_FILE);
	assert_string_equal(o.arrivals_path, "/x");
	assert_int_equal(parse("--arrivals file:/x -n 5 " URL), -EINVAL);
	assert_int_equal(parse("--arrivals file:/x -r 5 " URL), -EINVAL);
	assert_int_equal(parse("--arrivals file: " URL), -EINVAL);
}

/* Goal: the defaults are those of the manual. */
TEST(test_defaults)
{
	assert_int_equal(parse(URL), 0);
	assert_int_equal(verb, OPTIONS_RUN);
	assert_string_equal(o.url, URL);
	assert_true(o.plan.rate_per_s > 999.9 && o.plan.rate_per_s < 1000.1);
	assert_int_equal(o.plan.requests, 1000);
	assert_int_equal(o.plan.iterations, 20);
	assert_int_equal(o.plan.arrivals, ARRIVALS_POISSON);
	assert_int_equal(o.plan.seed, 1);
	assert_int_equal(o.plan.warmup, 100);
	assert_int_equal(o.plan.pause_ns, 500000000);
	assert_int_equal(o.plan.connections, 1);
	assert_int_equal(o.plan.max_connections, 1024);
	assert_int_equal(o.plan.timeout_ns, INT64_C(10000000000));
	assert_true(o.plan.spin && o.pin);
	assert_int_equal(o.criteria.slow, 3);
	assert_int_equal(o.criteria.percentiles.count, 4);
	assert_true(o.plan.expected_status[200] && o.plan.expected_status[299]);
	assert_false(
	    o.plan.expected_status[300] || o.plan.expected_status[199]);
}

/* Goal: a warm-up is never the longer part of a run. */
TEST(test_warmup_in_proportion)
{
	assert_int_equal(parse("-r 2 -d 5s " URL), 0);
	assert_int_equal(o.plan.requests, 10);
	assert_int_equal(o.plan.warmup, 1);
	assert_int_equal(parse("-r 2 -n 1000 " URL), 0);
	assert_int_equal(o.plan.warmup, 20);
	assert_int_equal(parse("-r 0.05 -n 30 " URL), 0);
	assert_int_equal(o.plan.warmup, 0);
	assert_int_equal(parse("--arrivals closed:1 -n 55 " URL), 0);
	assert_int_equal(o.plan.warmup, 6);
	assert_int_equal(parse("-r 2 -d 5s --warmup 100 " URL), 0);
	assert_int_equal(o.plan.warmup, 100);
}

/* Goal: each option reaches its field. */
TEST(test_values)
{
	assert_int_equal(
	    parse("-r 2.5k -n 50 -i 7 --arrivals uniform --seed 9 --warmup 0 "
		  "--pause 1s -c 3 --max-connections 9 --cpu 0-1 --timeout 2s "
		  "--no-spin " URL),
	    0);
	assert_true(o.plan.rate_per_s > 2499.9 && o.plan.rate_per_s < 2500.1);
	assert_int_equal(o.plan.requests, 50);
	assert_int_equal(o.plan.iterations, 7);
	assert_int_equal(o.plan.arrivals, ARRIVALS_UNIFORM);
	assert_int_equal(o.plan.seed, 9);
	assert_int_equal(o.plan.warmup, 0);
	assert_int_equal(o.plan.connections, 3);
	assert_int_equal(o.plan.max_connections, 9);
	assert_true(o.cpus_given && CPU_COUNT(&o.cpus) == 2);
	assert_int_equal(o.plan.timeout_ns, 2000000000);
	assert_false(o.plan.spin);
	assert_int_equal(parse(URL " -X PUT -H a:b -H c:d --data x --urls f "
				   "--expect-status 404,3xx "
				   "--percentiles 75 --json - --ndjson f -q "
				   "--slow 9 --priority "
				   "--fail p95<1ms --cpu none"),
	    0);
	assert_string_equal(o.plan.method, "PUT");
	assert_int_equal(o.plan.header_count, 2);
	assert_true(o.plan.expected_status[404] && o.plan.expected_status[302]);
	assert_false(o.plan.expected_status[200]);
	assert_false(o.pin);
	assert_true(o.output.quiet && o.real_time);
	assert_int_equal(o.criteria.slow, 9);
	/* 50 and 99 always, 75 asked for, 95 needed by --fail */
	assert_int_equal(o.criteria.percentiles.count, 4);
	assert_int_equal(percentiles_index(&o.criteria.percentiles, 95), 2);
}

/* Goal: -R, --rps and --qps are --rate; -d becomes a number of requests. */
TEST(test_aliases)
{
	assert_int_equal(parse("-R 7 " URL), 0);
	assert_true(o.plan.rate_per_s > 6.9 && o.plan.rate_per_s < 7.1);
	assert_int_equal(parse("--rps 7 " URL), 0);
	assert_int_equal(parse("--qps=7 -d 3s " URL), 0);
	assert_int_equal(o.plan.requests, 21);
	assert_int_equal(parse("-m PUT -r 5/1s " URL), 0);
	assert_string_equal(o.plan.method, "PUT");
	assert_true(o.plan.rate_per_s > 4.9 && o.plan.rate_per_s < 5.1);
	assert_int_equal(parse("--timeout 5 --pause 1.5 " URL), 0);
	assert_int_equal(o.plan.timeout_ns, INT64_C(5000000000));
	assert_int_equal(o.plan.pause_ns, 1500000000);
	assert_int_equal(parse("--arrivals closed:8 " URL), 0);
	assert_int_equal(o.plan.connections, 8);
	assert_int_equal(o.plan.closed_clients, 8);
	/* More connections than the default limit raise the limit. */
	assert_int_equal(parse("-c 2k " URL), 0);
	assert_int_equal(o.plan.max_connections, 2000);
}

/* Goal: a duration is that of the whole run, whatever other programs call it,
   divided so that each p99 rests on ten requests. */
TEST(test_duration)
{
	static const struct {
		const char *line;
		uint64_t iterations, requests;
	} cases[] = {
	    {"-d 10 " URL, 10, 1000},
	    {"-z 10s " URL, 10, 1000},
	    {"-d 1m " URL, 20, 3000},
	    {"-d 1500ms " URL, 1, 1500},
	    {"-d 3s -R 7 " URL, 1, 21},
	    {"-d 4s -i 8 " URL, 8, 500},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line), 0);
		assert_int_equal(o.plan.iterations, cases[i].iterations);
		assert_int_equal(o.plan.requests, cases[i].requests);
	}
	assert_int_equal(parse("check -d 10"), 0);
	assert_int_equal(o.duration_ns, INT64_C(10000000000));
}

/* Goal: every error is an error before any request, and says what it is. */
TEST(test_errors)
{
	static const char *const wrong[][2] = {
	    {"", "no URL"},
	    {URL " " URL, "one word too many"},
	    {"-r 0 " URL, "--rate"},
	    {"-r 1/m " URL, "--rate"},
	    {"-n 0 " URL, "--requests"},
	    {"-i 0 " URL, "--iterations"},
	    {"--arrivals often " URL, "--arrivals"},
	    {"--arrivals closed:0 " URL, "--arrivals"},
	    {"--arrivals closed: " URL, "--arrivals"},
	    {"--seed -1 " URL, "--seed"},
	    {"--seed x " URL, "--seed"},
	    {"--cpu x " URL, "--cpu"},
	    {"--timeout 0 " URL, "--timeout"},
	    {"--pause 5x " URL, "--pause"},
	    {"--threads 2 " URL, "leave it out"},
	    {"-t 2 -c 9 " URL, "one thread"},
	    {"-q 100 " URL, "a rate is -r 100"},
	    {"-rate=5 " URL, "did you mean --rate?"},
	    {"--latency " URL, "always reported"},
	    {"-s x.lua " URL, "--urls"},
	    {"-D body " URL, "--data @FILE"},
	    {"-T text/plain " URL, "-H 'Content-Type"},
	    {"-d {} " URL, "a body is --data"},
	    {"-z 5 -n 5 " URL, "not both"},
	    {"-d 1ms -i 2 " URL, "an iteration"},
	    {"--token-file= " URL, "--token-file"},
	    {"-X G(T " URL, "--method"},
	    {"--expect-status 6xx " URL, "--expect-status"},
	    {"--expect-status 20 " URL, "--expect-status"},
	    {"--expect-status 200, " URL, "--expect-status"},
	    {"--stamps yes " URL, "--stamps"},
	    {"--percentiles 101 " URL, "--percentiles"},
	    {"--slow 1001 " URL, "--slow"},
	    {"--slow x " URL, "--slow"},
	    {"--fail p99 " URL, "--fail"},
	    {"-c 6 --max-connections 5 " URL, "--max-connections"},
	    {"--json - --ndjson - " URL, "stdout"},
	    {"--json f -o d " URL, "--out"},
	    {"--ndjson f -o d " URL, "--out"},
	    {"-n 5 -d 5s " URL, "not both"},
	    {"-d 1us " URL, "--duration"},
	    {"--arrivals closed:1 -r 5 " URL, "--rate"},
	    {"--arrivals closed:1 -d 5s " URL, "--duration"},
	    {"--arrivals closed:1 -c 5 " URL, "connections"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		if (parse(wrong[i][0]) != -EINVAL)
			fail_msg("accepted: %s", wrong[i][0]);
		if (strstr(o.why, wrong[i][1]) == NULL)
			fail_msg("\"%s\": \"%s\" does not name %s", wrong[i][0],
			    o.why, wrong[i][1]);
	}
}
