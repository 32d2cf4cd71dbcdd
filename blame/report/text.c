/* text.c: a report as text for a terminal. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quantity.h"
#include "base/terminal.h"
#include "blame/report/report.h"

static void
interval_print(struct blame_interval i, const char *after)
{
	char text[QUANTITY_INTERVAL_MAX];

	printf("(%s)%s", quantity_format_interval(i.low_ns, i.high_ns, text),
	    after);
}

/* A difference: "-1.20ms". */
static const char *
difference(int64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	return plain_format("%s", quantity_format_ns(ns, text));
}

/* --- all requests --------------------------------------------------------- */

static void
print_estimated(void)
{
	printf("(estimates from accounts: the latencies of the other requests "
	       "are not known)\n");
}

/* Print how many requests of a route have no class of their own. */
static void
print_unnamed(const struct blame_latency *l)
{
	if (l->unnamed > 0)
		printf("   %llu of them are in classes that are not counted "
		       "separately: see blame.classes\n",
		    (unsigned long long)l->unnamed);
}

/* Print percentiles of all requests, which accounts only estimate. */
static void
print_exact(const struct blame_view *v, const struct blame_latency *l,
    const struct blame_report *r)
{
	char text[BLAME_APART], a[40], b[40];

	text_wall(a, l->from_ns);
	text_wall(b, l->to_ns);
	printf("all %llu requests, %.19sZ to %.19sZ\n",
	    (unsigned long long)l->latency.count, a, b);
	printf("   p50 %s   %s %s",
	    plain_duration(blame_exact_quantile(l, 0.5)), v->name,
	    plain_duration(blame_exact_quantile(l, v->p)));
	if (strcmp(v->name, "p99.9") != 0)
		printf("   p99.9 %s",
		    plain_duration(blame_exact_quantile(l, 0.999)));
	printf("   slowest %s   exact to %.1f %%\n",
	    plain_duration(blame_exact_quantile(l, 1)), 100 * BLAME_RESOLUTION);
	print_unnamed(l);
	if (blame_view_apart(v, l, r, text))
		plain_print(3, "%s", text);
}

/* --- the list of causes --------------------------------------------------- */

static void
print_head(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r)
{
	const struct blame_latency *l = blame_exact_of(&v->exact, route->name);
	char a[40], b[40];

	printf("%s%s%s  about %.0f requests, %zu accounts\n",
	    plain_escape(TERMINAL_BOLD),
	    plain_cell(route->name, BLAME_ROUTE - 1),
	    plain_escape(TERMINAL_PLAIN), r->weight, r->rows);
	text_wall(a, r->first_ns);
	text_wall(b, r->last_ns);
	printf("%.19sZ to %.19sZ\n", a, b);
	printf("p50 %s   %s %s ", plain_duration(r->p50_ns), v->name,
	    plain_duration(r->q_ns));
	interval_print(r->q, "");
	printf(
	    "   explained: %.0f %% of %s - p50\n", 100 * r->explained, v->name);
	if (l != NULL)
		print_exact(v, l, r);
	else
		print_estimated();
	putchar('\n');
}

static void
print_line(const struct blame_view *v, const struct blame_report *r, unsigned i)
{
	const struct blame_line *l = &r->line[i];
	const struct blame_cause *c = &v->rows.cause[l->cause];
	char rank[16] = " ";

	if (l->rank > 0)
		snprintf(rank, sizeof(rank), "%u", l->rank);
	printf("%2s %-26s %9s", rank, plain_cell(c->label, 26),
	    difference(l->excess_ns));
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
		    v->name);
		return;
	}
	if (!l->removable) {
		printf(
		    "  not examined: %d others are larger\n", BLAME_TOGETHER);
		return;
	}
	printf("  %9s ", blame_view_certain(r->q_ns, l->without_ns, l->without)
			     ? plain_duration(l->without_ns)
			     : BLAME_UNCERTAIN);
	interval_print(l->without, "");
	printf("  %u\n", l->episodes);
}

/* Print the sum of the causes that are too small for a line. */
static void
print_others(const struct blame_report *r)
{
	int64_t others = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < r->lines; i++)
		if (!blame_view_shows(r, i)) {
			others += r->line[i].excess_ns;
			n++;
		}
	if (n > 0)
		printf("   %2u %-23s %9s\n", n, n == 1 ? "other" : "others",
		    llabs(others) < 1000 ? "0" : difference(others));
}

/* Print causes, the sum of the small ones, then the time without a cause. */
static void
print_lines(const struct blame_view *v, const struct blame_report *r)
{
	char whole[64];
	unsigned i;

	snprintf(whole, sizeof(whole), "%s - p50 = %s", v->name,
	    plain_duration(r->q_ns - r->p50_ns));
	printf(
	    "%-29s %9s  %s without it (95 %%)  seen\n", whole, "adds", v->name);
	for (i = 0; i < r->lines && r->line[i].kind != BLAME_UNEXPLAINED; i++)
		if (blame_view_shows(r, i))
			print_line(v, r, i);
	print_others(r);
	for (; i < r->lines; i++)
		if (blame_view_shows(r, i))
			print_line(v, r, i);
}

static void
print_pairs(const struct blame_view *v, const struct blame_report *r)
{
	for (unsigned i = 0; i < r->pairs; i++) {
		const struct blame_pair *p = &r->pair[i];

		plain_print(0, "%.99s and %.99s%s without both %s is %s",
		    v->rows.cause[p->a].code, v->rows.cause[p->b].code,
		    p->interaction_ns > 0 ? " hide each other: only"
					  : ": either is enough;",
		    v->name, plain_duration(p->without_ns));
	}
}

