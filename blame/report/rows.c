/* rows.c: rows into sets.  The head of a table names its columns; unknown ones
 * are causes if they follow "kernel". */
#include "blame/report/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "talechain/events/cause.h"
#include "talechain/events/counters.h"

#define ROWS_MAX 100000 /* accounts of a route; more are thinned */
#define COLUMNS_MAX 128
#define COUNTED_MAX 1e15
#define OTHER "other" /* the route of all others */

/* Values that each table has; those of counters follow. */
static const struct blame_value values[] = {
    {"in_flight", BLAME_GROUP_LOAD, -1, false},
    {"attempts", BLAME_GROUP_NONE, -1, false},
    {"new_connection", BLAME_GROUP_NONE, -1, false},
};

static const enum blame_kind kinds[] = {
#define TALE_X(symbol, code, label, kind, bar, blame, ...) \
	[TALE_CAUSE_##symbol] = BLAME_##blame,
    TALE_CAUSES(TALE_X)
#undef TALE_X
};

/* --- what rows consist of ------------------------------------------------- */

/* Add a cause.  An unknown code comes from another version: it is added as a
 * hazard that needs no signals. */
static void
cause_add(struct blame_rows *r, const char *code)
{
	int known = tale_cause_find(code);
	unsigned c = r->causes++;

	if (known >= 0) {
		r->cause[c] = (struct blame_cause){tale_causes[known].code,
		    tale_causes[known].label, kinds[known]};
		r->needs[c] = tale_causes[known].needs;
	} else {
		blame_rows_name(r->code[c], sizeof(r->code[c]), code);
		r->cause[c] =
		    (struct blame_cause){r->code[c], r->code[c], BLAME_HAZARD};
		r->needs[c] = TALE_NEEDS_NOTHING;
	}
	if (blame_rows_needs_kernel(r, c))
		r->kernel |= UINT64_C(1) << c;
}

bool
blame_rows_needs_kernel(const struct blame_rows *r, unsigned cause)
{
	return r->needs[cause] == TALE_NEEDS_KERNEL ||
	       r->needs[cause] == TALE_NEEDS_RATES;
}

static enum blame_group
group_of(enum talechain_counter_group group)
{
	static const enum blame_group groups[] = {
	    [TALECHAIN_GROUP_NONE] = BLAME_GROUP_NONE,
	    [TALECHAIN_GROUP_INST] = BLAME_GROUP_INST,
	    [TALECHAIN_GROUP_CACHE] = BLAME_GROUP_CACHE,
	    [TALECHAIN_GROUP_CYCLE] = BLAME_GROUP_CYCLE,
	};

	return groups[group];
}

static int
begin(struct blame_rows *r, uint32_t counters)
{
	static const struct blame_cause total = {"total", "total", BLAME_BASE};
	static const struct blame_shape totals = {
	    .cause = &total, .causes = 1, .rows_max = ROWS_MAX};

	memset(r, 0, sizeof(*r));
	memcpy(r->value, values, sizeof(values));
	r->values = COUNT(values);
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		const struct talechain_counter_kind *k =
		    talechain_counter_kind(i);

		r->place[i] = -1;
		if ((counters >> i & 1) == 0)
			continue;
		r->place[i] = (int)r->values;
		r->unit[r->values] = talechain_counter_unit(i);
		r->value[r->values++] =
		    (struct blame_value){k->code, group_of(k->group),
			k->parent < 0 ? -1 : r->place[k->parent], true};
	}
	return blame_new(&r->all, &totals);
}

int
blame_rows_begin(struct blame_rows *r, uint32_t counters)
{
	int err = begin(r, counters);

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		cause_add(r, tale_causes[c].code);
	return err;
}

void
blame_rows_name(char *out, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	snprintf(out, size, "%s", text);
	if (n == size)
		memcpy(out + size - 4, "...", 4);
	for (; *out != '\0'; out++)
		if (*out < ' ' || *out > '~')
			*out = '?';
}

/* --- rows ----------------------------------------------------------------- */

static uint16_t
server_of(struct blame_rows *r, const char *text)
{
	char name[sizeof(r->server[0])];
	unsigned i = 0;

	blame_rows_name(name, sizeof(name), text);
	while (i < r->servers && strcmp(r->server[i], name) != 0)
		i++;
	if (i == r->servers && i < BLAME_SERVERS - 1)
		memcpy(r->server[r->servers++], name, sizeof(name));
	return (uint16_t)i;
}

