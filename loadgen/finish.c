#include "loadgen/finish.h"

#include <errno.h>

#include "loadgen/report/page.h"

static int
write_page(struct experiment *e)
{
	char path[4096];
	FILE *out;
	int err;

	snprintf(
	    path, sizeof(path), "%s/report.html", e->options.output.out_dir);
	out = fopen(path, "we");
	if (out == NULL)
		return -errno;
	err = page_write(out, &e->report);
	return fclose(out) != 0 && err == 0 ? -EIO : err;
}

int
finish_write(struct experiment *e, bool text)
{
	const struct load_options *o = &e->options;
	struct json j;
	int err = 0;

	if (output_is_wanted(&e->report.json)) {
		json_init(&j, true);
		report_json(&e->report, &j);
		err = output_json(&e->report.json, &j);
	}
	if (text && !o->output.quiet && !o->output.on_stdout)
		report_text(stdout, &e->report);
	if (output_close(&e->report.json) < 0)
		err = -EIO;
	if (output_close(&e->report.requests) < 0)
		err = -EIO;
	if (fflush(stdout) != 0)
		err = -EIO;
	return err == 0 && o->output.out_dir != NULL ? write_page(e) : err;
}

static bool
expectations_hold(struct experiment *e)
{
	bool hold = true;
	double actual;

	for (unsigned i = 0; i < e->options.criteria.fail_count; i++) {
		const struct expectation *x = &e->options.criteria.fails[i];
		if (summary_actual(&e->report.summary, x, &actual) &&
		    expectation_holds(x, actual))
			continue;
		hold = false;
		if (e->options.output.quiet)
			fprintf(stderr, "tailor-load: not met: %s\n", x->text);
	}
	return hold;
}

enum exit_code
finish_judge(struct experiment *e)
{
	bool hold = expectations_hold(e);

	if (e->report.interrupted)
		return EXIT_INTERRUPTED;
	if (e->report.verdict.level == VERDICT_BAD) {
		fprintf(stderr, "tailor-load: the figures are mostly the "
				"generator's own lateness; do not use them\n");
		return EXIT_BAD_GENERATOR;
	}
	return hold ? EXIT_DONE : EXIT_EXPECTATION_FAILED;
}
