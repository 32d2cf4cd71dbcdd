/* blame.c: "tailorctl blame": what a percentile of each route consists of.
 *
 * The accounts come from the running tailor, or from a file; everything is
 * computed here (blame/), so a server in trouble has no part in it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "blame/report/report.h"
#include "tailorctl/commands.h"
#include "tailorctl/plain.h"

#define RESAMPLES 200
#define EXAMPLES 3	/* of so many causes, so many requests */
#define PART_SHOWN 0.01 /* of p99 - p50; smaller ones are added up */
#define DURATION PLAIN_DURATION_BYTES

struct view {
	const struct options *options;
	struct blame_view of;
};

static void
interval_print(struct blame_interval i, const char *after)
{
	char low[DURATION], high[DURATION];

	printf("(%s to %s)%s", plain_duration(low, i.low_ns),
	    plain_duration(high, i.high_ns), after);
}

/* A difference: "-1.20ms". */
static const char *
difference(char out[DURATION + 1], int64_t ns)
{
	char text[DURATION];

	snprintf(out, DURATION + 1, "%s%s", ns < 0 ? "-" : "",
	    plain_duration(text, llabs(ns)));
	return out;
}

/* --- the list of causes --------------------------------------------------- */

static void
print_head(const struct view *v, const struct blame_route *route,
    const struct blame_report *r)
{
	char a[40], b[40], q[DURATION], p50[DURATION];
	char name[BLAME_ROUTE + 1];

	printf("%s%s%s  about %.0f requests, %zu accounts\n",
	    plain_escape(TERMINAL_BOLD),
	    plain_cell(name, sizeof(name), route->name, BLAME_ROUTE - 1),
	    plain_escape(TERMINAL_PLAIN), r->weight, r->rows);
	text_wall(a, r->first_ns);
	text_wall(b, r->last_ns);
	printf("%.19sZ to %.19sZ\n", a, b);
	printf("p50 %s   %s %s ", plain_duration(p50, r->p50_ns), v->of.name,
	    plain_duration(q, r->q_ns));
	interval_print(r->q, "");
	printf("   explained: %.0f %% of %s - p50\n\n", 100 * r->explained,
	    v->of.name);
}

static void
print_line(const struct view *v, const struct blame_report *r, unsigned i)
{
	const struct blame_line *l = &r->line[i];
	const struct blame_cause *c = &v->of.rows.cause[l->cause];
	char rank[16] = " ", excess[DURATION + 1], without[DURATION], cell[40];

	if (l->rank > 0)
		snprintf(rank, sizeof(rank), "%u", l->rank);
	printf("%2s %-26s %9s", rank,
	    plain_cell(cell, sizeof(cell), c->label, 26),
	    difference(excess, l->excess_ns));
	if (l->kind == BLAME_UNEXPLAINED) {
		printf("  no cause is known\n");
		return;
	}
	if (l->episodes < BLAME_EPISODES) {
		printf("  seen %u time%s: too few to rank\n", l->episodes,
		    l->episodes == 1 ? "" : "s");
		return;
	}
	if (!l->enough) {
		printf("  %zu slower than %s: too few to rank\n", r->beyond,
		    v->of.name);
		return;
	}
	if (!l->removable) {
		printf(
		    "  not examined: %d others are larger\n", BLAME_TOGETHER);
		return;
	}
	printf("  %9s ", plain_duration(without, l->without_ns));
	interval_print(l->without, "");
	printf("  %u\n", l->episodes);
}

static bool
is_shown(const struct blame_report *r, unsigned i)
{
	return fabs((double)r->line[i].excess_ns) >=
	       PART_SHOWN * (double)(r->q_ns - r->p50_ns);
}

/* What is too small for a line. */
static void
print_others(const struct blame_report *r)
{
	char text[DURATION + 1];
	int64_t others = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < r->lines; i++)
		if (!is_shown(r, i)) {
			others += r->line[i].excess_ns;
			n++;
		}
	if (n > 0)
		printf("   %2u %-23s %9s\n", n, n == 1 ? "other" : "others",
		    llabs(others) < 1000 ? "0" : difference(text, others));
}