static uint64_t
route_hash(const char *text, size_t n)
{
	return hash_bytes(text, n) | 1;
}

void
blame_rows_offer(
    struct blame_rows *r, const char *route, size_t n, double weight)
{
	if (weight >= 1 && weight <= BLAME_WEIGHT_MAX)
		busiest_add(r->busiest, COUNT(r->busiest), route_hash(route, n),
		    (uint64_t)weight);
}

/* The route with that name, added if it is new and has room, else "other".
 * NULL: no memory. */
static struct blame_route *
route_of(struct blame_rows *r, const char *text)
{
	struct blame_shape shape = {.cause = r->cause,
	    .causes = r->causes,
	    .value = r->value,
	    .values = r->values,
	    .rows_max = ROWS_MAX};
	struct blame_route *route;
	char name[sizeof(route->name)];

	if (busiest_find(r->busiest, BLAME_ROUTES - 1,
		route_hash(text, strlen(text))) == NULL)
		text = OTHER;
	blame_rows_name(name, BLAME_ROUTE, text);
	for (unsigned i = 0; i < r->routes; i++)
		if (strcmp(r->route[i].name, name) == 0)
			return &r->route[i];
	/* Only names with equal hashes can exceed BLAME_ROUTES. */
	if (strcmp(name, OTHER) == 0)
		r->others = true;
	else if (r->routes + (r->others ? 0u : 1u) == BLAME_ROUTES)
		return route_of(r, OTHER);
	route = &r->route[r->routes];
	if (blame_new(&route->set, &shape) != 0)
		return NULL;
	memcpy(route->name, name, sizeof(name));
	route->number = r->routes++;
	return route;
}

/* Keep an id.  Returns its number, or -ENOMEM. */
static int64_t
id_keep(struct blame_rows *r, const char *id)
{
	void *grown =
	    array_reserve(r->id, &r->room, r->lines + 1, sizeof(*r->id));

	if (grown == NULL)
		return -ENOMEM;
	r->id = grown;
	snprintf(r->id[r->lines], sizeof(r->id[0]), "%s", id);
	return (int64_t)r->lines++;
}

/* A number as a value of an account: NaN if it is not known. */
static double
value_of(int64_t number)
{
	return number < 0 ? (double)NAN : (double)number;
}

static void
time_see(struct blame_rows *r, int64_t end_ns)
{
	if (r->oldest_ns == 0 || end_ns < r->oldest_ns)
		r->oldest_ns = end_ns;
	if (end_ns > r->newest_ns)
		r->newest_ns = end_ns;
}

int
blame_rows_add(struct blame_rows *r, struct blame_row *row)
{
	int64_t others = row->in_flight > INT32_MAX ? -1 : row->in_flight - 1;
	struct blame_account a = {.end_ns = row->end_ns,
	    .total_ns = row->total_ns,
	    .weight = row->weight,
	    .seen = row->kernel ? UINT64_MAX : ~r->kernel,
	    .in_flight = others < 0 ? -1 : (int32_t)others,
	    .server = server_of(r, row->server),
	    .flags =
		(row->attempts < 0 ? 0
				   : (uint32_t)row->attempts & BLAME_ATTEMPTS) |
		(row->new_connection == 1 ? BLAME_NEW : 0)};
	int64_t id = id_keep(r, row->id);
	struct blame_route *route;
	int err;

	if (!r->chosen)
		busiest_keep(r->busiest, COUNT(r->busiest), BLAME_ROUTES - 1);
	r->chosen = true;
	route = route_of(r, row->route);
	if (id < 0 || route == NULL)
		return -ENOMEM;
	a.id = (uint64_t)id;
	time_see(r, a.end_ns);
	row->value[0] = value_of(a.in_flight);
	row->value[1] = value_of(row->attempts);
	row->value[2] = value_of(row->new_connection);
	err = blame_add(route->set, &a, row->cause_ns, row->value);
	a.route = (uint16_t)route->number;
	if (err == 0)
		err = blame_add(r->all, &a, &a.total_ns, NULL);
	if (err == 0)
		route->weight += a.weight;
	return err;
}

static int
route_compare(const void *a, const void *b)
{
	const struct blame_route *x = a, *y = b;

	return COMPARE(y->weight, x->weight) ?: strcmp(x->name, y->name);
}

