#include "loadgen/stats/compare.h"

#include <errno.h>
#include <stdlib.h>

#include "base/quantity.h"

#define SHOWN 0.05

/* Which value of an iteration a row compares: a place in the percentiles, or
 * one of these. */
#define COLUMN_MAX (-1)
#define COLUMN_MEAN (-2)

static int64_t
value_of(const struct iteration_summary *sum, int column)
{
	const struct latency_summary *d = &sum->series[SERIES_LATENCY];

	if (d->count == 0 || sum->partial)
		return -1;
	if (column == COLUMN_MAX)
		return d->max_ns;
	return column == COLUMN_MEAN ? d->mean_ns : d->at_ns[column];
}

/* values: room for one of each iteration of both. */
static int
add_row(struct ab_comparison *c, const char *name, int column, int64_t *values)
{
	const struct summary *a = c->a.summary;
	const struct summary *b = c->b.summary;
	struct compare_row *row = &c->rows[c->count];
	int64_t *b_ns = values + a->count;
	size_t n = 0;

	for (size_t i = 0; i < a->count && i < b->count; i++) {
		values[n] = value_of(&a->iterations[i], column);
		b_ns[n] = value_of(&b->iterations[i], column);
		n += values[n] > 0 && b_ns[n] > 0;
	}
	if (n == 0)
		return 0;
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->pairs = n;
	c->count++;
	return shift_paired(values, b_ns, n, &row->shift);
}

int
compare_sides(struct ab_comparison *c)
{
	const struct percentiles *p = &c->a.summary->criteria->percentiles;
	size_t n = c->a.summary->count + c->b.summary->count;
	int64_t *values = calloc(n + 1, sizeof(*values));
	char name[PERCENTILE_KEY_MAX];
	int err = values == NULL ? -ENOMEM : 0;

	c->usable = c->a.verdict->level != VERDICT_BAD &&
		    c->b.verdict->level != VERDICT_BAD;
	c->count = 0;
	for (unsigned i = 0; i < p->count && err == 0; i++)
		err = add_row(c, figure_name(p->at[i], name), (int)i, values);
	if (err == 0)
		err = add_row(c, "max", COLUMN_MAX, values);
	if (err == 0)
		err = add_row(c, "mean", COLUMN_MEAN, values);
	free(values);
	return err == 0 && c->count == 0 ? -ENODATA : err;
}

static void
print_row(FILE *out, const struct compare_row *row)
{
	const struct shift *s = &row->shift;
	int64_t distance_ns =
	    s->difference_ns < 0 ? -s->difference_ns : s->difference_ns;
	char t[QUANTITY_TEXT_MAX];

	fprintf(out, "%-6s ", row->name);
	if (s->p > SHOWN || !s->bounded) {
		fprintf(out, "no difference shown");
		if (s->bounded)
			fprintf(out, " (interval %+.1f to %+.1f %%, p %.3g)",
			    100 * s->low, 100 * s->high, s->p);
		else
			fprintf(out,
			    " (%zu iterations are too few for a 95 %% "
			    "interval)",
			    row->pairs);
		fprintf(out, "\n");
		return;
	}
	fprintf(out,
	    "B is %s %s (%+.1f %%, 95 %% interval %+.1f to %+.1f %%, p %.2g), "
	    "lower in %zu of %zu pairs\n",
	    quantity_format_ns(distance_ns, t),
	    s->change < 0 ? "lower" : "higher", 100 * s->change, 100 * s->low,
	    100 * s->high, s->p, s->lower, row->pairs);
}

static void
print_side(FILE *out, const char *name, const struct compare_side *s)
{
	char started[40];

	fprintf(out, "%s  %s  %s  figures %s\n", name, s->url,
	    text_wall(started, s->started_ns),
	    verdict_names[s->verdict->level]);
}

/* Which figures are not good: their differences are no better. */
static void
print_reasons(FILE *out, const char *name, const struct compare_side *s)
{
	char text[FIGURE_TEXT_MAX];
	const char *why;

	for (unsigned at = 0;
	     (why = verdict_reason(s->verdict,
		  &s->summary->criteria->percentiles, &at, text)) != NULL;)
		fprintf(out, "%s: %s\n", name, why);
}

void
compare_text(FILE *out, const struct ab_comparison *c)
{
	print_side(out, "A", &c->a);
	print_side(out, "B", &c->b);
	for (size_t i = 0; i < c->count; i++)
		print_row(out, &c->rows[i]);
	print_reasons(out, "A", &c->a);
	print_reasons(out, "B", &c->b);
	if (!c->usable)
		fprintf(out, "A run was bad: do not use this.\n");
}

static void
put_row(struct json *j, const struct compare_row *row)
{
	const struct shift *s = &row->shift;

	json_object_begin(j);
	json_key_string(j, "statistic", row->name);
	json_key_uint(j, "iterations", row->pairs);
	json_key_int(j, "difference_ns", s->difference_ns);
	json_key_double(j, "change", s->change);
	if (s->bounded) {
		json_key_array(j, "change_ci95");
		json_double(j, s->low);
		json_double(j, s->high);
		json_array_end(j);
	}
	json_key_double(j, "p", s->p);
	json_key_uint(j, "lower", s->lower);
	json_key_bool(j, "shown", s->bounded && s->p <= SHOWN);
	json_object_end(j);
}

static void
put_side(struct json *j, const char *key, const struct compare_side *s)
{
	char started[40];

	json_key_object(j, key);
	json_key_string(j, "url", s->url);
	json_key_string(j, "started", text_wall(started, s->started_ns));
	json_key_string(j, "verdict", verdict_names[s->verdict->level]);
	json_object_end(j);
}

void
compare_json(const struct ab_comparison *c, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.load.compare/1");
	put_side(j, "a", &c->a);
	put_side(j, "b", &c->b);
	json_key_bool(j, "usable", c->usable);
	json_key_array(j, "differences");
	for (size_t i = 0; i < c->count; i++)
		put_row(j, &c->rows[i]);
	json_array_end(j);
	json_object_end(j);
}
