/* page.c: a report as one HTML file.
 *
 * Each route has a sentence, p99 over time as a stack of causes (shares add up,
 * so a stack is honest), the ranked table, the distribution with and without
 * the largest causes, pairs of causes that hide each other, the values of
 * fields that the tail is in, and examples. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/plot.h"
#include "base/quantity.h"
#include "blame/report/report.h"

#define BINS 12		  /* most bins of time */
#define BIN_ROWS 50	  /* accounts of a route in a bin, about */
#define BIN_BEYOND 10	  /* a bin with fewer slower ones is pale */
#define SECONDS_SHOWN 180 /* a longer time is shown in minutes */
#define STACKED 7	  /* causes with their own colour */
#define OTHERS STACKED
#define NO_CAUSE (STACKED + 1)
#define CURVE 60 /* points of a distribution */
#define CURVES 2 /* curves that leave out a cause */
#define CHANGES 5
#define MUCH 0.1 /* unexplained part that the sentence names */

static const char meaning[] =
    "<h2>What the figures are</h2>\n<p class=\"dim\">A cause's excess is its "
    "share of the percentile less its share of p50; all of them add up to the "
    "difference. Without it: the percentile of the same requests less their "
    "time in that cause, if nothing else had changed; and its queue: less what "
    "they waited behind it, too; its interval is of another time, as long, and "
    "a "
    "figure with an interval wider than the effect is too uncertain. Intervals "
    "have "
    "95 % of 200 resamples of blocks of time. Seen: distinct episodes in the "
    "tail; "
    "with fewer than 10 a cause is not ranked.</p>\n";

/* A route that is being written. */
struct blame_page {
	const struct blame_view *v;
	const struct blame_route *route;
	const struct blame_report *r;
	unsigned bins; /* of time */
	bool links;
	FILE *out;
};

/* "813us", "41.2ms"; a difference may be negative. */
static void
put_ns(FILE *out, int64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	fputs(quantity_format_ns(ns, text), out);
}

/* "(37.1 to 48.2ms)" */
static void
put_interval(FILE *out, struct blame_interval i)
{
	char text[QUANTITY_INTERVAL_MAX];

	fprintf(out, " <span class=\"dim\">(%s)</span>",
	    quantity_format_interval(i.low_ns, i.high_ns, text));
}

static const struct blame_cause *
cause_of(const struct blame_page *p, unsigned line)
{
	return &p->v->rows.cause[p->r->line[line].cause];
}

/* Write the largest cause of the difference, and the part without a cause if
 * that is more than MUCH of it. */
static void
put_parts(const struct blame_page *p)
{
	const struct blame_report *r = p->r;
	int64_t none_ns = 0;
	bool is_ranked = r->lines > 0 && r->line[0].rank > 0;

	for (unsigned i = 0; i < r->lines; i++)
		if (r->line[i].kind == BLAME_UNEXPLAINED)
			none_ns += r->line[i].excess_ns;
	if (is_ranked) {
		fputs("; of the difference <b>", p->out);
		put_ns(p->out, r->line[0].excess_ns);
		fputs("</b> is ", p->out);
		plot_escape(p->out, cause_of(p, 0)->label);
	}
	if ((double)none_ns <= MUCH * (double)(r->q_ns - r->p50_ns))
		return;
	fputs(is_ranked ? ", <b>" : "; of the difference <b>", p->out);
	put_ns(p->out, none_ns);
	fputs("</b> is not explained", p->out);
}

/* Write percentiles of all requests, if they are known. */
static void
put_exact(const struct blame_page *p)
{
	const struct blame_latency *l =
	    blame_exact_of(&p->v->exact, p->route->name);
	char from[40], to[40], text[BLAME_APART];

	if (l == NULL) {
		fprintf(p->out,
		    "<p>p50 and %s are estimates from accounts: the latencies "
		    "of the other requests are not known.</p>\n",
		    p->v->name);
		return;
	}
	text_wall(from, l->from_ns);
	text_wall(to, l->to_ns);
	fprintf(p->out, "<p>All %llu requests, %.19sZ to %.19sZ: p50 ",
	    (unsigned long long)l->latency.count, from, to);
	put_ns(p->out, blame_exact_quantile(l, 0.5));
	fprintf(p->out, ", %s <b>", p->v->name);
	put_ns(p->out, blame_exact_quantile(l, p->v->p));
	fputs("</b>, p99.9 ", p->out);
	put_ns(p->out, blame_exact_quantile(l, 0.999));
	fputs(", slowest ", p->out);
	put_ns(p->out, blame_exact_quantile(l, 1));
	fprintf(p->out, "; exact to %.1f %%.", 100 * BLAME_RESOLUTION);
	if (l->unnamed > 0)
		fprintf(p->out,
		    " %llu of them are of classes that had no "
		    "place of their own (blame.classes).",
		    (unsigned long long)l->unnamed);
	if (blame_view_apart(p->v, l, p->r, text))
		fprintf(p->out, " %s", text);
	fputs("</p>\n", p->out);
}

