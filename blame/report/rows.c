/* rows.c: the table's head says where everything is; columns that are
 * not known are causes if they follow "kernel". */
#include "blame/report/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/busiest.h"
#include "base/hash.h"
#include "talechain/events/cause.h"
#include "talechain/events/counters.h"

#define ROWS_MAX 100000 /* of a route; more are thinned */
#define COLUMNS_MAX 128
#define COUNTED_MAX 1e15
#define ROUTES_SEEN 512 /* to find the busiest */
#define OTHER "other"	/* of the others */

/* That each table has; counters follow. */
static const struct blame_value values[] = {
    {"in_flight", BLAME_GROUP_LOAD, -1, false},
    {"attempts", BLAME_GROUP_NONE, -1, false},
    {"new_connection", BLAME_GROUP_NONE, -1, false},
};

enum column {
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
struct table {
	struct blame_rows *r;
	unsigned number; /* of the line */
	unsigned at[COLUMN_COUNT];
	unsigned columns;
	unsigned counter[TALECHAIN_COUNTER_COUNT]; /* columns */
	uint64_t kernel; /* causes that need the kernel's events */
	struct busiest route[ROUTES_SEEN]; /* those that are kept are first */
	bool others;			   /* have a route already */
};

static const enum blame_kind kinds[] = {
#define TALE_X(symbol, code, label, kind, bar, blame, ...) \
	[TALE_CAUSE_##symbol] = BLAME_##blame,
    TALE_CAUSES(TALE_X)
#undef TALE_X
};

/* A column after "kernel".  A code that is not known is that of another
 * version: it is taken for what may go as a whole, and needs nothing. */
static void
cause_add(struct table *t, char *code)
{
	struct blame_rows *r = t->r;
	int known = tale_cause_find(code);

	for (char *c = code; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			*c = '?'; /* codes are printed as they are */
	r->cause[r->causes] = (struct blame_cause){code, code, BLAME_HAZARD};
	r->needs[r->causes] = TALE_NEEDS_NOTHING;
	if (known >= 0) {
		r->cause[r->causes].label = tale_causes[known].label;
		r->cause[r->causes].kind = kinds[known];
		r->needs[r->causes] = tale_causes[known].needs;
	}
	if (blame_rows_needs_kernel(r, r->causes))
		t->kernel |= UINT64_C(1) << r->causes;
	r->causes++;
}

bool
blame_rows_needs_kernel(const struct blame_rows *r, unsigned cause)
{
	return r->needs[cause] == TALE_NEEDS_KERNEL ||
	       r->needs[cause] == TALE_NEEDS_RATES;
}

static int
complain(const struct table *t, const char *what)
{
	snprintf(t->r->error, sizeof(t->r->error), "accounts, line %u: %s",
	    t->number, what);
	return -EINVAL;
}

/* Cut the next line that is not empty out of *text, and that into fields.  How
 * many; 0: the end; COLUMNS_MAX + 1: more than that. */
static unsigned
line_split(struct table *t, char **text, char *field[COLUMNS_MAX])
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

/* The values that the table has: counters stand before "kernel", if at all. */
static void
values_find(struct table *t, char *field[COLUMNS_MAX])
{
	int at[TALECHAIN_COUNTER_COUNT];
	struct blame_rows *r = t->r;

	memcpy(r->value, values, sizeof(values));
	r->values = COUNT(values);
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		const struct talechain_counter_kind *k =
		    talechain_counter_kind(i);
		unsigned column = 0;

		at[i] = -1;
		while (column < t->at[COLUMN_KERNEL] &&
		       strcmp(field[column], k->code) != 0)
			column++;
		if (column == t->at[COLUMN_KERNEL])
			continue;
		at[i] = (int)r->values;
		t->counter[r->values - COUNT(values)] = column;
		r->unit[r->values] = talechain_counter_unit(i);
		r->value[r->values++] =
		    (struct blame_value){k->code, group_of(k->group),
			k->parent < 0 ? -1 : at[k->parent], true};
	}
}

static int
head_read(struct table *t, char *field[COLUMNS_MAX], unsigned n)
{
	char what[64];

	for (unsigned c = 0; c < COLUMN_COUNT; c++) {
		t->at[c] = COLUMNS_MAX;
		for (unsigned i = 0; i < n && i < COLUMNS_MAX; i++)
			if (strcmp(field[i], names[c]) == 0)
				t->at[c] = i;
		snprintf(what, sizeof(what), "no column \"%s\"", names[c]);
		if (t->at[c] == COLUMNS_MAX)
			return complain(t, what);
	}
	t->columns = n;
	if (n > COLUMNS_MAX || n - t->at[COLUMN_KERNEL] - 1 > BLAME_CAUSES ||
	    n - t->at[COLUMN_KERNEL] == 1)
		return complain(t, "no causes, or too many, after \"kernel\"");
	values_find(t, field);
	for (unsigned i = t->at[COLUMN_KERNEL] + 1; i < n; i++)
		cause_add(t, field[i]);
	return 0;
}

/* Values that are not times, as blame has them. */
static double
value_of(int64_t number)
{
	return number < 0 ? (double)NAN : (double)number;
}

/* A whole number of at least 0, or -1. */
static int64_t
number_of(const char *text)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	return end == text || *end != '\0' || errno != 0 ? -1 : v;
}

/* 0, which is none: what is not a number. */
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

/* The column counts the request itself, 0: not known; blame, the others. */
static int32_t
others_of(const char *text)
{
	int64_t n = number_of(text);

	return n < 0 || n > INT32_MAX ? -1 : (int32_t)n - 1;
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

/* Find the routes with most requests: the others are one.  The text is that of
 * the lines; a line that is no account is complained of later. */
static void
routes_choose(struct table *t, const char *text)
{
	while (*text != '\0') {
		const char *field = text, *route = NULL;
		double weight = 0;
		size_t n = 0, line = strcspn(text, "\n");

		for (unsigned i = 0; i < t->columns; i++) {
			size_t length = strcspn(field, ",\r\n");

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
		if (route != NULL && weight >= 1 && weight <= BLAME_WEIGHT_MAX)
			busiest_add(t->route, ROUTES_SEEN, route_hash(route, n),
			    (uint64_t)weight);
		text += line + (text[line] == '\n');
	}
	busiest_keep(t->route, ROUTES_SEEN, BLAME_ROUTES - 1);
}

/* The route with that name, new if needed, or that of the others; NULL: no
 * memory. */
static struct blame_route *
route_of(struct table *t, const char *text)
{
	struct blame_rows *r = t->r;
	struct blame_shape shape = {.cause = r->cause,
	    .causes = r->causes,
	    .value = r->value,
	    .values = r->values,
	    .rows_max = ROWS_MAX};
	struct blame_route *route;
	char name[sizeof(route->name)];

	if (busiest_find(t->route, BLAME_ROUTES - 1,
		route_hash(text, strlen(text))) == NULL)
		text = OTHER;
	blame_rows_name(name, BLAME_ROUTE, text);
	for (unsigned i = 0; i < r->routes; i++)
		if (strcmp(r->route[i].name, name) == 0)
			return &r->route[i];
	/* There is no room if names from outside have the same hash. */
	if (strcmp(name, OTHER) == 0)
		t->others = true;
	else if (r->routes + (t->others ? 0u : 1u) == BLAME_ROUTES)
		return route_of(t, OTHER);
	route = &r->route[r->routes];
	if (blame_new(&route->set, &shape) != 0)
		return NULL;
	memcpy(route->name, name, sizeof(name));
	route->number = r->routes++;
	return route;
}

/* Remember the id of a line; its number, or -ENOMEM. */
static int64_t
id_keep(struct blame_rows *r, char *id)
{
	if (r->lines == r->room) {
		size_t room = r->room == 0 ? 1024 : 2 * r->room;
		char **grown = reallocarray(r->line, room, sizeof(*grown));

		if (grown == NULL)
			return -ENOMEM;
		r->line = grown;
		r->room = room;
	}
	r->line[r->lines] = id;
	return (int64_t)r->lines++;
}

static int
account_add(struct table *t, struct blame_account *a, char **field)
{
	int64_t cause_ns[BLAME_CAUSES];
	struct blame_rows *r = t->r;
	double value[BLAME_VALUES];
	struct blame_route *route;
	int err;

	for (unsigned c = 0; c < r->causes; c++)
		cause_ns[c] = number_of(field[t->at[COLUMN_KERNEL] + 1 + c]);
	value[0] = value_of(a->in_flight);
	value[1] = value_of(number_of(field[t->at[COLUMN_ATTEMPTS]]));
	value[2] = value_of(number_of(field[t->at[COLUMN_NEW]]));
	for (unsigned i = COUNT(values); i < r->values; i++)
		value[i] = counted_of(field[t->counter[i - COUNT(values)]]);
	route = route_of(t, field[t->at[COLUMN_ROUTE]]);
	if (route == NULL)
		return complain(t, "out of memory");
	err = blame_add(route->set, a, cause_ns, value);
	if (err == -EINVAL)
		return complain(
		    t, "times do not add up, or a number is out of range");
	a->route = (uint16_t)route->number;
	if (err == 0 && r->all != NULL)
		err = blame_add(r->all, a, &a->total_ns, NULL);
	if (err != 0)
		return complain(t, "out of memory");
	route->weight += a->weight;
	return 0;
}

static int
line_read(struct table *t, char **field, int64_t from_ns, int64_t to_ns)
{
	struct blame_rows *r = t->r;
	struct blame_account a = {.end_ns = number_of(field[t->at[COLUMN_END]]),
	    .total_ns = number_of(field[t->at[COLUMN_TOTAL]]),
	    .weight = weight_of(field[t->at[COLUMN_WEIGHT]]),
	    .seen = strcmp(field[t->at[COLUMN_KERNEL]], "1") == 0 ? UINT64_MAX
								  : ~t->kernel,
	    .in_flight = others_of(field[t->at[COLUMN_IN_FLIGHT]]),
	    .server = server_of(r, field[t->at[COLUMN_SERVER]])};
	int64_t id, attempts = number_of(field[t->at[COLUMN_ATTEMPTS]]);

	if (a.end_ns < 0)
		return complain(t, "end_ns is no time");
	if (r->oldest_ns == 0 || a.end_ns < r->oldest_ns)
		r->oldest_ns = a.end_ns;
	if (a.end_ns > r->newest_ns)
		r->newest_ns = a.end_ns;
	if (a.end_ns < from_ns || (to_ns != 0 && a.end_ns >= to_ns))
		return 0;
	id = id_keep(r, field[t->at[COLUMN_ID]]);
	if (id < 0)
		return complain(t, "out of memory");
	a.id = (uint64_t)id;
	a.flags = (uint32_t)(attempts < 0 ? 0 : attempts) & BLAME_ATTEMPTS;
	if (number_of(field[t->at[COLUMN_NEW]]) == 1)
		a.flags |= BLAME_NEW;
	return account_add(t, &a, field);
}

static int
route_compare(const void *a, const void *b)
{
	const struct blame_route *x = a, *y = b;

	return COMPARE(y->weight, x->weight) ?: strcmp(x->name, y->name);
}

int
blame_rows_read(
    struct blame_rows *r, char *text, int64_t from_ns, int64_t to_ns)
{
	struct table t = {.r = r};
	char *field[COLUMNS_MAX];
	unsigned n = line_split(&t, &text, field);
	static const struct blame_cause total = {"total", "total", BLAME_BASE};
	static const struct blame_shape totals = {
	    .cause = &total, .causes = 1, .rows_max = ROWS_MAX};
	int err;

	memset(r, 0, sizeof(*r));
	err = head_read(&t, field, n);
	if (err == 0 && blame_new(&r->all, &totals) != 0)
		err = complain(&t, "out of memory");
	if (err == 0 && text != NULL)
		routes_choose(&t, text);
	while (err == 0 && (n = line_split(&t, &text, field)) > 0)
		err = n == t.columns ? line_read(&t, field, from_ns, to_ns)
				     : complain(&t, "not as many fields as "
						    "the first line");
	qsort(r->route, r->routes, sizeof(r->route[0]), route_compare);
	return err;
}

void
blame_rows_fini(struct blame_rows *r)
{
	for (unsigned i = 0; i < r->routes; i++)
		blame_free(&r->route[i].set);
	blame_free(&r->all);
	free(r->line);
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
