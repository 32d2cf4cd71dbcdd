#include "loadgen/report/page.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <string.h>

#include "base/plot.h"
#include "loadgen/send/quantity.h"

#define PATH_MAX_BYTES 4096
#define SLOW_ROWS_MAX 200

static const char meaning[] =
    "<h2>What the figures are</h2>\n<p class=\"dim\">Latency counts from the "
    "instant a request was due, whether or not it could be sent, to the last "
    "byte of its response. Percentiles are nearest rank, of samples, without "
    "buckets; failed requests are in none of them. p50 and p99 at the top "
    "are medians over iterations, with 95 % order-statistic intervals. In the "
    "server: as its Server-Timing header says.</p>\n";

static void
put_ns(FILE *out, int64_t ns)
{
	char t[QUANTITY_TEXT_MAX];

	fputs(ns < 0 ? "-" : quantity_format_ns(ns, t), out);
}

static void
put_cell_ns(FILE *out, int64_t ns)
{
	fputs("<td>", out);
	put_ns(out, ns);
	fputs("</td>", out);
}

static void
put_cell_text(FILE *out, const char *text)
{
	fputs("<td class=\"words\">", out);
	plot_escape(out, text);
	fputs("</td>", out);
}

static void
put_median(FILE *out, const char *name, const struct run_median *m)
{
	if (m->median_ns < 0)
		return;
	fprintf(out, "%s <b>", name);
	put_ns(out, m->median_ns);
	fputs("</b>", out);
	if (m->bounded) {
		fputs(" (", out);
		put_ns(out, m->low_ns);
		fputs(" to ", out);
		put_ns(out, m->high_ns);
		fputs(")", out);
	}
	fputs(" &nbsp; ", out);
}

/* An array of texts as items of a list. */
static void
put_texts(FILE *out, const cJSON *of, const char *key, const char *before)
{
	const cJSON *text;

	cJSON_ArrayForEach(text, cJSON_GetObjectItemCaseSensitive(of, key))
	{
		if (!cJSON_IsString(text))
			continue;
		fprintf(out, "<li>%s", before);
		plot_escape(out, text->valuestring);
		fputs("</li>\n", out);
	}
}

static void
put_generator(FILE *out, const struct run *r)
{
	const cJSON *g = cJSON_GetObjectItemCaseSensitive(r->tree, "generator");
	bool bad = strcmp(r->verdict, "bad") == 0;

	fprintf(out, "<div%s><p>Figures: <b>", bad ? " class=\"bad\"" : "");
	plot_escape(out, r->verdict);
	fprintf(out, "</b>%s</p>\n<ul>\n",
	    bad ? ". Do not use these results." : "");
	put_texts(out, g, "reasons", "");
	put_texts(out, g, "environment", "note: ");
	fputs("</ul></div>\n", out);
}

static void
put_heading(FILE *out, const struct run *r)
{
	int64_t slowest_ns = 0;
	size_t sent = 0;
	size_t ok = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct run_iteration *it = &r->iterations[i];
		sent += it->sent;
		ok += it->ok;
		if (it->any && it->max_ns > slowest_ns)
			slowest_ns = it->max_ns;
	}
	fputs("<h1>", out);
	plot_escape(out, r->url);
	fputs("</h1>\n<p class=\"big\">", out);
	put_median(out, "p50", &r->p50);
	put_median(out, "p99", &r->p99);
	fputs("slowest <b>", out);
	put_ns(out, slowest_ns);
	fprintf(out, "</b> &nbsp; %zu of %zu failed</p>\n<p>", sent - ok, sent);
	plot_escape(out, r->started);
	fprintf(out, " &middot; %zu iterations of %zu requests, ", r->count,
	    r->requests);
	plot_escape(out, r->arrivals);
	if (r->rate_per_s > 0)
		fprintf(out, " at %.6g/s, seed %.17g", r->rate_per_s, r->seed);
	fputs("</p>\n", out);
	put_generator(out, r);
}

static void
put_iterations(FILE *out, const struct run *r)
{
	char key[PERCENTILE_KEY_MAX + 4];

	fputs("<h2>Iterations</h2>\n<table><tr><th></th><th>rate</th>", out);
	for (unsigned i = 0; i < r->percentiles.count; i++) {
		snprintf(key, sizeof(key), "p%.9g", r->percentiles.at[i]);
		fprintf(out, "<th>%s</th>", key);
	}
	fputs("<th>max</th><th>server p99</th><th>failed</th>"
	      "<th>lag p99</th></tr>\n",
	    out);
	for (size_t i = 0; i < r->count; i++) {
		const struct run_iteration *it = &r->iterations[i];
		fprintf(out, "<tr><td>%u</td><td>%.0f/s</td>", it->index,
		    it->rate_per_s);
		for (unsigned k = 0; k < r->percentiles.count; k++)
			put_cell_ns(out, it->any ? it->at_ns[k] : -1);
		put_cell_ns(out, it->any ? it->max_ns : -1);
		put_cell_ns(out, it->server_p99_ns);
		fprintf(out, "<td>%zu</td>", it->sent - it->ok);
		put_cell_ns(out, it->lag_p99_ns);
		fprintf(out, "%s</tr>\n", it->partial ? "<td>cut</td>" : "");
	}
	fputs("</table>\n", out);
}

