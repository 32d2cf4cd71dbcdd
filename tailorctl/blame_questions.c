/* blame_questions.c: percentiles without some causes, and the VarMRI paper's
 * figures of values and causes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/quantity.h"
#include "tailorctl/blame.h"
#include "base/terminal.h"

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

/* Return the causes of --without as bits; 0 after a message. */
static uint64_t
without_causes(const struct view *v)
{
	const char *at = v->options->without;
	uint64_t causes = 0;

	for (;;) {
		size_t n = strcspn(at, ",");
		int c = blame_rows_cause(&v->of.rows, at, n);

		if (c < 0 || v->of.rows.cause[c].kind == BLAME_UNEXPLAINED) {
			fprintf(stderr,
			    "tailorctl: --without \"%s\": no cause has that "
			    "code; the codes:\n    ",
			    plain_cell(at, 16));
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

/* Percentiles without some causes; the interval of the slowest is not known. */
struct without {
	int64_t was[PERCENTILES];
	struct {
		int64_t ns[PERCENTILES];
		struct blame_interval interval[PERCENTILES];
	} left; /* without them and what waits behind them */
};

static int
without_fill(const struct view *v, struct blame_set *s, uint64_t causes,
    struct without *w)
{
	struct blame_options o = blame_view_options(&v->of);
	int err = blame_without(s, 0, false, percentiles, PERCENTILES, w->was);

	memset(&w->left, 0, sizeof(w->left));
	if (err == 0)
		err = blame_without(
		    s, causes, true, percentiles, PERCENTILES, w->left.ns);
	for (unsigned i = 0; err == 0 && percentiles[i] < 1; i++) {
		o.p = percentiles[i];
		err = blame_without_interval(
		    s, &o, causes, true, &w->left.interval[i]);
	}
	return err;
}

/* A percentile without the causes, and its interval; "?" if it is too
 * uncertain. */
static void
print_left(int64_t was_ns, int64_t ns, struct blame_interval i)
{
	char text[QUANTITY_INTERVAL_MAX];

	printf("  %8s",
	    blame_view_certain(was_ns, ns, i) ? plain_duration(ns) : "?");
	if (i.high_ns != 0)
		printf(" (%s)",
		    quantity_format_interval(i.low_ns, i.high_ns, text));
}

static void
print_without(const struct blame_route *route, const struct without *w)
{
	static const char *const name[] = {"p50", "p90", "p99", "p99.9", "max"};

	printf("%s\n", route->name);
	printf("       measured   without (95 %%)\n");
	for (unsigned i = 0; i < PERCENTILES; i++) {
		printf("%-6s %8s", name[i], plain_duration(w->was[i]));
		print_left(w->was[i], w->left.ns[i], w->left.interval[i]);
		putchar('\n');
	}
	printf("with what waits behind it, in another time as long; ?: too "
	       "uncertain, the\ninterval is wider than the effect\n\n");
}

static void
json_left(const struct without *w, unsigned i, struct json *j)
{
	json_key_int(j, "without_ns", w->left.ns[i]);
	if (w->left.interval[i].high_ns == 0)
		return;
	json_key_array(j, "without_interval_ns");
	json_int(j, w->left.interval[i].low_ns);
	json_int(j, w->left.interval[i].high_ns);
	json_array_end(j);
}

static void
json_without(const struct without *w, struct json *j)
{
	json_key_array(j, "percentiles");
	for (unsigned i = 0; i < PERCENTILES; i++) {
		json_object_begin(j);
		json_key_double(j, "percentile", 100 * percentiles[i]);
		json_key_int(j, "was_ns", w->was[i]);
		json_left(w, i, j);
		json_object_end(j);
	}
	json_array_end(j);
}

int
blame_show_without(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	uint64_t causes = without_causes(v);
	struct without w;

	if (causes == 0)
		return STATUS_USAGE;
	if (without_fill(v, route->set, causes, &w) != 0)
		return STATUS_NO;
	if (v->options->json)
		json_without(&w, j);
	else
		print_without(route, &w);
	return STATUS_OK;
}

/* A row of --impact: a value that is not a time, or a cause, which has no
 * rule. */
struct shown {
	const char *code, *unit; /* unit NULL: none */
	struct blame_impact i;
	int parent; /* of the rules: its value; RULES_NONE: a cause */
};
#define RULES_NONE (-2)

/* True if a value was high in enough seconds, and not in a single event. */
static bool
is_enough(const struct blame_impact *i)
{
	return i->threshold == 0 || i->high >= BLAME_EPISODES;
}

static void
print_value(const struct shown *v)
{
	char adjusted[16] = "-";

	if (v->parent != RULES_NONE)
		snprintf(adjusted, sizeof(adjusted), "%.3f", v->i.adjusted);
	printf("%-20s %5.0f %%     %6.3f %6.3f %8s %5.3f %7u%s\n", v->code,
	    100 * v->i.recorded, v->i.threshold, v->i.impact, adjusted,
	    v->i.auc, v->i.high, is_enough(&v->i) ? "" : "  too few");
}

static void
json_value(const struct view *v, const struct shown *one, struct json *j)
{
	const struct blame_impact *i = &one->i;
	const struct blame_value *value = v->of.rows.value;

	json_object_begin(j);
	json_key_string(j, "code", one->code);
	if (one->unit != NULL)
		json_key_string(j, "unit", one->unit);
	json_key_double(j, "recorded", i->recorded);
	json_key_uint(j, "seconds", i->seconds);
	json_key_uint(j, "seconds_high", i->high);
	json_key_double(j, "threshold", i->threshold);
	json_key_double(j, "impact", i->impact);
	if (one->parent != RULES_NONE) {
		json_key_double(j, "adjusted", i->adjusted);
		if (i->because >= 0)
			json_key_string(j, "because", value[i->because].code);
		if (i->included)
			json_key_string(
			    j, "included_in", value[one->parent].code);
	}
	json_key_double(j, "auc", i->auc);
	json_object_end(j);
}

/* Order rows: those with enough seconds first, then by the rest after rule 1.
 */
static int
shown_compare(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	return COMPARE(is_enough(&y->i), is_enough(&x->i))
		   ?: COMPARE(y->i.adjusted, x->i.adjusted)
		   ?: strcmp(x->code, y->code);
}

/* List all rows in that order.  Returns how many, > 0, or -1. */
static int
values_take(
    const struct view *v, struct blame_set *s, struct shown out[BLAME_VALUES])
{
	const struct blame_rows *r = &v->of.rows;
	struct blame_impact i[BLAME_VALUES];
	int err = blame_impacts(s, v->of.p, i);

	if (err != 0)
		return -1;
	for (unsigned k = 0; k < r->values; k++)
		out[k] = (struct shown){
		    r->value[k].code, r->unit[k], i[k], r->value[k].parent};
	qsort(out, r->values, sizeof(*out), shown_compare);
	return (int)r->values;
}

/* Print which values the table leaves out as proportional to others, and notes
 * on counters. */
static void
print_left_out(const struct view *v, const struct shown *shown, int n)
{
	const struct blame_rows *r = &v->of.rows;
	bool cpu = false;

	for (int k = 0; k < n; k++)
		if (shown[k].i.included)
			printf("%s is not listed: it is proportional to %s\n",
			    shown[k].code, r->value[shown[k].parent].code);
	for (unsigned k = 0; k < r->values; k++)
		cpu |= r->value[k].group >= BLAME_GROUP_INST;
	if (!cpu)
		plain_print(0, "These accounts have no CPU counters: they need "
			       "a PMU, which most virtual machines lack "
			       "(tailorctl probe), and profiler.counters.");
	for (int k = 0; k < n; k++)
		if (shown[k].unit != NULL) {
			plain_print(0,
			    "Counters cover the whole server in the second "
			    "of the request, not the request alone.");
			break;
		}
}

int
blame_show_impact(
    const struct view *v, const struct blame_route *route, struct json *j)
{
	struct shown value[BLAME_VALUES], c = {.parent = RULES_NONE};
	const struct blame_rows *r = &v->of.rows;
	bool json = v->options->json;
	int n = values_take(v, route->set, value);

	if (n <= 0)
		return STATUS_NO;
	if (json)
		json_key_array(j, "impacts");
	else
		printf("%s\nvalue or cause      recorded pThreshold impact "
		       "adjusted   AUC seconds\n",
		    route->name);
	for (int k = 0; k < n; k++) {
		if (json)
			json_value(v, &value[k], j);
		else if (!value[k].i.included)
			print_value(&value[k]);
	}
	for (unsigned k = 0; k < r->causes; k++) {
		c.code = r->cause[k].code;
		if (blame_cause_impact(route->set, v->of.p, k, &c.i) != 0 ||
		    c.i.auc == 0.5)
			continue;
		if (json)
			json_value(v, &c, j);
		else
			print_value(&c);
	}
	if (json) {
		json_array_end(j);
	} else {
		print_left_out(v, value, n);
		putchar('\n');
	}
	return STATUS_OK;
}
