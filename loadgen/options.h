/* options.h: the command line of tailor-load.
 *
 * All values are checked, and all combinations that make no sense are refused,
 * before a request is sent. */
#pragma once

#include "base/command_line.h"
#include "loadgen/report/report.h"

/* Which Tailor explains slow requests. */
enum analyze {
	ANALYZE_AUTO, /* if the responses come from a Tailor */
	ANALYZE_URL,  /* at o->analyze_url */
	ANALYZE_OFF,
};

/* All text is borrowed from argv. */
struct load_options {
	struct plan plan;
	struct criteria criteria;
	struct output_options output;

	const char *url; /* or NULL */
	const char *urls_path;
	const char *arrivals_path; /* file of ARRIVALS_FILE */
	bool pin;		   /* false: leave the sender where it is */
	bool cpus_given;
	cpu_set_t cpus;
	bool real_time;
	enum analyze analyze;
	const char *analyze_url;
	const char *token_path; /* file with the Tailor's token, or NULL */

	/* arguments of subcommands */
	const char *url_a; /* ab */
	const char *url_b;
	double find_percent; /* find; 99: --p99; 0: not given */
	int64_t find_limit_ns;
	int64_t find_step_ns;
	double find_lowest_per_s;
	double find_highest_per_s;
	const char *files[1]; /* a URL, or the shell of completion */

	/* true if the option was given, to check combinations; private */
	bool rate_given;
	bool requests_given;
	bool warmup_given;
	bool iterations_given;
	bool connections_given;
	bool max_connections_given;
	bool expect_given;
	bool percentiles_given;
	int64_t duration_ns; /* of all iterations; 0: not given */

	char why[LINE_WHY]; /* after an error: a sentence for the person */
};

enum options_verb {
	OPTIONS_RUN,
	OPTIONS_AB,
	OPTIONS_FIND,
	OPTIONS_CHECK,
	OPTIONS_COMPLETION,
};

/* option_table.c: the tables; commands are in the order of enum
 * options_verb. */
extern const struct command_line options_line;

/* Fill *o, all of it, from the command line.  argv may be reordered and must
 * outlive *o.  Returns 0; 1 after printing help or the version; or -EINVAL with
 * o->why set. */
int options_parse(
    struct load_options *o, int argc, char **argv, enum options_verb *verb);

/* Unless --warmup was given, set plan.warmup to a tenth of plan.requests, but
 * at most 100, and at most the requests due in 10 s, so that the warm-up is
 * never the longer part.  Call it again after changing requests or rate. */
void options_default_warmup(struct load_options *o);