/* Causes, the small ones, then what has no cause. */
static void
print_lines(const struct view *v, const struct blame_report *r)
{
	char all[DURATION];
	unsigned i;

	printf("%s - p50 = %-26s     is  %s without it is (95 %%)  seen\n",
	    v->of.name, plain_duration(all, r->q_ns - r->p50_ns), v->of.name);
	for (i = 0; i < r->lines && r->line[i].kind != BLAME_UNEXPLAINED; i++)
		if (is_shown(r, i))
			print_line(v, r, i);
	print_others(r);
	for (; i < r->lines; i++)
		if (is_shown(r, i))
			print_line(v, r, i);
}

static void
print_pairs(const struct view *v, const struct blame_report *r)
{
	char without[DURATION], text[512];

	for (unsigned i = 0; i < r->pairs; i++) {
		const struct blame_pair *p = &r->pair[i];

		snprintf(text, sizeof(text),
		    "%.99s and %.99s%s without both %s is %s",
		    v->of.rows.cause[p->a].code, v->of.rows.cause[p->b].code,
		    p->interaction_ns > 0 ? " hide each other: only"
					  : ": either is enough;",
		    v->of.name, plain_duration(without, p->without_ns));
		plain_wrap(stdout, text, 0);
	}
}

/* Causes of which the queue behind them is worth a word. */
static void
print_queue(const struct view *v, const struct blame_report *r)
{
	char a[DURATION], b[DURATION];

	for (unsigned i = 0; i < r->lines; i++) {
		const struct blame_line *l = &r->line[i];
		double more = (double)(l->without_ns - l->without_queue_ns);

		if (l->removable && l->enough &&
		    more > 0.1 * (double)(r->q_ns - r->p50_ns))
			printf("without %s and the queue behind it %s is %s "
			       "(alone %s)\n",
			    v->of.rows.cause[l->cause].code, v->of.name,
			    plain_duration(a, l->without_queue_ns),
			    plain_duration(b, l->without_ns));
	}
}

static void
print_unseen(const struct view *v, const struct blame_report *r)
{
	double seen = blame_view_seen(&v->of, r);

	if (seen < 0.995)
		printf("Without kernel events in %.0f %% of the tail: there "
		       "runq, preempted, quota,\nlock, sleep, disk, "
		       "page_fault, softirq, steal and tcp_* are not "
		       "observed.\n",
		    100 * (1 - seen));
}

static void
print_absent(const struct view *v, const struct blame_report *r)
{
	const char *sleep = blame_view_sleep(&v->of, r);
	char text[BLAME_ABSENT];

	if (sleep != NULL)
		plain_wrap(stdout, sleep, 0);
	if (blame_view_absent(&v->of, r, text))
		plain_wrap(stdout, text, 0);
}

static void
print_examples(
    const struct view *v, struct blame_set *s, const struct blame_report *r)
{
	unsigned shown = 0;

	printf("Examples (tailorctl why ID):\n");
	for (unsigned i = 0; i < r->lines && shown < EXAMPLES; i++) {
		uint64_t id[EXAMPLES];
		unsigned c = r->line[i].cause, n;

		if (!is_shown(r, i) || r->line[i].excess_ns <= 0)
			continue;
		shown++;
		n = blame_examples(s, v->of.p, c, id, EXAMPLES);
		printf("   %-16s", v->of.rows.cause[c].code);
		for (unsigned k = 0; k < n; k++)
			plain_print_cell(
			    v->of.rows.line[id[k]], 18, TERMINAL_PLAIN);
		putchar('\n');
	}
}

static void
print_spots(const struct view *v, const struct blame_route *route,
    const struct blame_report *r)
{
	struct blame_spot spot[BLAME_SPOTS];
	unsigned n = blame_spots(&v->of, route, r->beyond, spot);
	char q[DURATION], what[80], cell[80], part[40];

	snprintf(what, sizeof(what), "Where %s is made", v->of.name);
	if (n > 0)
		printf("%-29s slower ones (95 %%)  all requests  its own %s\n",
		    what, v->of.name);
	for (unsigned i = 0; i < n; i++) {
		snprintf(
		    what, sizeof(what), "%s %s", spot[i].field, spot[i].value);
		snprintf(part, sizeof(part), "%.0f %% (%.0f to %.0f)",
		    100 * spot[i].place.tail, 100 * spot[i].place.tail_low,
		    100 * spot[i].place.tail_high);
		printf("   %-26s %18s  %10.0f %%  %11s\n",
		    plain_cell(cell, sizeof(cell), what, 26), part,
		    100 * spot[i].place.requests,
		    plain_duration(q, spot[i].place.q_ns));
	}
}

