/* options.h: the command line of tailor-load.
 *
 * One table holds name, letter, argument, help text and setter of every
 * option; getopt_long's arrays and --help are made from it.  Parsing prints
 * nothing and never exits: the caller does.  All values are checked, and all
 * combinations that make no sense are refused, before a request is sent. */
#pragma once

#include "loadgen/report/report.h"

/* Whether a Tailor is asked to explain slow requests. */
enum analyze {
	ANALYZE_AUTO, /* if the responses come from a Tailor */
	ANALYZE_URL,  /* at o->analyze_url */
	ANALYZE_OFF,
};

/* All text is borrowed from argv. */
struct options {
	struct plan plan;
	struct criteria criteria;
	struct output_options output;

	const char *url; /* or NULL */
	const char *urls_path;
	const char *arrivals_path; /* of ARRIVALS_FILE */
	bool pin;		   /* false: leave the sender where it is */
	bool cpus_given;
	cpu_set_t cpus;
	bool real_time;
	enum analyze analyze;
	const char *analyze_url;
	const char *token_path; /* of its talechain.token_file, or NULL */

	/* of subcommands */
	const char *url_a; /* ab */
	const char *url_b;
	const char *files[1]; /* the shell of completion */

	/* which options were given, to check combinations; private */
	bool rate_given;
	bool requests_given;
	bool warmup_given;
	bool iterations_given;
	bool connections_given;
	bool max_connections_given;
	bool expect_given;
	bool percentiles_given;
	int64_t duration_ns; /* of all iterations; 0: not given */

	char why[256]; /* after an error: one line for the person */
};

enum options_verb {
	OPTIONS_RUN,
	OPTIONS_AB,
	OPTIONS_CHECK,
	OPTIONS_COMPLETION,
	OPTIONS_HELP,
	OPTIONS_VERSION,
};

/* A first word ab, check or completion is a subcommand, which
 * has only some of the options.  Fill *o, all of it, from the command line.
 * argv may be reordered and must outlive *o.  Returns 0, or -EINVAL with o->why
 * set.  Uses getopt's global state: main thread. */
int options_parse(
    struct options *o, int argc, char **argv, enum options_verb *verb);

/* Unless --warmup was given, make it a tenth of plan.requests, but at most 100,
 * and no more than are due in 10 s: neither few requests nor a low rate make it
 * the longer part.  Call it again after changing these. */
void options_default_warmup(struct options *o);

/* Print the help text, at most 80 columns wide. */
void options_help(FILE *out);

/* Print the completion script for a shell; false: there is none. */
bool options_completion(FILE *out, const char *shell);
