/* view.c: which routes are shown, and where the tail of one is. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "blame/report/report.h"
#include "talechain/events/cause.h"

#define SEED UINT64_C(0x7461696c6f72) /* the same intervals each time */
#define PLACES 64
#define PART_SHOWN 0.01 /* of q(p) - q(0.5) */
/* What is worth a line: more of the tail than of all requests. */
#define SPOT_MORE 0.1
#define SPOT_TIMES 1.25

int
blame_view_percentile(struct blame_view *v, const char *text)
{
	char *end;
	double p = 99;

	if (text != NULL) {
		p = strtod(text, &end);
		if (end == text || *end != '\0' || !(p > 50) || !(p < 100))
			return -EINVAL;
	}
	v->p = p / 100;
	snprintf(v->name, sizeof(v->name), "p%.6g", p);
	return 0;
}

const struct blame_route *
blame_view_route(const struct blame_view *v, unsigned *at)
{
	if (v->route == NULL && *at >= BLAME_ROUTES_SHOWN)
		return NULL;
	while (*at < v->rows.routes) {
		const struct blame_route *route = &v->rows.route[(*at)++];

		if (v->route == NULL || strcmp(v->route, route->name) == 0)
			return route;
	}
	return NULL;
}

const struct blame_route *
blame_view_then(const struct blame_view *v, const struct blame_route *route)
{
	for (unsigned i = 0; i < v->then.routes; i++)
		if (strcmp(v->then.route[i].name, route->name) == 0)
			return &v->then.route[i];
	return NULL;
}

struct blame_options
blame_view_options(const struct blame_view *v)
{
	return (struct blame_options){
	    .p = v->p, .resamples = v->resamples, .seed = SEED};
}

bool
blame_view_compares(const struct blame_view *v)
{
	return v->then.routes > 0 || v->then.all != NULL;
}

bool
blame_view_shows(const struct blame_report *r, unsigned line)
{
	return fabs((double)r->line[line].excess_ns) >=
	       PART_SHOWN * (double)(r->q_ns - r->p50_ns);
}

/* Append to a sentence; what does not fit is cut. */
static void
append(char out[BLAME_CODES], const char *text)
{
	size_t at = strlen(out);

	snprintf(out + at, BLAME_CODES - at, "%s", text);
}

bool
blame_view_unseen(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	double seen = 1;
	const char *before = "there: ";

	for (unsigned c = 0; c < v->rows.causes; c++)
		if (blame_rows_needs_kernel(&v->rows, c))
			seen = fmin(seen, r->seen[c]);
	if (seen >= 0.995)
		return false;
	snprintf(out, BLAME_CODES,
	    "Without kernel events in %.0f %% of the tail; not observed ",
	    100 * (1 - seen));
	for (unsigned c = 0; c < v->rows.causes; c++) {
		if (!blame_rows_needs_kernel(&v->rows, c))
			continue;
		append(out, before);
		append(out, v->rows.cause[c].code);
		before = ", ";
	}
	append(out, ".");
	return true;
}

bool
blame_view_absent(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	unsigned n = 0, k;

	snprintf(out, BLAME_CODES, "In no request: ");
	for (unsigned c = 0; c < v->rows.causes; c++) {
		if (v->rows.needs[c] != TALE_NEEDS_RUNTIME &&
		    v->rows.needs[c] != TALE_NEEDS_RATES)
			continue;
		for (k = 0; k < r->lines && r->line[k].cause != c;)
			k++;
		if (k < r->lines)
			continue;
		append(out, n++ == 0 ? "" : ", ");
		append(out, v->rows.cause[c].code);
	}
	append(out, ": they did not occur, or cannot be observed here.");
	return n > 0;
}

bool
blame_view_apart(const struct blame_view *v, const struct blame_latency *l,
    const struct blame_report *r, char out[BLAME_APART])
{
	double q_ns = (double)blame_exact_quantile(l, v->p);

	if (r->resamples == 0 ||
	    (q_ns >= (double)r->q.low_ns &&
		q_ns <= (double)r->q.high_ns * (1 + BLAME_RESOLUTION)))
		return false;
	snprintf(out, BLAME_APART,
	    "The accounts' %s, which is divided among causes below, is %s than "
	    "that of all requests.",
	    v->name, q_ns > (double)r->q.high_ns ? "lower" : "higher");
	return true;
}

const char *
blame_view_sleep(const struct blame_view *v, const struct blame_report *r)
{
	int sleep = blame_rows_cause(&v->rows, "sleep", strlen("sleep"));

	for (unsigned i = 0; i < r->lines; i++)
		if ((int)r->line[i].cause == sleep &&
		    (double)r->line[i].excess_ns >=
			PART_SHOWN * (double)(r->q_ns - r->p50_ns))
			return "A server sleeps until a timer, another service "
			       "or a pool wakes it: the examples say which.";
	return NULL;
}