/* --- other questions ------------------------------------------------------ */

static void
print_codes(const struct view *v)
{
	char text[40 * BLAME_CAUSES];
	size_t n = 0;

	text[0] = '\0';
	for (unsigned c = 0; c < v->of.rows.causes; c++)
		if (v->of.rows.cause[c].kind != BLAME_UNEXPLAINED)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
			    "%.32s ", v->of.rows.cause[c].code);
	plain_wrap(stderr, text, 4);
}

/* The causes of --without; 0 after a message. */
static uint64_t
without_causes(const struct view *v)
{
	const char *at = v->options->without;
	uint64_t causes = 0;

	for (;;) {
		size_t n = strcspn(at, ",");
		int c = blame_rows_cause(&v->of.rows, at, n);
		char cell[40];

		if (c < 0 || v->of.rows.cause[c].kind == BLAME_UNEXPLAINED) {
			fprintf(stderr,
			    "tailorctl: --without \"%s\": no cause has that "
			    "code; the codes:\n    ",
			    plain_cell(cell, sizeof(cell), at, 16));
			print_codes(v);
			return 0;
		}
		causes |= UINT64_C(1) << c;
		if (at[n] == '\0')
			return causes;
		at += n + 1;
	}
}

static const double percentiles[] = {0.5, 0.9, 0.99, 0.999, 1};
#define PERCENTILES COUNT(percentiles)

/* Percentiles without some causes. */
struct without {
	int64_t was[PERCENTILES], alone[PERCENTILES], queue[PERCENTILES];
};

static void
print_without(const struct blame_route *route, const struct without *w)
{
	static const char *const name[] = {"p50", "p90", "p99", "p99.9", "max"};
	char a[DURATION], b[DURATION], c[DURATION];

	printf("%s\n", route->name);
	printf("          as it was     without   and its queue\n");
	for (unsigned i = 0; i < PERCENTILES; i++)
		printf("%-8s %10s  %10s  %14s\n", name[i],
		    plain_duration(a, w->was[i]),
		    plain_duration(b, w->alone[i]),
		    plain_duration(c, w->queue[i]));
	printf("if nothing else had changed\n\n");
}

