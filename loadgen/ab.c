/* ab.c: measures two targets in turn, with the same schedules, and compares
 * them.
 *
 * In each iteration both targets are measured, one directly after the other;
 * the seed decides which is first.  So slow changes of the machine affect both,
 * and iterations are compared in pairs.  Each target has its own experiment;
 * only signals and CPUs are shared.  For each statistic the report gives the
 * difference with an interval, or says that none is shown. */
#include <errno.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/quantity.h"
#include "base/random.h"
#include "loadgen/experiment.h"
#include "loadgen/stats/statistics.h"
#include "loadgen/stats/verdict.h"

#define COMPARE_ROWS_MAX (PERCENTILES_MAX + 2)

struct compare_row {
	char name[PERCENTILE_KEY_MAX]; /* "p99", "max", "mean" */
	struct shift shift;
	size_t pairs; /* iterations compared */
};

struct ab_comparison {
	const struct report *a, *b; /* borrowed */
	bool usable;		    /* neither generator was bad */
	struct compare_row rows[COMPARE_ROWS_MAX];
	size_t count;
};

#define SHOWN 0.05

/* The value of an iteration that a row compares: an index of its percentiles,
 * or one of these. */
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

/* Add a row.
 *   values  scratch: room for two values per iteration */
static int
add_row(struct ab_comparison *c, const char *name, int column, int64_t *values)
{
	const struct summary *a = &c->a->summary;
	const struct summary *b = &c->b->summary;
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

static int
compare_sides(struct ab_comparison *c)
{
	const struct percentiles *p = &c->a->summary.criteria->percentiles;
	size_t n = c->a->summary.count + c->b->summary.count;
	int64_t *values = calloc(n + 1, sizeof(*values));
	char name[PERCENTILE_KEY_MAX];
	int err = values == NULL ? -ENOMEM : 0;

	c->usable = c->a->verdict.level != VERDICT_BAD &&
		    c->b->verdict.level != VERDICT_BAD;
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
print_side(FILE *out, const char *name, const struct report *s)
{
	char started[40];

	fprintf(out, "%s  %s  %s  figures %s\n", name, s->target.url,
	    text_wall(started, s->started_ns), verdict_names[s->verdict.level]);
}

/* Print which figures are not good: their differences are not good either. */
static void
print_reasons(FILE *out, const char *name, const struct report *s)
{
	char text[FIGURE_TEXT_MAX];
	const char *why;

	for (unsigned at = 0;
	     (why = verdict_reason(&s->verdict,
		  &s->summary.criteria->percentiles, &at, text)) != NULL;)
		fprintf(out, "%s: %s\n", name, why);
}

static void
compare_text(FILE *out, const struct ab_comparison *c)
{
	print_side(out, "A", c->a);
	print_side(out, "B", c->b);
	for (size_t i = 0; i < c->count; i++)
		print_row(out, &c->rows[i]);
	print_reasons(out, "A", c->a);
	print_reasons(out, "B", c->b);
	if (!c->usable)
		fprintf(out, "Do not use this comparison: a run was bad.\n");
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
put_side(struct json *j, const char *key, const struct report *s)
{
	char started[40];

	json_key_object(j, key);
	json_key_string(j, "url", s->target.url);
	json_key_string(j, "started", text_wall(started, s->started_ns));
	json_key_string(j, "verdict", verdict_names[s->verdict.level]);
	json_object_end(j);
}

static void
compare_json(const struct ab_comparison *c, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.load.compare/1");
	put_side(j, "a", c->a);
	put_side(j, "b", c->b);
	json_key_bool(j, "usable", c->usable);
	json_key_array(j, "differences");
	for (size_t i = 0; i < c->count; i++)
		put_row(j, &c->rows[i]);
	json_array_end(j);
	json_object_end(j);
}

/* --- running both ------------------------------------------------------- */

/* Write the comparison's JSON into the output directory. */
static int
write_json(const struct load_options *o, const struct ab_comparison *c)
{
	struct report_output out;
	struct json j;
	int err;

	err = output_open(&out, NULL, o->output.out_dir, "compare.json");
	if (err < 0 || !output_is_wanted(&out))
		return err;
	json_init(&j, true);
	compare_json(c, &j);
	err = output_json(&out, &j);
	int lost = output_close(&out);
	return err < 0 ? err : lost;
}

static enum exit_code
compare(const struct load_options *o, struct ab_comparison *c)
{
	int err = compare_sides(c);

	if (err < 0) {
		complain(
		    err == -ENODATA
			? "nothing to compare: no iteration was completed, "
			  "with successes, for both targets"
			: strerror(-err));
		return EXIT_COULD_NOT_RUN;
	}
	if (!o->output.quiet)
		compare_text(stdout, c);
	err = write_json(o, c);
	if (err == 0 && stdout_failed())
		err = -EIO;
	if (err < 0) {
		complain("the comparison could not be written completely");
		return EXIT_COULD_NOT_RUN;
	}
	return c->usable ? EXIT_DONE : EXIT_BAD_GENERATOR;
}

/* One side of the experiment. */
struct side {
	struct experiment *e; /* owned */
	char dir[4096];
};

static int
side_open(struct side *s, const struct load_options *o, const char *url,
    const char *name)
{
	s->e = calloc(1, sizeof(*s->e));
	if (s->e == NULL)
		return -ENOMEM;
	s->e->options = *o;
	s->e->options.url = url;
	if (o->output.out_dir == NULL)
		return 0;
	int n =
	    snprintf(s->dir, sizeof(s->dir), "%s/%s", o->output.out_dir, name);
	if (n < 0 || (size_t)n >= sizeof(s->dir))
		return -ENAMETOOLONG;
	s->e->options.output.out_dir = s->dir;
	return 0;
}

static void
side_close(struct side *s)
{
	if (s->e == NULL)
		return;
	experiment_close(s->e);
	free(s->e);
}

/* Run all iterations of both sides, in an order that the seed decides. */
static int
iterate(struct side sides[2], uint64_t seed)
{
	struct prng p;

	prng_init(&p, ~seed);
	experiment_begin(sides[0].e);
	experiment_begin(sides[1].e);
	for (unsigned k = 1; k <= sides[0].e->options.plan.iterations; k++) {
		size_t first = prng_next(&p) >> 63;
		for (size_t i = 0; i < 2; i++) {
			struct experiment *e = sides[first ^ i].e;
			int err = experiment_iterate(e, k);
			if (err < 0)
				return err;
			if (experiment_interrupted(e))
				return 0;
		}
	}
	return 0;
}

static enum exit_code
conclude(const struct load_options *o, struct side sides[2])
{
	struct ab_comparison c = {0};

	for (size_t i = 0; i < 2; i++) {
		int err = experiment_end(sides[i].e);
		if (finish_write(sides[i].e, false) < 0 || err < 0) {
			complain(
			    err < 0
				? sides[i].e->why
				: "results could not be written completely");
			return EXIT_COULD_NOT_RUN;
		}
	}
	if (experiment_interrupted(sides[1].e))
		return EXIT_INTERRUPTED;
	c.a = &sides[0].e->report;
	c.b = &sides[1].e->report;
	return compare(o, &c);
}

enum exit_code
ab_run(const struct load_options *o)
{
	struct side sides[2] = {0};
	enum exit_code code = EXIT_COULD_NOT_RUN;
	int err;

	if (o->plan.iterations > SHIFT_MAX) {
		complain("ab compares at most 2000 iterations");
		return EXIT_USAGE;
	}
	err = side_open(&sides[0], o, o->url_a, "a");
	if (err == 0)
		err = side_open(&sides[1], o, o->url_b, "b");
	if (err < 0) {
		complain(strerror(-err));
		goto done;
	}
	experiment_share(sides[1].e, sides[0].e);
	for (size_t i = 0; i < 2; i++) {
		err = experiment_open(sides[i].e);
		if (err < 0) {
			complain(sides[i].e->why);
			code = err == -EINVAL ? EXIT_USAGE : EXIT_COULD_NOT_RUN;
			goto done;
		}
	}
	check_before(o, &sides[0].e->report.sender_cpus);
	err = iterate(sides, o->plan.seed);
	if (err < 0)
		complain(sides[0].e->why[0] != '\0' ? sides[0].e->why
						    : sides[1].e->why);
	else
		code = conclude(o, sides);
done:
	/* The second side uses resources of the first. */
	side_close(&sides[1]);
	side_close(&sides[0]);
	return code;
}