static void
print_unseen(const struct blame_view *v, const struct blame_report *r)
{
	char text[BLAME_CODES];

	for (unsigned at = 0; blame_view_note(v, r, &at, text);)
		plain_wrap(stdout, text, 0);
}

static void
print_examples(const struct blame_view *v, struct blame_set *s,
    const struct blame_report *r)
{
	unsigned shown = 0;

	printf("Examples (tailorctl why ID):\n");
	for (unsigned i = 0; i < r->lines && shown < BLAME_EXAMPLES_SHOWN;
	     i++) {
		uint64_t id[BLAME_EXAMPLES_SHOWN];
		unsigned c = r->line[i].cause, n;

		if (!blame_view_shows(r, i) || r->line[i].excess_ns <= 0)
			continue;
		shown++;
		n = blame_examples(s, v->p, c, id, BLAME_EXAMPLES_SHOWN);
		printf("   %-26s", v->rows.cause[c].label);
		for (unsigned k = 0; k < n; k++)
			printf(" %s", plain_cell(v->rows.id[id[k]], 16));
		putchar('\n');
	}
}

static void
print_spots(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r)
{
	struct blame_spot spot[BLAME_SPOTS];
	unsigned n = blame_spots(v, route, r->beyond, spot);
	char what[80], part[40];

	snprintf(what, sizeof(what), "Where %s is made", v->name);
	if (n > 0)
		printf("%-20s slower ones (95 %% interval)  all requests  "
		       "its own %s\n",
		    what, v->name);
	for (unsigned i = 0; i < n; i++) {
		snprintf(
		    what, sizeof(what), "%s %s", spot[i].field, spot[i].value);
		snprintf(part, sizeof(part), "%.0f %% (%.0f to %.0f)",
		    100 * spot[i].place.tail, 100 * spot[i].place.tail_low,
		    100 * spot[i].place.tail_high);
		printf("   %-26s %18s  %10.0f %%  %11s\n", plain_cell(what, 26),
		    part, 100 * spot[i].place.requests,
		    plain_duration(spot[i].place.q_ns));
	}
}

/* --- another time --------------------------------------------------------- */

static void
show_against(const struct blame_view *v, const struct blame_route *route,
    const struct blame_options *o)
{
	const struct blame_route *then = blame_view_then(v, route);
	struct blame_change change[BLAME_CAUSES];
	unsigned n = 0, i;
	int64_t all = 0;

	if (then == NULL ||
	    blame_against(route->set, then->set, o, change, &n) != 0) {
		printf("No accounts of that time to compare with.\n");
		return;
	}
	for (i = 0; i < n; i++)
		all += change[i].change_ns;
	printf("Since then %s has changed by %s%s:\n", v->name,
	    all < 0 ? "-" : "+", plain_duration(llabs(all)));
	for (i = 0; i < n && i < 5; i++) {
		double low = (double)change[i].interval.low_ns;
		double high = (double)change[i].interval.high_ns;

		if (llabs(change[i].change_ns) < 1000)
			break;
		printf("   %-26s %s%-9s (%+.2f to %+.2f ms)%s\n",
		    v->rows.cause[change[i].cause].label,
		    change[i].change_ns < 0 ? "-" : "+",
		    plain_duration(llabs(change[i].change_ns)), low / 1e6,
		    high / 1e6, low <= 0 && high >= 0 ? "  may be chance" : "");
	}
}

static void
print_route(const struct blame_view *v, const struct blame_route *route,
    const struct blame_options *o, const struct blame_report *r)
{
	const struct blame_latency *l = blame_exact_of(&v->exact, route->name);
	char few[BLAME_FEW];

	if (blame_view_few(v, route, r, few)) {
		plain_print(
		    0, "%s: %s", plain_cell(route->name, BLAME_ROUTE - 1), few);
		if (l != NULL)
			print_unnamed(l);
		else
			print_estimated();
		return;
	}
	print_head(v, route, r);
	print_lines(v, r);
	putchar('\n');
	print_pairs(v, r);
	print_spots(v, route, r);
	print_unseen(v, r);
	print_examples(v, route->set, r);
	if (blame_view_compares(v))
		show_against(v, route, o);
	putchar('\n');
}

/* Print which route has much of the tail of all requests, if one has. */
static void
print_all(const struct blame_view *v)
{
	struct blame_spot spot;
	int64_t q_ns;

	if (v->route != NULL || !blame_all(v, &q_ns, &spot))
		return;
	plain_print(0,
	    "All routes: %s %s. %s is %.1f %% of requests and %.0f %% of the "
	    "slower ones.",
	    v->name, plain_duration(q_ns), spot.value,
	    100 * spot.place.requests, 100 * spot.place.tail);
	putchar('\n');
}

int
blame_text(const struct blame_view *v)
{
	struct blame_options o = blame_view_options(v);
	const struct blame_route *route;
	struct blame_report *r = malloc(sizeof(*r));
	unsigned at = 0;
	int err = r == NULL ? -ENOMEM : 0;

	if (err == 0)
		print_all(v);
	while (err == 0 && (route = blame_view_route(v, &at)) != NULL) {
		err = blame_analyze(route->set, &o, r);
		if (err == 0)
			print_route(v, route, &o, r);
	}
	free(r);
	return err;
}
