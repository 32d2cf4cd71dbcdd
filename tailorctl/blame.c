/* blame.c: "tailorctl blame": what a percentile of each route consists of.
 *
 * The accounts come from the running tailor, or from a file; everything is
 * computed here (blame/), so a server in trouble has no part in it. */
#include "tailorctl/blame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/terminal.h"
#include "tailorctl/admin_request.h"

/* Get the table of accounts that ended within since_ns .. until_ns before the
 * latest, or the whole table of --file.  The caller frees it; NULL after a
 * message. */
static char *
accounts_get(
    const struct ctl_options *options, int64_t since_ns, int64_t until_ns)
{
	struct http_response response;
	char *text = NULL, path[64];
	size_t length;
	int err;

	if (options->file != NULL) {
		err = file_read(options->file, &text, &length);
		if (err < 0)
			fprintf(stderr, "tailorctl: %s: %s\n", options->file,
			    strerror(-err));
		if (text == NULL || strlen(text) == length)
			return text;
		fprintf(stderr, "tailorctl: --file: it has a zero byte\n");
		free(text);
		return NULL;
	}
	snprintf(path, sizeof(path), "/accounts?since=%lld&until=%lld",
	    (long long)(since_ns / NS_PER_S), (long long)(until_ns / NS_PER_S));
	if (until_ns == 0)
		*strchr(path, '&') = '\0';
	if (admin_request_ok(options, "GET", path, &response) < 0)
		return NULL;
	text = strndup(response.body, response.length);
	http_response_fini(&response);
	if (text == NULL)
		fprintf(stderr, "tailorctl: out of memory\n");
	return text;
}

/* Return the length of the period; by default an hour for a running tailor, or
 * less if --against is less. */
static int64_t
period_ns(const struct ctl_options *o)
{
	int64_t hour_ns = o->file == NULL ? 3600 * NS_PER_S : 0;

	if (o->since_ns > 0)
		return o->since_ns > o->until_ns ? o->since_ns - o->until_ns
						 : 0;
	if (o->against_ns > 0 && (hour_ns == 0 || o->against_ns < hour_ns))
		return o->against_ns;
	return hour_ns;
}

int
blame_period_read(const struct ctl_options *o, struct blame_rows *rows,
    int64_t length_ns, int64_t until_ns)
{
	bool file = o->file != NULL;
	int err;
	char *text =
	    accounts_get(o, length_ns > 0 ? until_ns + length_ns : 0, until_ns);

	if (text == NULL)
		return -EIO;
	err = blame_rows_read(
	    rows, text, file ? length_ns : 0, file ? until_ns : 0);
	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", rows->error);
	free(text);
	return err;
}

/* Get the latencies of all requests, if the running tailor has them. */
static void
exact_get(struct view *v, int64_t length_ns)
{
	const struct ctl_options *o = v->options;
	int64_t since_ns = length_ns > 0 ? o->until_ns + length_ns : 0;
	struct http_response response;
	char *text, path[80];

	if (o->file != NULL)
		return;
	snprintf(path, sizeof(path), "/latencies?since=%lld&until=%lld",
	    (long long)(since_ns / NS_PER_S),
	    (long long)(o->until_ns / NS_PER_S));
	if (o->until_ns == 0)
		*strchr(path, '&') = '\0';
	if (admin_request(o, "GET", path, &response) < 0)
		return;
	text = response.status == 200 ? strndup(response.body, response.length)
				      : NULL;
	http_response_fini(&response);
	if (text != NULL && blame_exact_read(&v->of.exact, text) != 0)
		fprintf(stderr, "tailorctl: the latencies of all requests "
				"cannot be read\n");
	free(text);
}

static int
tables_read(struct view *v)
{
	const struct ctl_options *o = v->options;
	int64_t length_ns = period_ns(o);
	int err = 0;

	if (o->against_ns > 0)
		err = blame_period_read(
		    o, &v->of.then, length_ns, o->until_ns + o->against_ns);
	if (err == 0)
		err = blame_period_read(o, &v->of.rows, length_ns, o->until_ns);
	if (err == 0)
		exact_get(v, length_ns);
	return err;
}

static int
tables_print(const struct ctl_options *o)
{
	int64_t length_ns = period_ns(o);
	char *text = accounts_get(
	    o, length_ns > 0 ? o->until_ns + length_ns : 0, o->until_ns);

	if (text == NULL)
		return STATUS_NO;
	plain_write(stdout, text, strlen(text));
	free(text);
	return STATUS_OK;
}

/* --- answers -------------------------------------------------------------- */

#define RESAMPLES 200

/* Explain that there is nothing to show. */
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

/* Show --without or --impact for each selected route. */
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

/* Return the fault of the options in words, or NULL. */
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
		return tables_print(options);
	if (tables_read(&v) == 0)
		status =
		    options->format != NULL ? take_page(&v) : take_routes(&v);
	blame_rows_fini(&v.of.rows);
	blame_rows_fini(&v.of.then);
	blame_exact_fini(&v.of.exact);
	return status;
}
