/* blame.c: "tailorctl blame": what a percentile of each route consists of.
 *
 * The accounts come from the running tailor, or from a file; everything is
 * computed here (blame/), so a server in trouble has no part in it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tailorctl/blame.h"
#include "base/terminal.h"

#define RESAMPLES 200

/* There is nothing to show. */
static int
none_shown(const struct view *v)
{
	const char *wanted = v->of.route;

	if (wanted == NULL || v->of.rows.routes == 0) {
		fprintf(stderr,
		    "tailorctl: no account%s%s; send requests "
		    "through Tailor first\n",
		    wanted != NULL ? " of " : " yet",
		    wanted != NULL ? wanted : "");
		return STATUS_NO;
	}
	fprintf(stderr,
	    "tailorctl: no account of %s; the routes with most "
	    "requests:\n",
	    wanted);
	for (unsigned i = 0; i < v->of.rows.routes && i < 8; i++)
		fprintf(stderr, "    --route \"%s\"\n",
		    plain_cell(v->of.rows.route[i].name, 60));
	return STATUS_NO;
}

/* The same of each route that is asked for: --without or --impact. */
static int
take_questions(const struct view *v)
{
	const struct blame_route *route;
	int status = STATUS_OK;
	unsigned at = 0;
	struct json j;

	plain_json_begin(&j);
	blame_json_head(&v->of, &j);
	json_key_array(&j, "routes");
	while (status == STATUS_OK &&
	       (route = blame_view_route(&v->of, &at)) != NULL) {
		json_object_begin(&j);
		json_key_string(&j, "route", route->name);
		status = v->options->impact ? blame_show_impact(v, route, &j)
					    : blame_show_without(v, route, &j);
		json_object_end(&j);
	}
	json_array_end(&j);
	if (status == STATUS_OK && v->options->json)
		status = plain_json_end(&j);
	json_fini(&j);
	return status;
}

static int
take_report(const struct view *v)
{
	struct json j;
	int err;

	json_init(&j, false);
	err = v->options->json ? blame_json(&v->of, &j) : blame_text(&v->of);
	if (err == 0 && v->options->json)
		err = json_print(&j, stdout);
	json_fini(&j);
	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", strerror(-err));
	return err == 0 ? STATUS_OK : STATUS_NO;
}

static int
take_routes(const struct view *v)
{
	const struct ctl_options *o = v->options;
	unsigned at = 0;
	int status;

	if (blame_view_route(&v->of, &at) == NULL)
		return none_shown(v);
	status = o->impact || o->without != NULL ? take_questions(v)
						 : take_report(v);
	if (status == STATUS_OK && !o->json && v->of.route == NULL &&
	    v->of.rows.routes > BLAME_ROUTES_SHOWN)
		printf("%u more: see --route\n",
		    v->of.rows.routes - BLAME_ROUTES_SHOWN);
	return status;
}

static int
take_page(const struct view *v)
{
	FILE *out = v->options->output == NULL
			? stdout
			: fopen(v->options->output, "we");
	int err;

	if (out == NULL) {
		fprintf(stderr, "tailorctl: %s: %m\n", v->options->output);
		return STATUS_NO;
	}
	err = blame_page(&v->of, false, out);
	if (fflush(out) != 0 || (out != stdout && fclose(out) != 0)) {
		fprintf(stderr, "tailorctl: cannot write the page: %m\n");
		return STATUS_NO;
	}
	if (err == -ENODATA)
		return none_shown(v);
	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", strerror(-err));
	return err == 0 ? STATUS_OK : STATUS_NO;
}

/* What is wrong with the options, or NULL. */
static const char *
options_wrong(const struct ctl_options *o)
{
	if (o->impact && o->without != NULL)
		return "--impact or --without, not both";
	if (o->format != NULL && (o->impact || o->without != NULL || o->json))
		return "--html has no other form";
	if (o->output != NULL && o->format == NULL)
		return "--output needs --html";
	if (o->since_ns > 0 && o->since_ns <= o->until_ns)
		return "--until must be less than --since";
	return NULL;
}

int
command_blame(const struct ctl_options *options)
{
	struct view v = {.options = options,
	    .of = {.resamples = RESAMPLES, .route = options->route}};
	const char *wrong = options_wrong(options);
	int status = STATUS_NO;

	if (wrong == NULL &&
	    blame_view_percentile(&v.of, options->percentile) < 0)
		wrong = "--percentile: it must be a number above 50 and below "
			"100";
	if (wrong != NULL) {
		fprintf(stderr, "tailorctl: %s\n", wrong);
		return STATUS_USAGE;
	}
	if (options->accounts)
		return blame_tables_print(options);
	if (blame_tables_read(&v) == 0)
		status =
		    options->format != NULL ? take_page(&v) : take_routes(&v);
	blame_rows_fini(&v.of.rows);
	blame_rows_fini(&v.of.then);
	blame_exact_fini(&v.of.exact);
	return status;
}