static void
put_causes(FILE *out, const struct run *r)
{
	const cJSON *all =
	    cJSON_GetObjectItemCaseSensitive(r->tree, "verdicts");
	const cJSON *one;

	if (cJSON_GetArraySize(all) == 0)
		return;
	fputs("<h2>Causes of the slow requests</h2>\n<table><tr>"
	      "<th>requests</th><th>median</th><th class=\"t\">cause</th>"
	      "<th class=\"t\">for example</th></tr>\n",
	    out);
	cJSON_ArrayForEach(one, all)
	{
		fprintf(out, "<tr><td>%.0f</td>", run_number(one, "count", 0));
		put_cell_ns(out, (int64_t)run_number(one, "median_ns", -1));
		put_cell_text(out, run_text(one, "code"));
		put_cell_text(out, run_text(one, "example"));
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void
put_slow_row(FILE *out, const struct run_slow *slow)
{
	fputs("<tr><td class=\"t\">", out);
	if (slow->page[0] != '\0')
		fprintf(out, "<a href=\"%s\">", slow->page);
	plot_escape(out, slow->id);
	fprintf(out, "%s</td><td>%u</td><td>%u</td>",
	    slow->page[0] != '\0' ? "</a>" : "", slow->iteration, slow->number);
	put_cell_ns(out, slow->latency_ns);
	put_cell_ns(out, slow->lag_ns);
	put_cell_ns(out, slow->server_ns);
	put_cell_text(out, slow->text);
	fputs("</tr>\n", out);
}

static void
put_slow(FILE *out, const struct run *r)
{
	if (r->slow_count == 0)
		return;
	fputs("<h2>Slow requests</h2>\n<table><tr><th class=\"t\">id</th>"
	      "<th>iteration</th><th>request</th><th>latency</th>"
	      "<th>lag</th><th>in the server</th>"
	      "<th class=\"t\">why</th></tr>\n",
	    out);
	for (size_t i = 0; i < r->slow_count && i < SLOW_ROWS_MAX; i++)
		put_slow_row(out, &r->slow[i]);
	fputs("</table>\n", out);
	if (r->slow_count > SLOW_ROWS_MAX)
		fprintf(out, "<p>and %zu more in run.json</p>\n",
		    r->slow_count - SLOW_ROWS_MAX);
}

static unsigned
worst_iteration(const struct run *r)
{
	unsigned worst = 0;
	int64_t most_ns = -1;

	for (size_t i = 0; i < r->count; i++) {
		if (!r->iterations[i].any || r->iterations[i].max_ns <= most_ns)
			continue;
		most_ns = r->iterations[i].max_ns;
		worst = r->iterations[i].index;
	}
	return worst;
}

static int
put_pictures(FILE *out, const struct run *r, const struct points *points)
{
	int err;

	fputs("<div class=\"wide\">", out);
	err = picture_scatter(out, r, points, 0);
	if (err == 0)
		err = picture_scatter(out, r, points, worst_iteration(r));
	if (err == 0)
		err = picture_tail(out, points);
	fputs("</div>\n", out);
	return err;
}

int
page_write(FILE *out, const struct run *r, const struct points *points)
{
	int err;

	plot_page_begin(out, "tailor-load");
	put_heading(out, r);
	err = put_pictures(out, r, points);
	if (err < 0)
		return err;
	put_causes(out, r);
	put_slow(out, r);
	put_iterations(out, r);
	fputs(meaning, out);
	plot_page_end(out);
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}

/* A file in the same directory as another. */
static int
beside(const char *path, const char *name, char out[PATH_MAX_BYTES])
{
	const char *slash = strrchr(path, '/');
	int directory = slash != NULL ? (int)(slash - path) + 1 : 0;
	int n = snprintf(out, PATH_MAX_BYTES, "%.*s%s", directory, path, name);

	return n < 0 || n >= PATH_MAX_BYTES ? -ENAMETOOLONG : 0;
}

static int
write_to(const char *path, const struct run *r, const struct points *points)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	int err;

	if (out == NULL)
		return -errno;
	err = page_write(out, r, points);
	if (out != stdout && fclose(out) != 0 && err == 0)
		err = -EIO;
	return err;
}

int
page_make(
    const char *run_path, const char *out_path, char *why, size_t why_size)
{
	char requests[PATH_MAX_BYTES], page[PATH_MAX_BYTES];
	struct points points;
	struct run r;
	int err = beside(run_path, "requests.ndjson", requests);

	if (err == 0)
		err = beside(run_path, "report.html", page);
	if (err < 0) {
		snprintf(why, why_size, "%s: %s", run_path, strerror(-err));
		return err;
	}
	if (out_path == NULL)
		out_path = page;
	err = run_read(&r, run_path, why, why_size);
	if (err < 0)
		return err;
	err = points_read(&points, requests, why, why_size);
	if (err == 0) {
		err = write_to(out_path, &r, &points);
		if (err < 0)
			snprintf(
			    why, why_size, "%s: %s", out_path, strerror(-err));
		points_close(&points);
	}
	run_close(&r);
	return err;
}