void
blame_rows_end(struct blame_rows *r)
{
	qsort(r->route, r->routes, sizeof(r->route[0]), route_compare);
}

void
blame_rows_fini(struct blame_rows *r)
{
	for (unsigned i = 0; i < r->routes; i++)
		blame_free(&r->route[i].set);
	blame_free(&r->all);
	free(r->id);
	*r = (struct blame_rows){0};
}

int
blame_rows_cause(const struct blame_rows *r, const char *code, size_t n)
{
	for (unsigned c = 0; c < r->causes; c++)
		if (strlen(r->cause[c].code) == n &&
		    strncmp(r->cause[c].code, code, n) == 0)
			return (int)c;
	return -1;
}

/* --- a table -------------------------------------------------------------- */

enum csv_column {
	COLUMN_ID,
	COLUMN_END,
	COLUMN_TOTAL,
	COLUMN_WEIGHT,
	COLUMN_ROUTE,
	COLUMN_SERVER,
	COLUMN_IN_FLIGHT,
	COLUMN_ATTEMPTS,
	COLUMN_NEW,
	COLUMN_KERNEL, /* the causes follow */
	COLUMN_COUNT
};
static const char *const names[COLUMN_COUNT] = {"id", "end_ns", "total_ns",
    "weight", "route", "server", "in_flight", "attempts", "new_connection",
    "kernel"};

/* A table that is being read. */
struct csv_table {
	struct blame_rows *r;
	unsigned number; /* of the current line */
	unsigned at[COLUMN_COUNT];
	unsigned columns, last; /* last: of those that lines_offer reads */
	unsigned counter[TALECHAIN_COUNTER_COUNT]; /* column of each */
};

static int
complain(const struct csv_table *t, const char *what)
{
	snprintf(t->r->error, sizeof(t->r->error), "accounts, line %u: %s",
	    t->number, what);
	return -EINVAL;
}

/* Split the next non-empty line of *text into fields.  Returns their number; 0:
 * no more lines; COLUMNS_MAX + 1: too many fields. */
static unsigned
line_split(struct csv_table *t, char **text, char *field[COLUMNS_MAX])
{
	char *line, *one;
	unsigned n = 0;

	do {
		line = strsep(text, "\n");
		if (line == NULL)
			return 0;
		line[strcspn(line, "\r")] = '\0';
		t->number++;
	} while (*line == '\0');
	while ((one = strsep(&line, ",")) != NULL) {
		if (n == COLUMNS_MAX)
			return COLUMNS_MAX + 1;
		field[n++] = one;
	}
	return n;
}

/* The first of n columns with that name; COLUMNS_MAX: none. */
static unsigned
column_find(char *field[COLUMNS_MAX], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n && i < COLUMNS_MAX; i++)
		if (strcmp(field[i], name) == 0)
			return i;
	return COLUMNS_MAX;
}

static int
head_read(struct csv_table *t, char *field[COLUMNS_MAX], unsigned n)
{
	uint32_t counters = 0;
	char what[64];
	unsigned kernel;

	memset(t->r, 0, sizeof(*t->r));
	for (unsigned c = 0; c < COLUMN_COUNT; c++) {
		t->at[c] = column_find(field, n, names[c]);
		snprintf(what, sizeof(what), "no column \"%s\"", names[c]);
		if (t->at[c] == COLUMNS_MAX)
			return complain(t, what);
	}
	t->columns = n;
	t->last = t->at[COLUMN_END];
	if (t->at[COLUMN_WEIGHT] > t->last)
		t->last = t->at[COLUMN_WEIGHT];
	if (t->at[COLUMN_ROUTE] > t->last)
		t->last = t->at[COLUMN_ROUTE];
	kernel = t->at[COLUMN_KERNEL];
	if (n > COLUMNS_MAX || n - kernel - 1 > BLAME_CAUSES || n - kernel == 1)
		return complain(t, "no causes, or too many, after \"kernel\"");
	/* Counters stand before "kernel", if at all. */
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		t->counter[i] =
		    column_find(field, kernel, talechain_counter_kind(i)->code);
		if (t->counter[i] < COLUMNS_MAX)
			counters |= UINT32_C(1) << i;
	}
	if (begin(t->r, counters) != 0)
		return complain(t, "out of memory");
	for (unsigned i = kernel + 1; i < n; i++)
		cause_add(t->r, field[i]);
	return 0;
}

