#include "loadgen/stats/compare.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "loadgen/send/quantity.h"
#include "loadgen/stats/verdict.h"

#define SHOWN 0.05

/* Doubles from the same text are the same to the bit. */
static bool
same(double a, double b)
{
	return fabs(a - b) <= 0;
}

/* In what the schedules differ, or NULL.  Closed loops have no seeds. */
static const char *
difference(const struct run *a, const struct run *b)
{
	if (strcmp(a->arrivals, b->arrivals) != 0)
		return "arrivals";
	if (!same(a->rate_per_s, b->rate_per_s))
		return "rates";
	if (a->requests != b->requests)
		return "numbers of requests";
	for (size_t i = 0; i < a->count && i < b->count; i++) {
		if (!same(a->iterations[i].seed, b->iterations[i].seed))
			return "seeds";
	}
	return NULL;
}

/* Which value of an iteration a row compares: a place in its run's percentiles,
 * or one of these. */
#define COLUMN_MAX (-1)
#define COLUMN_MEAN (-2)

static int64_t
value_of(const struct run_iteration *it, int column)
{
	if (!it->any || it->partial)
		return -1;
	if (column == COLUMN_MAX)
		return it->max_ns;
	return column == COLUMN_MEAN ? it->mean_ns : it->at_ns[column];
}

/* The runs, and their values of one column in iterations that both have. */
struct pairs {
	const struct run *a;
	const struct run *b;
	int64_t *a_ns; /* owned */
	int64_t *b_ns; /* owned */
};

static int
add_row(struct comparison *c, const char *name, const struct pairs *p, int in_a,
    int in_b)
{
	struct compare_row *row = &c->rows[c->count];
	size_t n = 0;

	for (size_t i = 0; i < p->a->count && i < p->b->count; i++) {
		p->a_ns[n] = value_of(&p->a->iterations[i], in_a);
		p->b_ns[n] = value_of(&p->b->iterations[i], in_b);
		n += p->a_ns[n] > 0 && p->b_ns[n] > 0;
	}
	if (n == 0)
		return 0;
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->pairs = n;
	c->count++;
	return shift_paired(p->a_ns, p->b_ns, n, &row->shift);
}

static int
add_rows(struct comparison *c, const struct pairs *p)
{
	const struct percentiles *a = &p->a->percentiles;
	const struct percentiles *b = &p->b->percentiles;
	char name[PERCENTILE_KEY_MAX];
	int err = 0;

	for (unsigned i = 0; i < a->count && err == 0; i++) {
		for (unsigned k = 0; k < b->count && err == 0; k++) {
			if (same(a->at[i], b->at[k]))
				err = add_row(c, figure_name(a->at[i], name), p,
				    (int)i, (int)k);
		}
	}
	if (err == 0)
		err = add_row(c, "max", p, COLUMN_MAX, COLUMN_MAX);
	return err < 0 ? err : add_row(c, "mean", p, COLUMN_MEAN, COLUMN_MEAN);
}

int
compare_runs(const struct run *a, const struct run *b, struct comparison *out)
{
	const char *what = difference(a, b);
	struct pairs p = {.a = a, .b = b};
	int err;

	memset(out, 0, sizeof(*out));
	if (what != NULL)
		snprintf(out->why, sizeof(out->why),
		    "the plans differ in their %s: only the same schedules are "
		    "compared",
		    what);
	else if (a->count > SHIFT_MAX || b->count > SHIFT_MAX)
		snprintf(out->why, sizeof(out->why),
		    "over %d iterations are not compared", SHIFT_MAX);
	if (out->why[0] != '\0')
		return -EINVAL;
	out->usable =
	    strcmp(a->verdict, "bad") != 0 && strcmp(b->verdict, "bad") != 0;
	p.a_ns = calloc(a->count + 1, sizeof(*p.a_ns));
	p.b_ns = calloc(a->count + 1, sizeof(*p.b_ns));
	err = p.a_ns == NULL || p.b_ns == NULL ? -ENOMEM : add_rows(out, &p);
	free(p.a_ns);
	free(p.b_ns);
	if (err < 0 || out->count > 0)
		return err;
	snprintf(out->why, sizeof(out->why),
	    "nothing to compare: no iteration is complete and has successes in "
	    "both");
	return -EINVAL;
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

/* Which figures are not good: their differences are no better. */
static void
print_reasons(FILE *out, const char *name, const struct run *r)
{
	const cJSON *text;

	cJSON_ArrayForEach(
	    text, cJSON_GetObjectItemCaseSensitive(
		      cJSON_GetObjectItemCaseSensitive(r->tree, "generator"),
		      "reasons"))
	{
		char safe[160];
		if (cJSON_IsString(text))
			fprintf(out, "%s: %s\n", name,
			    text_safe(safe, sizeof(safe), text->valuestring));
	}
}

void
compare_text(FILE *out, const struct run *a, const struct run *b,
    const struct comparison *c)
{
	fprintf(out, "A  %s  %s  figures %s\nB  %s  %s  figures %s\n", a->url,
	    a->started, a->verdict, b->url, b->started, b->verdict);
	for (size_t i = 0; i < c->count; i++)
		print_row(out, &c->rows[i]);
	print_reasons(out, "A", a);
	print_reasons(out, "B", b);
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
put_run(struct json *j, const char *key, const struct run *r)
{
	json_key_object(j, key);
	json_key_string(j, "url", r->url);
	json_key_string(j, "started", r->started);
	json_key_string(j, "verdict", r->verdict);
	json_object_end(j);
}

void
compare_json(const struct run *a, const struct run *b,
    const struct comparison *c, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.load.compare/1");
	put_run(j, "a", a);
	put_run(j, "b", b);
	json_key_bool(j, "usable", c->usable);
	json_key_array(j, "differences");
	for (size_t i = 0; i < c->count; i++)
		put_row(j, &c->rows[i]);
	json_array_end(j);
	json_object_end(j);
}