/* --- where ---------------------------------------------------------------- */

/* Slices of time, so that there are some of them: ten minutes, hours, days. */
static uint32_t
time_slice_s(const struct blame_rows *rows)
{
	int64_t span_s = (rows->newest_ns - rows->oldest_ns) / NS_PER_S;

	if (span_s < INT64_C(3) * 3600)
		return 600;
	return span_s < INT64_C(3) * 86400 ? 3600 : 86400;
}

static uint32_t
key_route(const struct blame_account *a, void *user)
{
	(void)user;
	return a->route;
}

static uint32_t
key_server(const struct blame_account *a, void *user)
{
	(void)user;
	return a->server;
}

static uint32_t
key_attempts(const struct blame_account *a, void *user)
{
	(void)user;
	return a->flags & BLAME_ATTEMPTS;
}

static uint32_t
key_new(const struct blame_account *a, void *user)
{
	(void)user;
	return a->flags & BLAME_NEW;
}

static uint32_t
key_time(const struct blame_account *a, void *user)
{
	const uint32_t *slice_s = user;

	return (uint32_t)(a->end_ns / NS_PER_S / *slice_s);
}

static void
value_route(const struct blame_rows *rows, uint32_t key, char *out, size_t n)
{
	for (unsigned i = 0; i < rows->routes; i++)
		if (rows->route[i].number == key)
			snprintf(out, n, "%.*s", BLAME_ROUTE - 1,
			    rows->route[i].name);
}

static void
value_server(const struct blame_rows *rows, uint32_t key, char *out, size_t n)
{
	if (key >= rows->servers)
		snprintf(out, n, "others");
	else
		snprintf(out, n, "%s",
		    rows->server[key][0] != '\0' ? rows->server[key] : "none");
}

static void
value_attempts(const struct blame_rows *rows, uint32_t key, char *out, size_t n)
{
	(void)rows;
	snprintf(out, n, "%u", key);
}

static void
value_new(const struct blame_rows *rows, uint32_t key, char *out, size_t n)
{
	(void)rows;
	snprintf(out, n, "%s", key != 0 ? "new" : "kept");
}

static void
value_time(const struct blame_rows *rows, uint32_t key, char *out, size_t n)
{
	time_t at = (time_t)key * time_slice_s(rows);
	struct tm tm;

	if (gmtime_r(&at, &tm) == NULL ||
	    strftime(out, n, "from %m-%d %H:%MZ", &tm) == 0)
		snprintf(out, n, "?");
}

static const struct field {
	const char *name;
	uint32_t (*key)(const struct blame_account *a, void *user);
	void (*value)(
	    const struct blame_rows *rows, uint32_t key, char *out, size_t n);
} by_route = {"route", key_route, value_route},
  fields[BLAME_SPOTS] = {
      {"server", key_server, value_server},
      {"attempts", key_attempts, value_attempts},
      {"connection", key_new, value_new},
      {"time", key_time, value_time},
};

static bool
spot_find(const struct blame_view *v, struct blame_set *set,
    const struct field *f, struct blame_spot *out)
{
	struct blame_options o = blame_view_options(v);
	struct blame_place place[PLACES];
	uint32_t slice_s = time_slice_s(&v->rows);
	int n = (int)blame_where(set, v->p, f->key, &slice_s, place, PLACES);
	int most = 0;

	for (int i = 1; i < n && i < PLACES; i++)
		if (place[i].tail - place[i].requests >
		    place[most].tail - place[most].requests)
			most = i;
	if (n < 2 || place[most].tail < place[most].requests + SPOT_MORE ||
	    place[most].tail < place[most].requests * SPOT_TIMES)
		return false;
	if (blame_where_interval(set, &o, f->key, &slice_s, &place[most]) !=
		0 ||
	    place[most].tail_low <= place[most].requests)
		return false;
	*out = (struct blame_spot){.field = f->name, .place = place[most]};
	f->value(&v->rows, place[most].key, out->value, sizeof(out->value));
	return true;
}

unsigned
blame_spots(const struct blame_view *v, const struct blame_route *route,
    size_t beyond, struct blame_spot *out)
{
	unsigned n = 0;

	if (beyond < BLAME_BEYOND)
		return 0;
	for (unsigned i = 0; i < BLAME_SPOTS; i++)
		n += spot_find(v, route->set, &fields[i], &out[n]);
	return n;
}

bool
blame_all(const struct blame_view *v, int64_t *q_ns, struct blame_spot *out)
{
	struct blame_options o = {.p = v->p};
	struct blame_report *r = malloc(sizeof(*r));
	bool found = false;

	if (r != NULL && blame_analyze(v->rows.all, &o, r) == 0) {
		*q_ns = r->q_ns;
		found = r->beyond >= BLAME_BEYOND &&
			spot_find(v, v->rows.all, &by_route, out);
	}
	free(r);
	return found;
}
