/*
 * options.h: the command line of tailor-load.
 *
 * One table holds name, letter, argument, help text and setter of every
 * option; getopt_long's arrays and --help are made from it.  Parsing prints
 * nothing and never exits: the caller does.  All values are checked, and all
 * combinations that make no sense are refused, before a request is sent.
 */
#ifndef TAILOR_LOADGEN_OPTIONS_H
#define TAILOR_LOADGEN_OPTIONS_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "loadgen/stats/expectation.h"
#include "loadgen/stats/percentiles.h"
#include "loadgen/send/sha256.h"

#define OPTIONS_HEADERS_MAX 64
#define OPTIONS_FAILS_MAX 32
#define OPTIONS_SLOW_MAX 1000
#define OPTIONS_REQUESTS_MAX 100000000u
#define OPTIONS_CONNECTIONS_MAX 60000u

enum arrivals {
	ARRIVALS_POISSON,
	ARRIVALS_UNIFORM,
	ARRIVALS_FILE,
	ARRIVALS_CLOSED,
};

enum quickack {
	QUICKACK_KERNEL,
	QUICKACK_ON,
	QUICKACK_OFF,
};

/* Which requests are listed, pinned and analysed as slow. */
enum slow_rule {
	SLOW_TOP,	 /* the slow_top slowest of each iteration */
	SLOW_OVER,	 /* those above slow_over_ns */
	SLOW_PERCENTILE, /* those above that percentile of their iteration */
};

/* Whether TaleChain is asked about slow requests. */
enum analyze {
	ANALYZE_AUTO, /* if the responses come from a Tailor */
	ANALYZE_URL,  /* at o->analyze_url */
	ANALYZE_OFF,
};

enum color {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

struct options {
	/* load */
	const char *url; /* borrowed from argv, as all text here; or NULL */
	double rate_per_s;
	uint64_t requests;   /* per iteration, >= 1 */
	uint64_t iterations; /* >= 1 */
	enum arrivals arrivals;
	uint64_t closed_clients;   /* of ARRIVALS_CLOSED */
	const char *arrivals_path; /* of ARRIVALS_FILE */
	const int64_t *trace_ns;   /* its instants; set by experiment_open() */
	uint64_t seed;
	uint64_t warmup; /* requests before each iteration */
	int64_t pause_ns;
	uint64_t connections;
	uint64_t max_connections;
	bool pin; /* false: leave the sender where it is */
	bool cpus_given;
	cpu_set_t cpus;
	int64_t timeout_ns;
	bool spin;
	bool real_time;

	/* request */
	const char *method;
	const char *headers[OPTIONS_HEADERS_MAX]; /* "Name: value" */
	unsigned header_count;
	const char *data;
	const char *urls_path;
	bool urls_random;
	const char *id_header;
	const char *server_timing; /* metric, or NULL: the usual ones */
	bool expected_status[600];
	bool body_expected; /* and its hash is */
	uint8_t body_sha256[SHA256_BYTES];
	bool tcp_nodelay;
	bool kernel_stamps;
	enum quickack quickack;

	/* output */
	struct percentiles percentiles;
	struct expectation fails[OPTIONS_FAILS_MAX];
	unsigned fail_count;
	enum slow_rule slow_rule;
	uint64_t slow_top; /* at most so many are listed, per iteration */
	int64_t slow_over_ns;
	double slow_percent;
	enum analyze analyze;
	const char *analyze_url;
	const char *out_dir;
	const char *json_path;	 /* "-": stdout */
	const char *ndjson_path; /* likewise */
	const char *csv_path;	 /* likewise */
	const char *hgrm_path;	 /* likewise */
	bool report;		 /* report.html into out_dir */
	bool quiet;
	bool verbose;
	enum color color;

	/* of subcommands */
	const char *url_a; /* ab */
	const char *url_b;
	const char *files[2]; /* run.json: report has one, compare two */
	const char *plot;     /* report: only this picture */

	/* what was said, for combinations; private */
	bool rate_given;
	bool requests_given;
	bool connections_given;
	bool max_connections_given;
	bool expect_given;
	bool percentiles_given;
	int64_t duration_ns; /* 0: not given */

	char why[256]; /* after an error: one line for the person */
};

enum options_verb {
	OPTIONS_RUN,
	OPTIONS_AB,
	OPTIONS_COMPARE,
	OPTIONS_REPORT,
	OPTIONS_CHECK,
	OPTIONS_HELP,
	OPTIONS_VERSION,
};

/*
 * options_parse(o, argc, argv, verb):
 * A first word ab, compare, report or check is a subcommand, which has only
 * some of the options.
 * Fill *o, all of it, from the command line.  argv may be reordered and must
 * outlive *o.  Returns 0, or -EINVAL with o->why set.  Uses getopt's global
 * state: main thread.
 */
int options_parse(
    struct options *o, int argc, char **argv, enum options_verb *verb);

/* Print the help text, at most 80 columns wide. */
void options_help(FILE *out);

/* "poisson", "uniform", "file", "closed". */
const char *arrivals_name(enum arrivals arrivals);

#endif