/* A whole number of at least 0, or -1. */
static int64_t
number_of(const char *text)
{
	char *end;
	long long v;

	if (text[0] == '0' && text[1] == '\0')
		return 0; /* most times of most causes */
	errno = 0;
	v = strtoll(text, &end, 10);
	return end == text || *end != '\0' || errno != 0 ? -1 : v;
}

/* Read a weight; 0, which is refused, if it is not a number. */
static double
weight_of(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	return *end != '\0' ? 0 : v;
}

/* A counter's value; NaN: not counted, or no such number. */
static double
counted_of(const char *text)
{
	char *end;
	double v = strtod(text, &end);

	return end == text || *end != '\0' || !(v >= 0 && v <= COUNTED_MAX)
		   ? (double)NAN
		   : v;
}

/* Offer the routes of all lines.  Returns when the latest one ended.  A line
 * that is no account is reported when it is read. */
static int64_t
lines_offer(struct csv_table *t, const char *text)
{
	int64_t newest_ns = 0, end_ns = 0;

	while (*text != '\0') {
		const char *field = text, *route = NULL;
		double weight = 0;
		size_t n = 0;

		for (unsigned i = 0; i <= t->last; i++) {
			size_t length = strcspn(field, ",\r\n");

			if (i == t->at[COLUMN_END])
				end_ns = strtoll(field, NULL, 10);
			if (i == t->at[COLUMN_WEIGHT])
				weight = strtod(field, NULL);
			if (i == t->at[COLUMN_ROUTE]) {
				route = field;
				n = length;
			}
			if (field[length] != ',')
				break;
			field += length + 1;
		}
		if (route != NULL)
			blame_rows_offer(t->r, route, n, weight);
		if (end_ns > newest_ns)
			newest_ns = end_ns;
		text = field + strcspn(field, "\n");
		text += *text == '\n';
	}
	return newest_ns;
}

static int
line_read(struct csv_table *t, char **field, int64_t from_ns, int64_t to_ns)
{
	const unsigned *at = t->at;
	struct blame_rows *r = t->r;
	struct blame_row row = {.id = field[at[COLUMN_ID]],
	    .route = field[at[COLUMN_ROUTE]],
	    .server = field[at[COLUMN_SERVER]],
	    .end_ns = number_of(field[at[COLUMN_END]]),
	    .total_ns = number_of(field[at[COLUMN_TOTAL]]),
	    .weight = weight_of(field[at[COLUMN_WEIGHT]]),
	    .in_flight = number_of(field[at[COLUMN_IN_FLIGHT]]),
	    .attempts = number_of(field[at[COLUMN_ATTEMPTS]]),
	    .new_connection = number_of(field[at[COLUMN_NEW]]),
	    .kernel = strcmp(field[at[COLUMN_KERNEL]], "1") == 0};
	int err;

	if (row.end_ns < 0)
		return complain(t, "end_ns is no time");
	if (row.end_ns < from_ns || (to_ns != 0 && row.end_ns >= to_ns))
		return 0;
	for (unsigned c = 0; c < r->causes; c++)
		row.cause_ns[c] = number_of(field[at[COLUMN_KERNEL] + 1 + c]);
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if (r->place[i] >= 0)
			row.value[r->place[i]] =
			    counted_of(field[t->counter[i]]);
	err = blame_rows_add(r, &row);
	if (err == 0)
		return 0;
	return complain(
	    t, err == -ENOMEM
		   ? "out of memory"
		   : "times do not add up, or a number is out of range");
}

int
blame_rows_read(
    struct blame_rows *r, char *text, int64_t length_ns, int64_t until_ns)
{
	struct csv_table t = {.r = r};
	char *field[COLUMNS_MAX];
	int64_t to_ns = 0;
	unsigned n = line_split(&t, &text, field);
	int err = head_read(&t, field, n);

	if (err == 0 && text != NULL)
		to_ns = lines_offer(&t, text) - until_ns;
	while (err == 0 && (n = line_split(&t, &text, field)) > 0)
		err = n == t.columns
			  ? line_read(&t, field,
				length_ns > 0 ? to_ns - length_ns : 0,
				until_ns > 0 ? to_ns : 0)
			  : complain(&t, "not as many fields as the first "
					 "line");
	blame_rows_end(r);
	return err;
}
