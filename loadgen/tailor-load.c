/*
 * tailor-load.c: an open-loop load generator that can be believed.
 *
 * Sends HTTP requests at instants computed beforehand, whatever the server
 * does, and times each from the instant it was due; so a stall of the server
 * counts for every request that would have met it, not for one.  Its own
 * lateness, the server's own time and the whole are reported side by side,
 * and it refuses (exit 4) when it was itself too slow to be believed.
 *
 *   options -> experiment -+-> sender thread -> samples -> summary -> verdict
 *                          +-> reports: text, JSON, NDJSON, hgrm
 *
 * docs/loadgen.md says what is measured, and why in this way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/experiment.h"
#include "loadgen/report.h"

static void
complain(const char *why)
{
	(void)fprintf(stderr, "tailor-load: %s\n", why);
}

static bool
want_color(enum color color)
{
	switch (color) {
	case COLOR_ALWAYS:
		return true;
	case COLOR_NEVER:
		return false;
	case COLOR_AUTO:
		break;
	}
	const char *no = getenv("NO_COLOR");
	return isatty(STDOUT_FILENO) && (no == NULL || *no == '\0');
}

/* Whether stdout belongs to a machine-readable output. */
static bool
stdout_taken(const struct options *o)
{
	const char *path[] = {
	    o->json_path, o->ndjson_path, o->csv_path, o->hgrm_path};

	for (size_t i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		if (path[i] != NULL && strcmp(path[i], "-") == 0)
			return true;
	}
	return false;
}

static int
write_results(struct experiment *e)
{
	const struct options *o = &e->options;
	int err = report_json(e);

	if (err == 0)
		err = report_hgrm(e);
	if (!o->quiet && !stdout_taken(o))
		report_text(stdout, e, want_color(o->color));
	struct output *all[] = {&e->json, &e->requests, &e->csv, &e->hgrm};
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (output_close(all[i]) < 0)
			err = -EIO;
	}
	if (fflush(stdout) != 0)
		err = -EIO;
	return err;
}

static bool
expectations_hold(struct experiment *e)
{
	bool hold = true;
	double actual;

	for (unsigned i = 0; i < e->options.fail_count; i++) {
		const struct expectation *x = &e->options.fails[i];
		if (summary_actual(&e->summary, x, &actual) &&
		    expectation_holds(x, actual))
			continue;
		hold = false;
		if (e->options.quiet)
			(void)fprintf(
			    stderr, "tailor-load: not met: %s\n", x->text);
	}
	return hold;
}

/* A run that ended, well or early: what to tell the caller's shell. */
static enum exit_code
judge(struct experiment *e)
{
	bool hold = expectations_hold(e);

	if (e->interrupted)
		return EXIT_INTERRUPTED;
	if (e->verdict.level == VERDICT_BAD) {
		complain("the generator was not good enough; do not use these "
			 "results");
		return EXIT_BAD_GENERATOR;
	}
	return hold ? EXIT_DONE : EXIT_EXPECTATION_FAILED;
}

static enum exit_code
run(struct experiment *e)
{
	int err = experiment_open(e);

	if (err < 0) {
		complain(e->why);
		return err == -EINVAL ? EXIT_USAGE : EXIT_COULD_NOT_RUN;
	}
	err = experiment_run(e);
	/* Even if nothing succeeded: the errors are a result. */
	if (e->has_results && write_results(e) < 0) {
		complain("results could not be written completely");
		return EXIT_COULD_NOT_RUN;
	}
	if (err < 0) {
		complain(e->why);
		return EXIT_COULD_NOT_RUN;
	}
	return judge(e);
}

int
main(int argc, char **argv)
{
	struct experiment *e = calloc(1, sizeof(*e));
	enum options_verb verb;
	enum exit_code code = EXIT_USAGE;

	if (e == NULL) {
		complain("out of memory");
		return EXIT_COULD_NOT_RUN;
	}
	if (options_parse(&e->options, argc, argv, &verb) < 0) {
		complain(e->options.why);
		(void)fprintf(stderr, "Try 'tailor-load --help'.\n");
		free(e);
		return EXIT_USAGE;
	}
	switch (verb) {
	case OPTIONS_HELP:
		options_help(stdout);
		code = EXIT_DONE;
		break;
	case OPTIONS_VERSION:
		(void)printf("tailor-load " TAILOR_VERSION "\n");
		code = EXIT_DONE;
		break;
	case OPTIONS_AB:
	case OPTIONS_COMPARE:
	case OPTIONS_REPORT:
	case OPTIONS_CHECK:
		break;
	case OPTIONS_RUN:
		code = run(e);
		experiment_close(e);
		break;
	}
	free(e);
	return (int)code;
}
