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
#include "tailorctl/blame_rows.h"
#include "tailorctl/commands.h"
#include "tailorctl/plain.h"

#define ROUTES_SHOWN 3
#define RESAMPLES 200
#define SEED UINT64_C(0x7461696c6f72) /* the same intervals each time */
#define EXAMPLES 3		      /* of so many causes, so many requests */
#define PART_SHOWN 0.01 /* of p99 - p50; smaller ones are added up */
#define DURATION PLAIN_DURATION_BYTES

struct view {
	const struct options *options;
	struct blame_rows rows, then;
	double p;
	char name[16]; /* "p99" */
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

/* --- the list of causes ----------------------------------------------------- */

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
	printf("p50 %s   %s %s ", plain_duration(p50, r->p50_ns), v->name,
	    plain_duration(q, r->q_ns));
	interval_print(r->q, "");
	printf("   explained: %.0f %% of %s - p50\n\n", 100 * r->explained,
	    v->name);
}

static void
print_line(const struct view *v, const struct blame_report *r, unsigned i)
{
	const struct blame_line *l = &r->line[i];
	const struct blame_cause *c = &v->rows.cause[l->cause];
	char rank[16] = " ", excess[DURATION + 1], without[DURATION], cell[40];

	if (l->rank > 0)
		snprintf(rank, sizeof(rank), "%u", l->rank);
	printf("%2s %-26s %9s", rank,
	    plain_cell(cell, sizeof(cell), c->label, 26),
	    difference(excess, l->excess_ns));
	if (c->kind == BLAME_UNEXPLAINED) {
		printf("  cannot go\n");
		return;
	}
	if (l->episodes < BLAME_EPISODES) {
		printf("  seen %u time%s: too few to rank\n", l->episodes,
		    l->episodes == 1 ? "" : "s");
		return;
	}
	if (!l->enough) {
		printf("  %zu slower than %s: too few to rank\n", r->beyond,
		    v->name);
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

static void
print_lines(const struct view *v, const struct blame_report *r)
{
	double excess = (double)(r->q_ns - r->p50_ns);
	char all[DURATION], text[DURATION + 1];
	int64_t others = 0;
	unsigned n = 0;

	printf("%s - p50 = %-26s     is  %s without it is (95 %%)  seen\n",
	    v->name, plain_duration(all, r->q_ns - r->p50_ns), v->name);
	for (unsigned i = 0; i < r->lines; i++) {
		if (fabs((double)r->line[i].excess_ns) >= PART_SHOWN * excess) {
			print_line(v, r, i);
			continue;
		}
		others += r->line[i].excess_ns;
		n++;
	}
	if (n > 0)
		printf("   %2u %-23s %9s\n", n, n == 1 ? "other" : "others",
		    llabs(others) < 1000 ? "0" : difference(text, others));
}

static void
print_pairs(const struct view *v, const struct blame_report *r)
{
	char without[DURATION], text[512];

	for (unsigned i = 0; i < r->pairs; i++) {
		const struct blame_pair *p = &r->pair[i];

		snprintf(text, sizeof(text),
		    "%.99s and %.99s%s without both %s is %s",
		    v->rows.cause[p->a].code, v->rows.cause[p->b].code,
		    p->interaction_ns > 0 ? " hide each other: only"
					  : ": either is enough;",
		    v->name, plain_duration(without, p->without_ns));
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
			    v->rows.cause[l->cause].code, v->name,
			    plain_duration(a, l->without_queue_ns),
			    plain_duration(b, l->without_ns));
	}
}

static void
print_unseen(const struct view *v, const struct blame_report *r)
{
	double seen = 1;

	for (unsigned c = 0; c < v->rows.causes; c++)
		if (blame_rows_needs_kernel(v->rows.cause[c].code))
			seen = fmin(seen, r->seen[c]);
	if (seen < 0.995)
		printf("Without kernel events in %.0f %% of the tail: there "
		       "runq, preempted, quota,\nlock, sleep, disk, "
		       "page_fault, softirq, steal and tcp_* are not "
		       "observed.\n",
		    100 * (1 - seen));
}

/* Of what needs a runtime's signals or a PMU: what is in no account.  They do not
 * say whether the signals were there. */
static void
print_absent(const struct view *v, const struct blame_report *r)
{
	static const char *const codes[] = {
	    "gc", "safepoint", "class_loading", "low_ipc", "slow_clock"};
	char text[160] = "In no account: ";
	size_t empty = strlen(text), at = empty;

	for (unsigned i = 0; i < COUNT(codes); i++) {
		int c = blame_rows_cause(&v->rows, codes[i], strlen(codes[i]));
		unsigned k = 0;

		while (k < r->lines && (int)r->line[k].cause != c)
			k++;
		if (c >= 0 && k == r->lines)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
			    "%s%s", at == empty ? "" : ", ", codes[i]);
	}
	snprintf(text + at, sizeof(text) - at,
	    ": not there, or not observed (a runtime's signals, a PMU).");
	if (at > empty)
		plain_wrap(stdout, text, 0);
}

