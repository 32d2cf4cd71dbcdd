/* tailor-load.c: an open-loop load generator that checks itself.
 *
 * Sends HTTP requests at instants computed beforehand, whatever the server
 * does, and times each from the instant it was due; so a stall of the server
 * counts for every request that would have met it, not for one.  Its own
 * lateness, the server's own time and the whole are reported side by side,
 * and it exits with 4 when it was itself too slow.
 *
 *   options -> experiment -+-> sender thread -> samples -> summary -> verdict
 *                          +-> reports: text, JSON, NDJSON, page
 *
 * docs/lab/loadgen.md says why it measures in this way. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "loadgen/experiment.h"

static enum exit_code
run(struct experiment *e)
{
	int err = experiment_open(e);

	if (err < 0) {
		complain(e->why);
		return err == -EINVAL ? EXIT_USAGE : EXIT_COULD_NOT_RUN;
	}
	check_before(&e->options, &e->report.sender_cpus);
	err = experiment_run(e);
	/* Even if nothing succeeded: the errors are a result. */
	if (e->has_results && finish_write(e, true) < 0) {
		complain("results could not be written completely");
		return EXIT_COULD_NOT_RUN;
	}
	if (err < 0) {
		complain(e->why);
		return EXIT_COULD_NOT_RUN;
	}
	return finish_judge(e);
}

static enum exit_code
run_verb(struct experiment *e, enum options_verb verb)
{
	enum exit_code code = EXIT_USAGE;

	switch (verb) {
	case OPTIONS_AB:
		code = ab_run(&e->options);
		break;
	case OPTIONS_FIND:
		code = find_run(&e->options);
		break;
	case OPTIONS_COMPLETION:
		if (line_completion(stdout, &options_line, e->options.files[0]))
			code = EXIT_DONE;
		else
			complain("completion is for bash, zsh or fish");
		break;
	case OPTIONS_CHECK:
		code = check_machine(&e->options, stdout);
		break;
	case OPTIONS_RUN:
		code = run(e);
		experiment_close(e);
		break;
	}
	return code;
}

int
main(int argc, char **argv)
{
	struct experiment *e = calloc(1, sizeof(*e));
	enum options_verb verb;
	enum exit_code code;

	file_open_standard();
	if (e == NULL) {
		complain("out of memory");
		return EXIT_COULD_NOT_RUN;
	}
	switch (options_parse(&e->options, argc, argv, &verb)) {
	case 0:
		code = run_verb(e, verb);
		break;
	case 1:
		code = EXIT_DONE;
		break;
	default:
		line_complain(&options_line, e->options.why);
		code = EXIT_USAGE;
		break;
	}
	free(e);
	if (code == EXIT_DONE && stdout_failed()) {
		complain("standard output could not be written completely");
		code = EXIT_COULD_NOT_RUN;
	}
	return (int)code;
}
