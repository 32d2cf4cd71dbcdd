#include "loadgen/stats/compare.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "loadgen/send/quantity.h"

#define SHOWN 0.05

/* Doubles from the same text are the same to the bit. */
static bool
same(double a, double b)
{
	return fabs(a - b) <= 0;
}

static bool
same_schedules(const struct run *a, const struct run *b)
{
	if (a->count != b->count || a->requests != b->requests ||
	    !same(a->rate_per_s, b->rate_per_s) ||
	    strcmp(a->arrivals, b->arrivals) != 0 ||
	    strcmp(a->arrivals, "closed") == 0)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!same(a->iterations[i].seed, b->iterations[i].seed))
			return false;
	}
	return true;
}

static void
warn(struct comparison *c, const struct run *a, const struct run *b)
{
	const char *what = NULL;

	if (strcmp(a->arrivals, b->arrivals) != 0)
		what = "arrivals";
	else if (!same(a->rate_per_s, b->rate_per_s))
		what = "rates";
	else if (a->requests != b->requests)
		what = "numbers of requests";
	if (what != NULL)
		snprintf(c->warning, sizeof(c->warning),
		    "the plans differ in their %s: this compares more than two "
		    "servers",
		    what);
}

/* Which value of an iteration a row compares. */
struct column {
	int at; /* place in a run's percentiles; or: */
#define COLUMN_MAX (-1)
#define COLUMN_MEAN (-2)
};

static int64_t
value_of(const struct run_iteration *it, struct column c)
{
	if (!it->any || it->partial)
		return -1;
	if (c.at == COLUMN_MAX)
		return it->max_ns;
	return c.at == COLUMN_MEAN ? it->mean_ns : it->at_ns[c.at];
}

struct series_pair {
	int64_t *a_ns; /* owned */
	int64_t *b_ns; /* owned */
	size_t na;
	size_t nb;
};

static void
collect(struct series_pair *s, const struct run *a, struct column ca,
    const struct run *b, struct column cb)
{
	s->na = 0;
	s->nb = 0;
	for (size_t i = 0; i < a->count; i++) {
		int64_t v = value_of(&a->iterations[i], ca);
		if (v > 0)
			s->a_ns[s->na++] = v;
	}
	for (size_t i = 0; i < b->count; i++) {
		int64_t v = value_of(&b->iterations[i], cb);
		if (v > 0)
			s->b_ns[s->nb++] = v;
	}
}

/* Only iterations that both have. */
static void
collect_pairs(struct series_pair *s, const struct run *a, struct column ca,
    const struct run *b, struct column cb)
{
	s->na = 0;
	for (size_t i = 0; i < a->count; i++) {
		int64_t va = value_of(&a->iterations[i], ca);
		int64_t vb = value_of(&b->iterations[i], cb);
		if (va <= 0 || vb <= 0)
			continue;
		s->a_ns[s->na] = va;
		s->b_ns[s->na++] = vb;
	}
	s->nb = s->na;
}

static int
add_row(struct comparison *c, const char *name, struct series_pair *s)
{
	struct compare_row *row = &c->rows[c->count];

	if (s->na == 0 || s->nb == 0)
		return 0;
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->pairs = s->na;
	c->count++;
	return c->paired ? shift_paired(s->a_ns, s->b_ns, s->na, &row->shift)
			 : shift_unpaired(
			       s->a_ns, s->na, s->b_ns, s->nb, &row->shift);
}

static int
compare_column(struct comparison *c, const char *name, struct series_pair *s,
    const struct run *runs[2], const struct column columns[2])
{
	if (c->paired)
		collect_pairs(s, runs[0], columns[0], runs[1], columns[1]);
	else
		collect(s, runs[0], columns[0], runs[1], columns[1]);
	return add_row(c, name, s);
}

static int
compare_all(struct comparison *c, struct series_pair *s, const struct run *a,
    const struct run *b)
{
	const struct run *runs[2] = {a, b};
	const struct column most[2] = {{COLUMN_MAX}, {COLUMN_MAX}};
	const struct column mean[2] = {{COLUMN_MEAN}, {COLUMN_MEAN}};
	char name[PERCENTILE_KEY_MAX];
	int err = 0;

	for (unsigned i = 0; i < a->percentiles.count && err == 0; i++) {
		for (unsigned k = 0; k < b->percentiles.count; k++) {
			const struct column at[2] = {{(int)i}, {(int)k}};
			if (!same(a->percentiles.at[i], b->percentiles.at[k]))
				continue;
			snprintf(
			    name, sizeof(name), "p%.9g", a->percentiles.at[i]);
			err = compare_column(c, name, s, runs, at);
		}
	}
	if (err == 0)
		err = compare_column(c, "max", s, runs, most);
	if (err == 0)
		err = compare_column(c, "mean", s, runs, mean);
	return err;
}

int
compare_runs(const struct run *a, const struct run *b, struct comparison *out)
{
	struct series_pair s = {0};
	int err;

	memset(out, 0, sizeof(*out));
	if (a->count > SHIFT_MAX || b->count > SHIFT_MAX)
		return -EINVAL;
	out->paired = same_schedules(a, b);
	out->usable =
	    strcmp(a->verdict, "bad") != 0 && strcmp(b->verdict, "bad") != 0;
	warn(out, a, b);
	s.a_ns = calloc(a->count + 1, sizeof(*s.a_ns));
	s.b_ns = calloc(b->count + 1, sizeof(*s.b_ns));
	err = s.a_ns == NULL || s.b_ns == NULL ? -ENOMEM
					       : compare_all(out, &s, a, b);
	free(s.a_ns);
	free(s.b_ns);
	return err == 0 && out->count == 0 ? -EINVAL : err;
}

static void
print_row(FILE *out, const struct comparison *c, const struct compare_row *row)
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
	    "B is %s %s (%+.1f %%, 95 %% interval %+.1f to %+.1f %%, p %.2g)",
	    quantity_format_ns(distance_ns, t),
	    s->change < 0 ? "lower" : "higher", 100 * s->change, 100 * s->low,
	    100 * s->high, s->p);
	if (c->paired)
		fprintf(
		    out, ", lower in %zu of %zu pairs", s->lower, row->pairs);
	fprintf(out, "\n");
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
	fprintf(out, "%s\n",
	    c->paired ? "The same schedules: iterations are compared in pairs."
		      : "Different schedules: the runs are two samples.");
	if (c->warning[0] != '\0')
		fprintf(out, "Beware: %s.\n", c->warning);
	for (size_t i = 0; i < c->count; i++)
		print_row(out, c, &c->rows[i]);
	print_reasons(out, "A", a);
	print_reasons(out, "B", b);
	if (!c->usable)
		fprintf(out, "A run was bad: do not use this.\n");
}

static void
put_row(
    struct json *j, const struct comparison *c, const struct compare_row *row)
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
	if (c->paired)
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
	json_key_bool(j, "paired", c->paired);
	json_key_bool(j, "usable", c->usable);
	if (c->warning[0] != '\0')
		json_key_string(j, "warning", c->warning);
	json_key_array(j, "differences");
	for (size_t i = 0; i < c->count; i++)
		put_row(j, c, &c->rows[i]);
	json_array_end(j);
	json_object_end(j);
}
