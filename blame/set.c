/* set.c: collecting accounts, and thinning them where there are too many.
 *
 * Rows, parts and values are three arrays of one order.  Only causes that occur
 * have parts: of the many that are known a service has a few.  Thinning leaves
 * out fast requests only, because the question is about the tail. */
#include "blame/set.h"

#include "base/array.h"
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int
blame_new(struct blame_set **out, const struct blame_shape *shape)
{
	struct blame_set *s;

	if (shape->causes == 0 || shape->causes > BLAME_CAUSES ||
	    shape->values > BLAME_VALUES || shape->rows_max < 1000 ||
	    shape->rows_max > UINT32_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return -ENOMEM;
	s->shape = *shape;
	*out = s;
	return 0;
}

void
blame_free(struct blame_set **sp)
{
	if (*sp == NULL)
		return;
	free((*sp)->row);
	free((*sp)->part);
	free((*sp)->value);
	free(*sp);
	*sp = NULL;
}

static bool
account_valid(const struct blame_set *s, const struct blame_account *a,
    const int64_t *cause_ns)
{
	int64_t left = a->total_ns;

	if (left < 0 || left > BLAME_TIME_MAX || a->end_ns > BLAME_TIME_MAX ||
	    a->end_ns < -BLAME_TIME_MAX || !(a->weight >= 1) ||
	    a->weight > BLAME_WEIGHT_MAX)
		return false;
	for (unsigned c = 0; c < s->shape.causes; c++) {
		if (cause_ns[c] < 0 || cause_ns[c] > left)
			return false;
		left -= cause_ns[c];
	}
	return left == 0;
}

/* Make room for so many rows and columns. */
static int
set_resize(struct blame_set *s, size_t room, unsigned columns)
{
	/* One more row, for set_permute. */
	void *grown = reallocarray(s->row, room + 1, sizeof(*s->row));

	if (grown == NULL)
		return -ENOMEM;
	s->row = grown;
	grown = reallocarray(s->part, (room + 1) * (columns > 0 ? columns : 1),
	    sizeof(*s->part));
	if (grown == NULL)
		return -ENOMEM;
	s->part = grown;
	grown = reallocarray(
	    s->value, (room + 1) * (s->shape.values + 1), sizeof(*s->value));
	if (grown == NULL)
		return -ENOMEM;
	s->value = grown;
	s->room = room;
	return 0;
}

static int
set_reserve(struct blame_set *s)
{
	size_t room = s->room == 0 ? 1024 : 2 * s->room;

	if (s->rows < s->room)
		return 0;
	if (room > s->shape.rows_max)
		room = s->shape.rows_max;
	return set_resize(s, room, s->columns);
}

/* Give a cause a column, which is zero in all rows so far. */
static int
column_add(struct blame_set *s, unsigned cause)
{
	unsigned was = s->columns, now = was + 1;
	int err = set_resize(s, s->room, now);

	if (err != 0)
		return err;
	for (size_t i = s->rows; i-- > 0;) {
		memmove(s->part + i * now, s->part + i * was,
		    was * sizeof(*s->part));
		s->part[i * now + was] = 0;
	}
	s->column[cause] = (uint8_t)was;
	s->cause[was] = (uint8_t)cause;
	s->columns = now;
	s->present |= UINT64_C(1) << cause;
	return 0;
}

static int
columns_add(struct blame_set *s, const int64_t *cause_ns)
{
	int err = 0;

	for (unsigned c = 0; err == 0 && c < s->shape.causes; c++)
		if (cause_ns[c] != 0 && (s->present >> c & 1) == 0)
			err = column_add(s, c);
	return err;
}

static void
row_move(struct blame_set *s, size_t to, size_t from)
{
	unsigned columns = s->columns, values = s->shape.values;

	if (to == from)
		return;
	s->row[to] = s->row[from];
	memcpy(s->part + to * columns, s->part + from * columns,
	    columns * sizeof(*s->part));
	if (values != 0)
		memcpy(s->value + to * values, s->value + from * values,
		    values * sizeof(*s->value));
}

/* Weight a fast row for the set's level; false: leave it out.  Its id decides,
 * so that nothing that the request did has an influence. */
static bool
row_level(const struct blame_set *s, struct blame_account *a)
{
	uint64_t seed = ~a->id; /* not the hash that selected it */

	if (s->level == 0 || a->total_ns > s->fast_ns)
		return true;
	a->weight = ldexp(a->weight, (int)(s->level - a->level));
	a->level = s->level;
	return (splitmix64(&seed) & ((UINT64_C(1) << s->level) - 1)) == 0;
}

/* Make room: count slower requests as fast ones, too; if that is not enough,
 * hold fewer of the fast ones. */
static int
set_thin(struct blame_set *s)
{
	size_t enough = s->shape.rows_max - s->shape.rows_max / 8;
	int err = blame_sort(s);

	if (err != 0)
		return err;
	s->fast_ns = s->row[s->rows - s->rows / 4].total_ns;
	for (;;) {
		size_t kept = 0;

		for (size_t i = 0; i < s->rows; i++)
			if (row_level(s, &s->row[i]))
				row_move(s, kept++, i);
		s->rows = kept;
		if (kept <= enough)
			return 0;
		if (++s->level == 63)
			return -ENOMEM;
	}
}

int
blame_add(struct blame_set *s, const struct blame_account *account,
    const int64_t *cause_ns, const double *value)
{
	struct blame_account row = *account;
	unsigned values = s->shape.values;
	int err;

	if (!account_valid(s, account, cause_ns))
		return -EINVAL;
	err = s->rows == s->shape.rows_max ? set_thin(s) : set_reserve(s);
	if (err != 0)
		return err;
	row.level = 0;
	if (!row_level(s, &row))
		return 0;
	err = columns_add(s, cause_ns);
	if (err != 0)
		return err;
	s->row[s->rows] = row;
	for (unsigned k = 0; k < s->columns; k++)
		s->part[s->rows * s->columns + k] = cause_ns[s->cause[k]];
	for (unsigned v = 0; v < values; v++)
		s->value[s->rows * values + v] =
		    value == NULL ? (double)NAN : value[v];
	s->rows++;
	s->sorted = false;
	return 0;
}

int
blame_select(const struct blame_set *s, int64_t from_ns, int64_t to_ns,
    struct blame_set **out)
{
	int err = blame_new(out, &s->shape);
	int64_t cause_ns[BLAME_CAUSES] = {0};

	for (size_t i = 0; err == 0 && i < s->rows; i++) {
		if (s->row[i].end_ns < from_ns || s->row[i].end_ns >= to_ns)
			continue;
		for (unsigned k = 0; k < s->columns; k++)
			cause_ns[s->cause[k]] = s->part[i * s->columns + k];
		err = blame_add(
		    *out, &s->row[i], cause_ns, s->value + i * s->shape.values);
	}
	return err;
}

size_t
blame_rows(const struct blame_set *s)
{
	return s->rows;
}

size_t
blame_bytes(const struct blame_set *s)
{
	return sizeof(*s) +
	       s->room * (sizeof(*s->row) + s->columns * sizeof(*s->part) +
			     (s->shape.values + 1) * sizeof(*s->value));
}

static int
row_compare(const void *a, const void *b, void *row)
{
	const struct blame_account *x =
	    (struct blame_account *)row + *(const uint32_t *)a;
	const struct blame_account *y =
	    (struct blame_account *)row + *(const uint32_t *)b;

	int order = COMPARE(x->total_ns, y->total_ns);

	if (order == 0)
		order = COMPARE(x->end_ns, y->end_ns);
	return order != 0 ? order : COMPARE(x->id, y->id);
}

/* Reorder the rows: row at[i] becomes row i. */
static void
set_permute(struct blame_set *s, uint32_t *at)
{
	/* The place after the last row holds the row that is moved last. */
	for (size_t i = 0; i < s->rows; i++) {
		size_t to = i;

		if (at[i] == i)
			continue;
		row_move(s, s->rows, i);
		while (at[to] != i) {
			size_t from = at[to];

			row_move(s, to, from);
			at[to] = (uint32_t)to;
			to = from;
		}
		row_move(s, to, s->rows);
		at[to] = (uint32_t)to;
	}
}

int
blame_sort(struct blame_set *s)
{
	uint32_t *at;

	if (s->sorted)
		return 0;
	at = malloc((s->rows + 1) * sizeof(*at));
	if (at == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->rows; i++)
		at[i] = (uint32_t)i;
	qsort_r(at, s->rows, sizeof(*at), row_compare, s->row);
	set_permute(s, at);
	free(at);
	s->sorted = true;
	return 0;
}