static void
print_examples(
    const struct view *v, struct blame_set *s, const struct blame_report *r)
{
	double least = PART_SHOWN * (double)(r->q_ns - r->p50_ns);

	printf("Examples (tailorctl why ID):\n");
	for (unsigned i = 0; i < r->lines && i < EXAMPLES; i++) {
		uint64_t id[EXAMPLES];
		unsigned c = r->line[i].cause, n;

		if ((double)r->line[i].excess_ns < least)
			break;
		n = blame_examples(s, v->p, c, id, EXAMPLES);
		printf("   %-16s", v->rows.cause[c].code);
		for (unsigned k = 0; k < n; k++)
			plain_print_cell(
			    v->rows.line[id[k]], 18, TERMINAL_PLAIN);
		putchar('\n');
	}
}

/* --- other questions --------------------------------------------------------- */

/* The causes of --without; 0 after a message. */
static uint64_t
without_causes(const struct view *v)
{
	const char *at = v->options->without;
	uint64_t causes = 0;

	for (;;) {
		size_t n = strcspn(at, ",");
		int c = blame_rows_cause(&v->rows, at, n);
		char cell[40];

		if (c < 0 || v->rows.cause[c].kind == BLAME_UNEXPLAINED) {
			fprintf(stderr, "tailorctl: --without \"%s\": %s\n",
			    plain_cell(cell, sizeof(cell), at, 30),
			    c < 0 ? "no cause has that code"
				  : "that is not a cause: it cannot go");
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

	if (blame_impacts(route->set, v->p, i) != 0)
		return STATUS_NO;
	if (v->options->json)
		json_key_array(j, "impacts");
	else
		printf("%s\nvalue or cause      recorded pThreshold impact "
		       "adjusted  AUC\n",
		    route->name);
	for (unsigned k = 0; k < COUNT(value); k++)
		show_value(v, value[k], &i[k], true, j);
	for (unsigned k = 0; k < v->rows.causes; k++)
		if (blame_cause_impact(route->set, v->p, k, &c) == 0 &&
		    c.auc != 0.5)
			show_value(v, v->rows.cause[k].code, &c, false, j);
	if (v->options->json)
		json_array_end(j);
	else
		putchar('\n');
	return STATUS_OK;
}

/* The changes since another time; how many, 0: there is nothing to compare. */
static unsigned
changes_find(const struct view *v, const struct blame_route *route,
    const struct blame_options *o, struct blame_change change[BLAME_CAUSES])
{
	unsigned n = 0, i = 0;

	while (i < v->then.routes &&
	       strcmp(v->then.route[i].name, route->name) != 0)
		i++;
	if (i == v->then.routes ||
	    blame_against(route->set, v->then.route[i].set, o, change, &n) != 0)
		return 0;
	return n;
}

static void
show_against(const struct view *v, const struct blame_route *route,
    const struct blame_options *o)
{
	struct blame_change change[BLAME_CAUSES];
	unsigned n = changes_find(v, route, o, change), i;
	char text[DURATION];
	int64_t all = 0;

	if (n == 0) {
		printf("No accounts of that time to compare with.\n");
		return;
	}
	for (i = 0; i < n; i++)
		all += change[i].change_ns;
	printf("Since then %s has changed by %s%s:\n", v->name,
	    all < 0 ? "-" : "+", plain_duration(text, llabs(all)));
	for (i = 0; i < n && i < 5; i++) {
		double low = (double)change[i].interval.low_ns;
		double high = (double)change[i].interval.high_ns;

		if (llabs(change[i].change_ns) < 1000)
			break;
		printf("   %-26s %s%-9s (%+.2f to %+.2f ms)%s\n",
		    v->rows.cause[change[i].cause].label,
		    change[i].change_ns < 0 ? "-" : "+",
		    plain_duration(text, llabs(change[i].change_ns)), low / 1e6,
		    high / 1e6, low <= 0 && high >= 0 ? "  may be chance" : "");
	}
}

/* --- JSON --------------------------------------------------------------------- */

static void
json_interval(struct json *j, const char *key, struct blame_interval i)
{
	json_key_array(j, key);
	json_int(j, i.low_ns);
	json_int(j, i.high_ns);
	json_array_end(j);
}

static void
json_line(const struct view *v, const struct blame_report *r, unsigned i,
    struct json *j)
{
	const struct blame_line *l = &r->line[i];

	json_object_begin(j);
	json_key_string(j, "cause", v->rows.cause[l->cause].code);
	json_key_uint(j, "rank", l->rank);
	json_key_int(j, "excess_ns", l->excess_ns);
	json_interval(j, "excess_interval_ns", l->excess);
	json_key_int(j, "share_ns", l->share_ns);
	json_interval(j, "share_interval_ns", l->share);
	json_key_int(j, "usual_ns", l->usual_ns);
	json_key_int(j, "beyond_ns", l->beyond_ns);
	json_key_uint(j, "episodes", l->episodes);
	json_key_bool(j, "enough", l->enough);
	json_key_double(j, "observed", r->seen[l->cause]);
	if (l->removable) {
		json_key_int(j, "without_ns", l->without_ns);
		json_interval(j, "without_interval_ns", l->without);
		json_key_int(j, "without_queue_ns", l->without_queue_ns);
		json_key_double(j, "shapley_ns", l->shapley_ns);
	}
	json_object_end(j);
}

static void
json_against(const struct view *v, const struct blame_route *route,
    const struct blame_options *o, struct json *j)
{
	struct blame_change change[BLAME_CAUSES];
	unsigned n = changes_find(v, route, o, change);

	json_key_array(j, "changes");
	for (unsigned i = 0; i < n; i++) {
		json_object_begin(j);
		json_key_string(
		    j, "cause", v->rows.cause[change[i].cause].code);
		json_key_int(j, "change_ns", change[i].change_ns);
		json_interval(j, "change_interval_ns", change[i].interval);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
json_route(const struct view *v, const struct blame_report *r, struct json *j)
{
	json_key_double(j, "requests", r->weight);
	json_key_uint(j, "accounts", r->rows);
	json_key_uint(j, "bytes", r->bytes);
	json_key_int(j, "first_ns", r->first_ns);
	json_key_int(j, "last_ns", r->last_ns);
	json_key_int(j, "p50_ns", r->p50_ns);
	json_key_int(j, "q_ns", r->q_ns);
	json_interval(j, "q_interval_ns", r->q);
	json_key_double(j, "explained", r->explained);
	json_key_uint(j, "beyond", r->beyond);
	json_key_int(j, "block_ns", r->block_ns);
	json_key_array(j, "causes");
	for (unsigned i = 0; i < r->lines; i++)
		json_line(v, r, i, j);
	json_array_end(j);
	json_key_array(j, "pairs");
	for (unsigned i = 0; i < r->pairs; i++) {
		json_object_begin(j);
		json_key_string(j, "a", v->rows.cause[r->pair[i].a].code);
		json_key_string(j, "b", v->rows.cause[r->pair[i].b].code);
		json_key_int(j, "without_ns", r->pair[i].without_ns);
		json_key_int(j, "interaction_ns", r->pair[i].interaction_ns);
		json_interval(
		    j, "interaction_interval_ns", r->pair[i].interaction);
		json_object_end(j);
	}
	json_array_end(j);
}

/* --- routes -------------------------------------------------------------------- */

static void
show_route(const struct view *v, const struct blame_route *route,
    const struct blame_options *o, const struct blame_report *r)
{
	print_head(v, route, r);
	print_lines(v, r);
	putchar('\n');
	print_pairs(v, r);
	print_queue(v, r);
	print_unseen(v, r);
	print_absent(v, r);
	print_examples(v, route->set, r);
	if (v->options->against_ns > 0)
		show_against(v, route, o);
	putchar('\n');
}

static int
take_report(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	struct blame_options o = {
	    .p = v->p, .resamples = RESAMPLES, .seed = SEED};
	static struct blame_report r;
	int err = blame_analyze(route->set, &o, &r);

	if (err != 0) {
		fprintf(
		    stderr, "tailorctl: %s: %s\n", route->name, strerror(-err));
		return STATUS_NO;
	}
	if (!v->options->json) {
		show_route(v, route, &o, &r);
		return STATUS_OK;
	}
	json_route(v, &r, j);
	if (v->options->against_ns > 0)
		json_against(v, route, &o, j);
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

static int
take_routes(struct view *v)
{
	const char *wanted = v->options->route;
	int status = STATUS_OK;
	unsigned shown = 0;
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "schema", "tailor.blame/1");
	json_key_double(&j, "percentile", 100 * v->p);
	json_key_uint(&j, "routes_known", v->rows.routes);
	json_key_array(&j, "routes");
	for (unsigned i = 0; i < v->rows.routes && status == STATUS_OK; i++) {
		const struct blame_route *route = &v->rows.route[i];

		if (wanted != NULL ? strcmp(wanted, route->name) != 0
				   : shown == ROUTES_SHOWN)
			continue;
		status = take_route(v, route, &j);
		shown++;
	}
	json_array_end(&j);
	json_object_end(&j);
	if (status == STATUS_OK && v->options->json)
		status = plain_json(&j);
	json_fini(&j);
	if (shown == 0) {
		fprintf(stderr,
		    "tailorctl: no account%s%s; there are %u "
		    "routes\n",
		    wanted != NULL ? " of " : " yet",
		    wanted != NULL ? wanted : "", v->rows.routes);
		status = STATUS_NO;
	}
	if (shown < v->rows.routes && wanted == NULL && !v->options->json)
		printf("%u more routes: --route\n", v->rows.routes - shown);
	return status;
}

/* --- accounts ------------------------------------------------------------------- */

/* The table, which the caller frees; NULL after a message. */
static char *
accounts_get(const struct options *options)
{
	struct http_response response;
	char *text = NULL;
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
	if (admin_request_ok(options, "GET", "/accounts", &response) < 0)
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

static int
print_accounts(const struct options *options, char *text)
{
	if (strcmp(options->accounts, "csv") == 0)
		plain_write(stdout, text, strlen(text));
	else
		print_ndjson(text);
	return STATUS_OK;
}

/* "99.9" to 0.999 and "p99.9". */
static int
percentile_read(struct view *v)
{
	const char *text = v->options->percentile;
	char *end;
	double p = 99;

	if (text != NULL) {
		p = strtod(text, &end);
		if (end == text || *end != '\0' || !(p > 50) || !(p < 100)) {
			fprintf(stderr,
			    "tailorctl: --percentile: it must be above 50 "
			    "and below 100\n");
			return -EINVAL;
		}
	}
	v->p = p / 100;
	snprintf(v->name, sizeof(v->name), "p%.6g", p);
	return 0;
}

/* Read what ended between two moments of a copy of a table. */
static int
copy_read(
    struct blame_rows *r, const char *text, int64_t from_ns, int64_t to_ns)
{
	char *copy = strdup(text);
	int err =
	    copy == NULL ? -ENOMEM : blame_rows_read(r, copy, from_ns, to_ns);

	/* The sets hold numbers only. */
	free(copy);
	return err;
}

/* Read the two periods; times count back from the latest account. */
static int
periods_read(struct view *v, char *text)
{
	const struct options *o = v->options;
	int64_t length_ns = o->since_ns > 0 ? o->since_ns : o->against_ns;
	int64_t newest_ns = 0, from_ns;
	int err = 0;

	if (length_ns > 0) {
		err = copy_read(&v->then, text, 0, 0);
		newest_ns = v->then.newest_ns;
		blame_rows_fini(&v->then);
	}
	from_ns = length_ns > 0 ? newest_ns - length_ns : 0;
	if (err == 0 && o->against_ns > 0)
		err = copy_read(&v->then, text, from_ns - o->against_ns,
		    newest_ns - o->against_ns);
	return err != 0 ? err : blame_rows_read(&v->rows, text, from_ns, 0);
}

int
command_blame(const struct options *options)
{
	struct view v = {.options = options};
	int status = STATUS_NO;
	char *text;

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
	if (percentile_read(&v) < 0)
		return STATUS_USAGE;
	text = accounts_get(options);
	if (text == NULL)
		return STATUS_NO;
	if (options->accounts != NULL)
		status = print_accounts(options, text);
	else if (periods_read(&v, text) == 0)
		status = take_routes(&v);
	blame_rows_fini(&v.rows);
	blame_rows_fini(&v.then);
	free(text);
	return status;
}