static void
json_without(const struct without *w, struct json *j)
{
	json_key_array(j, "percentiles");
	for (unsigned i = 0; i < PERCENTILES; i++) {
		json_object_begin(j);
		json_key_double(j, "percentile", 100 * percentiles[i]);
		json_key_int(j, "was_ns", w->was[i]);
		json_key_int(j, "without_ns", w->alone[i]);
		json_key_int(j, "without_queue_ns", w->queue[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static int
show_without(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	uint64_t causes = without_causes(v);
	struct blame_set *s = route->set;
	struct without w;

	if (causes == 0)
		return STATUS_USAGE;
	if (blame_without(s, 0, false, percentiles, PERCENTILES, w.was) != 0 ||
	    blame_without(
		s, causes, false, percentiles, PERCENTILES, w.alone) != 0 ||
	    blame_without(s, causes, true, percentiles, PERCENTILES, w.queue) !=
		0)
		return STATUS_NO;
	if (v->options->json)
		json_without(&w, j);
	else
		print_without(route, &w);
	return STATUS_OK;
}

/* A value that is no time; of causes there is no rule. */
static void
show_value(const struct view *v, const char *code, const struct blame_impact *i,
    bool rules, struct json *j)
{
	char adjusted[16] = "-";

	if (rules)
		snprintf(adjusted, sizeof(adjusted), "%.3f", i->adjusted);
	if (!v->options->json) {
		printf("%-20s %5.0f %%     %6.3f %6.3f %8s %5.3f%s\n", code,
		    100 * i->recorded, i->threshold, i->impact, adjusted,
		    i->auc, i->included ? "  rule 2" : "");
		return;
	}
	json_object_begin(j);
	json_key_string(j, "code", code);
	json_key_double(j, "recorded", i->recorded);
	json_key_double(j, "threshold", i->threshold);
	json_key_double(j, "impact", i->impact);
	if (rules)
		json_key_double(j, "adjusted", i->adjusted);
	json_key_double(j, "auc", i->auc);
	json_object_end(j);
}

static int
show_impact(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	struct blame_impact i[BLAME_VALUES], c;
	static const char *const value[] = {
	    "in_flight", "attempts", "new_connection"};

	if (blame_impacts(route->set, v->of.p, i) != 0)
		return STATUS_NO;
	if (v->options->json)
		json_key_array(j, "impacts");
	else
		printf("%s\nvalue or cause      recorded pThreshold impact "
		       "adjusted  AUC\n",
		    route->name);
	for (unsigned k = 0; k < COUNT(value); k++)
		show_value(v, value[k], &i[k], true, j);
	for (unsigned k = 0; k < v->of.rows.causes; k++)
		if (blame_cause_impact(route->set, v->of.p, k, &c) == 0 &&
		    c.auc != 0.5)
			show_value(v, v->of.rows.cause[k].code, &c, false, j);
	if (v->options->json)
		json_array_end(j);
	else
		putchar('\n');
	return STATUS_OK;
}

static void
show_against(const struct view *v, const struct blame_route *route,
    const struct blame_options *o)
{
	const struct blame_route *then = blame_view_then(&v->of, route);
	struct blame_change change[BLAME_CAUSES];
	unsigned n = 0, i;
	char text[DURATION];
	int64_t all = 0;

	if (then == NULL ||
	    blame_against(route->set, then->set, o, change, &n) != 0) {
		printf("No accounts of that time to compare with.\n");
		return;
	}
	for (i = 0; i < n; i++)
		all += change[i].change_ns;
	printf("Since then %s has changed by %s%s:\n", v->of.name,
	    all < 0 ? "-" : "+", plain_duration(text, llabs(all)));
	for (i = 0; i < n && i < 5; i++) {
		double low = (double)change[i].interval.low_ns;
		double high = (double)change[i].interval.high_ns;

		if (llabs(change[i].change_ns) < 1000)
			break;
		printf("   %-26s %s%-9s (%+.2f to %+.2f ms)%s\n",
		    v->of.rows.cause[change[i].cause].label,
		    change[i].change_ns < 0 ? "-" : "+",
		    plain_duration(text, llabs(change[i].change_ns)), low / 1e6,
		    high / 1e6, low <= 0 && high >= 0 ? "  may be chance" : "");
	}
}

/* --- routes --------------------------------------------------------------- */

static void
show_route(const struct view *v, const struct blame_route *route,
    const struct blame_options *o, const struct blame_report *r)
{
	print_head(v, route, r);
	print_lines(v, r);
	putchar('\n');
	print_pairs(v, r);
	print_queue(v, r);
	print_spots(v, route, r);
	print_unseen(v, r);
	print_absent(v, r);
	print_examples(v, route->set, r);
	if (v->options->against_ns > 0)
		show_against(v, route, o);
	putchar('\n');
}

/* There is nothing to show. */
static int
none_shown(const struct view *v)
{
	const char *wanted = v->of.route;
	char cell[80];

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
		    plain_cell(
			cell, sizeof(cell), v->of.rows.route[i].name, 60));
	return STATUS_NO;
}

static int
take_report(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	struct blame_options o = blame_view_options(&v->of);
	static struct blame_report r;
	int err = blame_analyze(route->set, &o, &r);

	if (err != 0) {
		fprintf(
		    stderr, "tailorctl: %s: %s\n", route->name, strerror(-err));
		return STATUS_NO;
	}
	if (v->options->json)
		blame_json_route(&v->of, route, &r, j);
	else
		show_route(v, route, &o, &r);
	return STATUS_OK;
}

static int
take_route(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	int status;

	json_object_begin(j);
	json_key_string(j, "route", route->name);
	if (v->options->without == NULL && !v->options->impact)
		status = take_report(v, route, j);
	else if (v->options->impact)
		status = show_impact(v, route, j);
	else
		status = show_without(v, route, j);
	json_object_end(j);
	return status;
}

/* Of all routes, if one of them has much of the tail. */
static void
print_all(const struct view *v)
{
	struct blame_spot spot;
	char q[DURATION], text[256];
	int64_t q_ns;

	if (v->of.route != NULL || !blame_all(&v->of, &q_ns, &spot))
		return;
	snprintf(text, sizeof(text),
	    "All routes: %s %s. %s is %.1f %% of requests and %.0f %% of the "
	    "slower ones.",
	    v->of.name, plain_duration(q, q_ns), spot.value,
	    100 * spot.place.requests, 100 * spot.place.tail);
	plain_wrap(stdout, text, 0);
	putchar('\n');
}

static int
take_routes(struct view *v)
{
	const struct blame_route *route;
	unsigned at = 0, shown = 0;
	int status = STATUS_OK;
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	blame_json_head(&v->of, &j);
	json_key_array(&j, "routes");
	if (!v->options->json)
		print_all(v);
	while (status == STATUS_OK &&
	       (route = blame_view_route(&v->of, &at)) != NULL) {
		status = take_route(v, route, &j);
		shown++;
	}
	json_array_end(&j);
	json_object_end(&j);
	if (status == STATUS_OK && shown > 0 && v->options->json)
		status = plain_json(&j);
	json_fini(&j);
	if (shown == 0)
		return none_shown(v);
	if (status == STATUS_OK && shown < v->of.rows.routes &&
	    v->of.route == NULL && !v->options->json)
		printf("%u more: see --route\n", v->of.rows.routes - shown);
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

/* --- accounts ------------------------------------------------------------- */

/* A table of what ended within since_ns .. until_ns before the latest account,
 * or a file's, which has what it has.  The caller frees it; NULL after a
 * message. */
static char *
accounts_get(const struct options *options, int64_t since_ns, int64_t until_ns)
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

/* A number as it is, another field as a string; names are strings always. */
static void
print_field(struct json *j, const char *name, const char *field)
{
	bool number = strcmp(name, "id") != 0 && strcmp(name, "route") != 0 &&
		      strcmp(name, "server") != 0 && *field != '\0';

	if (number && field[strspn(field, "0123456789")] == '\0')
		json_key_uint(j, name, strtoull(field, NULL, 10));
	else if (number && field[strspn(field, "0123456789.e+-")] == '\0')
		json_key_double(j, name, strtod(field, NULL));
	else
		json_key_string(j, name, field);
}

static void
print_ndjson(char *text)
{
	char *head = strsep(&text, "\n"), *line;

	while ((line = strsep(&text, "\n")) != NULL && *line != '\0') {
		char *names = strdup(head), *at = names, *field;
		struct json j;

		json_init(&j, false);
		json_object_begin(&j);
		while (at != NULL && (field = strsep(&line, ",")) != NULL) {
			print_field(&j, strsep(&at, ","), field);
		}
		json_object_end(&j);
		json_print(&j, stdout);
		free(names);
	}
}

static void
print_accounts(const struct options *options, char *text)
{
	if (strcmp(options->accounts, "csv") == 0)
		plain_write(stdout, text, strlen(text));
	else
		print_ndjson(text);
}

/* blame_rows_read, with a message. */
static int
rows_read(struct blame_rows *rows, char *text, int64_t from_ns, int64_t to_ns)
{
	int err = blame_rows_read(rows, text, from_ns, to_ns);

	if (err != 0)
		fprintf(stderr, "tailorctl: %s\n", rows->error);
	return err;
}

/* When the latest account of a table ended; the table is as before.  0, or a
 * negative errno after a message. */
static int
newest_find(const char *text, int64_t *newest_ns)
{
	struct blame_rows rows;
	char *copy = strdup(text);
	int err = copy == NULL ? -ENOMEM : rows_read(&rows, copy, 0, 0);

	if (copy != NULL) {
		*newest_ns = rows.newest_ns;
		blame_rows_fini(&rows);
	}
	free(copy);
	return err;
}

/* The length of the period; of a running tailor an hour, or less if it is
 * compared with less than an hour ago. */
static int64_t
period_ns(const struct options *o)
{
	int64_t hour_ns = o->file == NULL ? 3600 * NS_PER_S : 0;

	if (o->since_ns > 0)
		return o->since_ns > o->until_ns ? o->since_ns - o->until_ns
						 : 0;
	if (o->against_ns > 0 && (hour_ns == 0 || o->against_ns < hour_ns))
		return o->against_ns;
	return hour_ns;
}

/* Read a period that ended until_ns before the latest account.  *text receives
 * the table, which the caller frees after the rows, and *copy, if wanted, the
 * same as it was. */
static int
period_read(const struct options *o, struct blame_rows *rows, char **text,
    int64_t length_ns, int64_t until_ns, char **copy)
{
	int64_t newest_ns = 0, from_ns = 0, to_ns = 0;
	int err = 0;

	*text =
	    accounts_get(o, length_ns > 0 ? until_ns + length_ns : 0, until_ns);
	if (*text == NULL)
		return -EIO;
	if (copy != NULL && (*copy = strdup(*text)) == NULL)
		return -ENOMEM;
	if (o->file != NULL && (length_ns > 0 || until_ns > 0)) {
		err = newest_find(*text, &newest_ns);
		from_ns = length_ns > 0 ? newest_ns - until_ns - length_ns : 0;
		to_ns = until_ns > 0 ? newest_ns - until_ns : 0;
	}
	return err != 0 ? err : rows_read(rows, *text, from_ns, to_ns);
}

/* Times count back from the latest account. */
static int
take_periods(struct view *v)
{
	const struct options *o = v->options;
	int64_t length_ns = period_ns(o);
	bool page = o->format != NULL;
	char *text = NULL, *then = NULL, *table = NULL;
	int err = 0, status = STATUS_NO;

	if (o->against_ns > 0)
		err = period_read(o, &v->of.then, &then, length_ns,
		    o->until_ns + o->against_ns, NULL);
	if (err == 0)
		err = period_read(o, &v->of.rows, &text, length_ns, o->until_ns,
		    page ? &table : NULL);
	v->of.table = table;
	if (err == 0)
		status = page ? take_page(v) : take_routes(v);
	blame_rows_fini(&v->of.rows);
	blame_rows_fini(&v->of.then);
	free(text);
	free(then);
	free(table);
	return status;
}

static int
take_accounts(const struct options *o)
{
	int64_t length_ns = period_ns(o);
	char *text = accounts_get(
	    o, length_ns > 0 ? o->until_ns + length_ns : 0, o->until_ns);

	if (text == NULL)
		return STATUS_NO;
	print_accounts(o, text);
	free(text);
	return STATUS_OK;
}

int
command_blame(const struct options *options)
{
	struct view v = {.options = options,
	    .of = {.resamples = RESAMPLES, .route = options->route}};

	if (options->accounts != NULL &&
	    strcmp(options->accounts, "csv") != 0 &&
	    strcmp(options->accounts, "ndjson") != 0) {
		fprintf(stderr, "tailorctl: --accounts: csv or ndjson\n");
		return STATUS_USAGE;
	}
	if (options->impact && options->without != NULL) {
		fprintf(stderr, "tailorctl: --impact or --without, not both\n");
		return STATUS_USAGE;
	}
	if (options->format != NULL &&
	    (options->impact || options->without != NULL || options->json)) {
		fprintf(stderr, "tailorctl: --html has no other form\n");
		return STATUS_USAGE;
	}
	if (options->output != NULL && options->format == NULL) {
		fprintf(stderr, "tailorctl: --output needs --html\n");
		return STATUS_USAGE;
	}
	if (blame_view_percentile(&v.of, options->percentile) < 0) {
		fprintf(stderr, "tailorctl: --percentile: it must be a number "
				"above 50 and below 100\n");
		return STATUS_USAGE;
	}
	if (options->since_ns > 0 && options->since_ns <= options->until_ns) {
		fprintf(stderr, "tailorctl: --until must be less than "
				"--since\n");
		return STATUS_USAGE;
	}
	return options->accounts != NULL ? take_accounts(options)
					 : take_periods(&v);
}