static void
put_sentence(const struct blame_page *p)
{
	const struct blame_report *r = p->r;
	char from[40], to[40];

	text_wall(from, r->first_ns);
	text_wall(to, r->last_ns);
	fputs("<h2>", p->out);
	plot_escape(p->out, p->route->name);
	fprintf(p->out, "</h2>\n<p class=\"big\">%s is <b>", p->v->name);
	put_ns(p->out, r->q_ns);
	fputs("</b>", p->out);
	put_interval(p->out, r->q);
	fputs(", p50 ", p->out);
	put_ns(p->out, r->p50_ns);
	put_parts(p);
	fprintf(p->out,
	    ".</p>\n<p class=\"dim\">About %.0f requests, %zu accounts, "
	    "%.19sZ to %.19sZ; explained: %.0f %% of %s - p50.</p>\n",
	    r->weight, r->rows, from, to, 100 * r->explained, p->v->name);
	put_exact(p);
}

/* --- the stack ------------------------------------------------------------ */

/* Index of a line's colour: the largest causes have their own. */
static unsigned
colour_of(const struct blame_page *p, const struct blame_line *l)
{
	if (l->kind == BLAME_UNEXPLAINED)
		return NO_CAUSE;
	for (unsigned i = 0; i < p->r->lines && i < STACKED; i++)
		if (p->r->line[i].cause == l->cause)
			return i;
	return OTHERS;
}
static const char *const colours[] = {
    "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "u"};

static const char *
colour_label(const struct blame_page *p, unsigned colour)
{
	if (colour == NO_CAUSE)
		return "no cause is known";
	return colour == OTHERS ? "other causes" : cause_of(p, colour)->label;
}

/* Draw a bin's column: the causes of its q(p), from the bottom up. */
static void
put_column(const struct blame_page *p, const struct plot *plot, unsigned bin,
    const struct blame_report *r)
{
	double ns[NO_CAUSE + 1] = {0}, below = 0;
	double wide = -plot->x.low / p->bins;
	double left = plot_x(plot, plot->x.low + bin * wide);
	double right = plot_x(plot, plot->x.low + (bin + 1) * wide);

	for (unsigned i = 0; i < r->lines; i++)
		ns[colour_of(p, &r->line[i])] += (double)r->line[i].share_ns;
	for (unsigned c = 0; c <= NO_CAUSE; c++) {
		double low = plot_y(plot, below / 1e6);
		double high = plot_y(plot, (below + ns[c]) / 1e6);

		below += ns[c];
		if (ns[c] <= 0)
			continue;
		fprintf(p->out,
		    "<rect class=\"%s%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\""
		    " height=\"%.1f\"><title>",
		    colours[c], r->beyond < BIN_BEYOND ? " few" : "", left + 1,
		    high, right - left - 2, low - high);
		plot_escape(p->out, colour_label(p, c));
		fputs(": ", p->out);
		put_ns(p->out, (int64_t)ns[c]);
		fputs("</title></rect>\n", p->out);
	}
}

/* The shares of a bin; there is no line if they could not be computed. */
static void
bin_divide(const struct blame_page *p, int64_t from_ns, int64_t to_ns,
    struct blame_report *r)
{
	struct blame_set *s = NULL;

	if (blame_select(p->route->set, from_ns, to_ns, &s) != 0 ||
	    blame_divide(s, p->v->p, r) != 0)
		r->lines = 0;
	blame_free(&s);
}

static int
put_stack(const struct blame_page *p)
{
	const struct blame_rows *rows = &p->v->rows;
	int64_t bin_ns = (rows->newest_ns - rows->oldest_ns + 1) / p->bins + 1;
	struct blame_report *r = calloc(BINS, sizeof(*r));
	double span_s = (double)p->bins * (double)bin_ns / 1e9, most = 0;
	bool is_short = span_s < SECONDS_SHOWN;
	struct plot plot = {.out = p->out};
	char title[80];

	if (r == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < p->bins; i++) {
		int64_t from_ns = rows->oldest_ns + i * bin_ns;

		bin_divide(p, from_ns, from_ns + bin_ns, &r[i]);
		most = fmax(most, (double)r[i].q_ns / 1e6);
	}
	if (most <= 0 || span_s <= 0) { /* its axes would be empty */
		free(r);
		return 0;
	}
	plot.x = (struct plot_axis){PLOT_LINEAR, -span_s / (is_short ? 1 : 60),
	    0, is_short ? "seconds" : "minutes"};
	plot.y = (struct plot_axis){PLOT_LINEAR, 0, most * 1.05, "ms"};
	snprintf(title, sizeof(title), "%s over time, by cause", p->v->name);
	fputs("<div class=\"wide\">", p->out);
	plot_begin(&plot, title,
	    "A stack of causes for each slice of time; the table below has "
	    "their colours and the sums");
	for (unsigned i = 0; i < p->bins; i++)
		if (r[i].lines > 0)
			put_column(p, &plot, i, &r[i]);
	plot_note(&plot, "Pale: fewer than 10 requests were slower");
	plot_end(&plot);
	fputs("</div>\n", p->out);
	free(r);
	return 0;
}

/* --- tables --------------------------------------------------------------- */

/* Write a percentile without a cause, or that it is too uncertain. */
static void
put_without(
    const struct blame_page *p, int64_t without_ns, struct blame_interval i)
{
	if (blame_view_certain(p->r->q_ns, without_ns, i))
		put_ns(p->out, without_ns);
	else
		fputs(BLAME_UNCERTAIN, p->out);
	put_interval(p->out, i);
	fputs("</td><td>", p->out);
}

static void
put_line(const struct blame_page *p, unsigned i)
{
	const struct blame_line *l = &p->r->line[i];
	const struct blame_cause *c = cause_of(p, i);
	FILE *out = p->out;

	fprintf(out,
	    "<tr><td>%.0u</td><td class=\"t\"><svg viewBox=\"0 0 1 1\" "
	    "aria-hidden=\"true\"><rect class=\"%s\" width=\"1\" "
	    "height=\"1\"/></svg>",
	    l->rank, colours[colour_of(p, l)]);
	plot_escape(out, c->label);
	fputs("</td><td>", out);
	put_ns(out, l->excess_ns);
	fputs("</td><td class=\"t\">", out);
	put_interval(out, l->excess);
	fputs("</td><td>", out);
	put_ns(out, l->share_ns);
	fputs("</td><td>", out);
	if (l->kind == BLAME_UNEXPLAINED)
		fputs("no cause is known</td><td>", out);
	else if (!l->enough)
		fputs("too few</td><td>", out);
	else if (!l->removable)
		fputs("</td><td>", out);
	else
		put_without(p, l->without_ns, l->without);
	fprintf(out, "%u</td></tr>\n", l->episodes);
}

static void
put_lines(const struct blame_page *p)
{
	const char *name = p->v->name;

	fprintf(p->out,
	    "<table><tr><th></th><th class=\"t\">cause</th><th>of %s - "
	    "p50</th><th></th><th>of %s</th><th>%s without it</th><th>"
	    "seen</th></tr>\n",
	    name, name, name);
	for (unsigned i = 0; i < p->r->lines; i++)
		if (i < STACKED || blame_view_shows(p->r, i) ||
		    (p->r->line[i].kind == BLAME_UNEXPLAINED &&
			p->r->line[i].share_ns > 0))
			put_line(p, i);
	fputs("</table>\n", p->out);
}

/* Write the changes since the other time, if there is one. */
static void
put_changes(const struct blame_page *p)
{
	const struct blame_route *then = blame_view_then(p->v, p->route);
	struct blame_options o = blame_view_options(p->v);
	struct blame_change change[BLAME_CAUSES];
	unsigned n = 0;

	if (then == NULL ||
	    blame_against(p->route->set, then->set, &o, change, &n) != 0)
		return;
	fprintf(p->out,
	    "<h3>Change of %s since then</h3>\n<table><tr><th class=\"t\">"
	    "cause</th><th>by</th><th></th></tr>\n",
	    p->v->name);
	for (unsigned i = 0; i < n && i < CHANGES; i++) {
		fputs("<tr><td class=\"t\">", p->out);
		plot_escape(p->out, p->v->rows.cause[change[i].cause].label);
		fputs("</td><td>", p->out);
		put_ns(p->out, change[i].change_ns);
		fputs("</td><td class=\"t\">", p->out);
		put_interval(p->out, change[i].interval);
		fputs("</td></tr>\n", p->out);
	}
	fputs("</table>\n", p->out);
}

static void
put_unseen(const struct blame_page *p)
{
	char text[BLAME_CODES];

	for (unsigned at = 0; blame_view_note(p->v, p->r, &at, text);) {
		fputs("<p class=\"dim\">", p->out);
		plot_escape(p->out, text);
		fputs("</p>\n", p->out);
	}
}

static void
put_pairs(const struct blame_page *p)
{
	for (unsigned i = 0; i < p->r->pairs; i++) {
		const struct blame_pair *pair = &p->r->pair[i];

		fputs("<p>", p->out);
		plot_escape(p->out, p->v->rows.cause[pair->a].label);
		fputs(" and ", p->out);
		plot_escape(p->out, p->v->rows.cause[pair->b].label);
		fprintf(p->out, "%s without both %s is ",
		    pair->interaction_ns > 0 ? " hide each other: only"
					     : ": either is enough;",
		    p->v->name);
		put_ns(p->out, pair->without_ns);
		fputs(".</p>\n", p->out);
	}
}

static void
put_spots(const struct blame_page *p)
{
	struct blame_spot spot[BLAME_SPOTS];
	unsigned n = blame_spots(p->v, p->route, p->r->beyond, spot);

	if (n == 0)
		return;
	fprintf(p->out,
	    "<h3>Where</h3>\n<table><tr><th class=\"t\">requests of</th>"
	    "<th>of those slower than %s</th><th></th><th>of all</th>"
	    "<th>its own %s</th></tr>\n",
	    p->v->name, p->v->name);
	for (unsigned i = 0; i < n; i++) {
		fprintf(p->out, "<tr><td class=\"t\">%s ", spot[i].field);
		plot_escape(p->out, spot[i].value);
		fprintf(p->out,
		    "</td><td>%.0f %%</td><td class=\"t\"><span "
		    "class=\"dim\">(%.0f to %.0f)</span></td><td>%.0f %%</td>"
		    "<td>",
		    100 * spot[i].place.tail, 100 * spot[i].place.tail_low,
		    100 * spot[i].place.tail_high,
		    100 * spot[i].place.requests);
		put_ns(p->out, spot[i].place.q_ns);
		fputs("</td></tr>\n", p->out);
	}
	fputs("</table>\n", p->out);
}

/* Write an example.  Its id comes from a client, so it is a link only if no
 * character needs an escape in a path. */
static void
put_example(const struct blame_page *p, const char *id)
{
	bool link = p->links && *id != '\0';

	for (const char *c = id; *c != '\0'; c++)
		link &= strchr("/?#%&.", *c) == NULL && *c > ' ' && *c <= '~';
	fputc(' ', p->out);
	if (link) {
		fputs("<a href=\"timeline/", p->out);
		plot_escape(p->out, id);
		fputs("?format=html\">", p->out);
	}
	fputs("<code>", p->out);
	plot_escape(p->out, id);
	fputs(link ? "</code></a>" : "</code>", p->out);
}

static void
put_examples(const struct blame_page *p)
{
	unsigned shown = 0;

	fputs("<h3>Examples</h3>\n<table>\n", p->out);
	for (unsigned i = 0; i < p->r->lines && shown < BLAME_EXAMPLES_SHOWN;
	     i++) {
		uint64_t id[BLAME_EXAMPLES_SHOWN];
		unsigned n = blame_examples(p->route->set, p->v->p,
		    p->r->line[i].cause, id, BLAME_EXAMPLES_SHOWN);

		if (!blame_view_shows(p->r, i) || p->r->line[i].excess_ns <= 0)
			continue;
		shown++;
		fputs("<tr><td class=\"t\">", p->out);
		plot_escape(p->out, cause_of(p, i)->label);
		fputs("</td><td class=\"t\">", p->out);
		for (unsigned k = 0; k < n; k++)
			put_example(p, p->v->rows.id[id[k]]);
		fputs("</td></tr>\n", p->out);
	}
	fputs("</table>\n", p->out);
	if (!p->links)
		fputs("<p class=\"dim\"><code>tailorctl why ID</code> explains "
		      "one, while its tale is kept.</p>\n",
		    p->out);
}

/* --- the distribution ----------------------------------------------------- */

/* The quantiles of the curve: ever denser towards the tail. */
static void
curve_quantiles(const struct blame_report *r, double *q)
{
	double nines = fmin(4, log10(fmax(10, (double)r->rows)));

	for (unsigned i = 0; i < CURVE; i++)
		q[i] = 1 - pow(10, -nines * (i + 1.0) / CURVE);
}

static void
put_curve(const struct plot *plot, const char *class, const double *q,
    const int64_t *ns)
{
	struct plot_point point[CURVE];

	for (unsigned i = 0; i < CURVE; i++)
		point[i] = (struct plot_point){
		    fmax((double)ns[i] / 1e6, plot->x.low), q[i]};
	plot_line((struct plot *)(uintptr_t)plot, class, point, CURVE);
}

static int
put_curves(const struct blame_page *p)
{
	static const char *const class[] = {"line2", "line3"};
	struct plot plot = {.out = p->out};
	struct blame_set *s = p->route->set;
	int64_t ns[CURVE];
	double q[CURVE];
	unsigned drawn = 0;
	char title[80];

	curve_quantiles(p->r, q);
	if (blame_without(s, 0, false, q, CURVE, ns) != 0)
		return -ENOMEM;
	if (ns[CURVE - 1] <= 0)
		return 0;
	plot.x = (struct plot_axis){PLOT_LOG,
	    fmax((double)ns[0] / 2e6, (double)ns[CURVE - 1] / 1e12),
	    (double)ns[CURVE - 1] / 1e6, "latency, ms"};
	plot.y =
	    (struct plot_axis){PLOT_TAIL, 0, q[CURVE - 1], "share of requests"};
	fputs("<div class=\"wide\">", p->out);
	plot_begin(&plot, "Latency, measured and without a cause",
	    "Distribution of latencies; each curve leaves out one cause and "
	    "what waits behind it, if nothing else had changed");
	put_curve(&plot, "line", q, ns);
	plot_legend(&plot, 0, "line", "measured");
	for (unsigned i = 0; i < p->r->lines && drawn < CURVES; i++) {
		const struct blame_line *l = &p->r->line[i];

		if (!l->removable || !l->enough || l->excess_ns <= 0)
			continue;
		if (blame_without(
			s, UINT64_C(1) << l->cause, true, q, CURVE, ns) != 0)
			return -ENOMEM;
		put_curve(&plot, class[drawn], q, ns);
		snprintf(title, sizeof(title), "without %.60s",
		    cause_of(p, i)->label);
		plot_legend(&plot, drawn + 1, class[drawn], title);
		drawn++;
	}
	plot_end(&plot);
	fputs("</div>\n", p->out);
	return 0;
}

/* --- the page ------------------------------------------------------------- */

static int
put_route(struct blame_page *p)
{
	char few[BLAME_FEW];
	int err;

	if (blame_view_few(p->v, p->route, p->r, few)) {
		fputs("<h2>", p->out);
		plot_escape(p->out, p->route->name);
		fputs("</h2>\n<p>", p->out);
		plot_escape(p->out, few);
		fputs("</p>\n", p->out);
		put_examples(p);
		return 0;
	}
	put_sentence(p);
	err = p->bins > 1 ? put_stack(p) : 0;
	if (err != 0)
		return err;
	put_lines(p);
	put_unseen(p);
	put_pairs(p);
	err = put_curves(p);
	put_changes(p);
	put_spots(p);
	put_examples(p);
	return err;
}

static int
put_routes(struct blame_page *p)
{
	struct blame_options o = blame_view_options(p->v);
	struct blame_report *r = malloc(sizeof(*r));
	unsigned at = 0;
	int err = r == NULL ? -ENOMEM : -ENODATA;

	plot_page_begin(p->out, "Tailor: blame");
	fputs("<h1>What makes up the tail</h1>\n", p->out);
	p->r = r;
	while (r != NULL && (p->route = blame_view_route(p->v, &at)) != NULL) {
		err = blame_analyze(p->route->set, &o, r);
		if (err == 0)
			err = put_route(p);
		if (err != 0)
			break;
	}
	if (err == -ENODATA)
		fputs(
		    "<p>No request of this time has an account.</p>\n", p->out);
	fputs(meaning, p->out);
	plot_page_end(p->out);
	free(r);
	return err;
}

int
blame_page(const struct blame_view *v, bool links, FILE *out)
{
	size_t bins = v->rows.lines / BIN_ROWS;
	struct blame_page p = {.v = v,
	    .bins = bins < BINS ? (unsigned)bins : BINS,
	    .links = links,
	    .out = out};

	return put_routes(&p);
}
