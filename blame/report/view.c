/* view.c: which routes are shown, and where the tail of one is. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "blame/report/report.h"
#include "talechain/events/cause.h"

#define SEED UINT64_C(0x7461696c6f72) /* fixed: the same intervals each time */
#define PLACES 64
#define PART_SHOWN 0.01 /* of q(p) - q(0.5) */
/* From this percentile on all requests should have accounts (slow.h); the
 * report says so if fewer have. */
#define ALL_HELD 0.95
#define MOST_HELD 0.8
/* A value of a field is reported if its share of the tail exceeds its share of
 * all requests by SPOT_MORE and by the factor SPOT_TIMES. */
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
blame_view_certain(int64_t q_ns, int64_t without_ns, struct blame_interval i)
{
	int64_t wide_ns = i.high_ns - i.low_ns;

	return i.high_ns == 0 || wide_ns <= q_ns - without_ns;
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

/* Write a sentence on the part of the tail without kernel events and the causes
 * not observed there.  False: all of the tail has them. */
static bool
unseen(const struct blame_view *v, const struct blame_report *r,
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

/* Write a sentence on causes that need a runtime's signals or a PMU and are in
 * no account; accounts do not record whether those signals were on.  False: all
 * such causes are in some account. */
static bool
absent(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	unsigned n = 0, k;

	snprintf(out, BLAME_CODES, "Never seen: ");
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
	    "The %s of the accounts, which is divided among causes below, is "
	    "%s than the %s of all requests.",
	    v->name, q_ns > (double)r->q.high_ns ? "lower" : "higher", v->name);
	return true;
}

bool
blame_view_few(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r, char out[BLAME_FEW])
{
	const struct blame_latency *l = blame_exact_of(&v->exact, route->name);
	double requests =
	    l != NULL ? (double)l->latency.count : round(r->weight);
	double needed = ceil(1 / (1 - v->p) - 1e-6);

	if (requests >= needed)
		return false;
	snprintf(out, BLAME_FEW,
	    "%s%.0f request%s: %s needs at least %.0f of them, and a ranking "
	    "of "
	    "causes %.0f.  tailorctl why explains the slowest.",
	    l != NULL ? "" : "about ", requests, requests == 1 ? "" : "s",
	    v->name, needed, BLAME_BEYOND * needed);
	return true;
}

/* Write a sentence on a server that sleeps, if that is worth a line. */
static bool
asleep(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	int sleep = blame_rows_cause(&v->rows, "sleep", strlen("sleep"));

	snprintf(out, BLAME_CODES,
	    "A server sleeps until a timer, another service or a pool wakes "
	    "it: the examples say which.");
	for (unsigned i = 0; i < r->lines; i++)
		if ((int)r->line[i].cause == sleep &&
		    (double)r->line[i].excess_ns >=
			PART_SHOWN * (double)(r->q_ns - r->p50_ns))
			return true;
	return false;
}

/* A duration in seconds as --since takes it. */
static const char *
since_text(double s, char out[24])
{
	if (s < 120)
		snprintf(out, 24, "%.0fs", ceil(s));
	else if (s < 7200)
		snprintf(out, 24, "%.0fm", ceil(s / 60));
	else
		snprintf(out, 24, "%.0fh", ceil(fmin(s, 1e12) / 3600));
	return out;
}

int64_t
blame_view_wait_ns(const struct blame_report *r)
{
	double span_ns = (double)(r->last_ns - r->first_ns);
	double wide = (double)(r->q.high_ns - r->q.low_ns);
	double most = BLAME_WIDE * (double)r->q_ns;

	if (r->resamples == 0 || r->q_ns == 0 || wide <= most)
		return 0;
	return (int64_t)fmin(1e18, span_ns * (wide / most * (wide / most) - 1));
}

/* Write a sentence on an interval that is too wide, or return false. */
static bool
too_wide(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	double more_s = (double)blame_view_wait_ns(r) / 1e9;
	double span_s = (double)(r->last_ns - r->first_ns) / 1e9;
	char more[24], whole[24];

	if (more_s == 0)
		return false;
	snprintf(out, BLAME_CODES,
	    "The interval of %s is %.0f %% of it. For %.0f %%, with as many "
	    "requests as now: wait another %s, then --since %s.",
	    v->name,
	    100 * (double)(r->q.high_ns - r->q.low_ns) / (double)r->q_ns,
	    100 * BLAME_WIDE, since_text(more_s, more),
	    since_text(span_s + more_s, whole));
	return true;
}

/* Write a sentence on slower requests without accounts, or return false. */
static bool
left_out(const struct blame_view *v, const struct blame_report *r,
    char out[BLAME_CODES])
{
	if (v->p < ALL_HELD || (double)r->beyond >= MOST_HELD * r->slower)
		return false;
	snprintf(out, BLAME_CODES,
	    "Of some %.0f requests slower than %s %zu have accounts: "
	    "analysis.cpu bounds them.",
	    r->slower, v->name, r->beyond);
	return true;
}

bool
blame_view_note(const struct blame_view *v, const struct blame_report *r,
    unsigned *at, char out[BLAME_CODES])
{
	static bool (*const note[])(const struct blame_view *,
	    const struct blame_report *,
	    char *) = {too_wide, left_out, unseen, asleep, absent};

	while (*at < COUNT(note))
		if (note[(*at)++](v, r, out))
			return true;
	return false;
}

/* --- where ---------------------------------------------------------------- */

/* Length of a slice of time, so that there are some: ten minutes, an hour or a
 * day. */
static uint32_t
time_slice_s(const struct blame_rows *rows)
{
	int64_t span_s = (rows->newest_ns - rows->oldest_ns) / NS_PER_S;

	if (span_s < INT64_C(3) * 3600)
		return 600;
	return span_s < INT64_C(3) * 86400 ? 3600 : 86400;
}

/* Fields of a request: BY_ROUTE over all requests, the others over those of a
 * route. */
enum spot_field { BY_ROUTE, BY_SERVER, BY_ATTEMPTS, BY_CONNECTION, BY_TIME };
static const char *const field_names[] = {
    "route", "server", "attempts", "connection", "time"};
_Static_assert(BY_TIME == BLAME_SPOTS, "the fields of blame_spots");

struct spot_key {
	enum spot_field field;
	uint32_t slice_s;
};

static uint32_t
key_of(const struct blame_account *a, void *user)
{
	const struct spot_key *k = user;

	switch (k->field) {
	case BY_ROUTE:
		return a->route;
	case BY_SERVER:
		return a->server;
	case BY_ATTEMPTS:
		return a->flags & BLAME_ATTEMPTS;
	case BY_CONNECTION:
		return a->flags & BLAME_NEW;
	case BY_TIME:
		break;
	}
	return (uint32_t)(a->end_ns / NS_PER_S / k->slice_s);
}

/* The value that a key stands for. */
static void
value_write(const struct blame_rows *rows, const struct spot_key *k,
    uint32_t key, char out[BLAME_ROUTE])
{
	time_t at = (time_t)key * k->slice_s;
	const char *text = "others";
	struct tm tm;

	switch (k->field) {
	case BY_ROUTE:
		for (unsigned i = 0; i < rows->routes; i++)
			if (rows->route[i].number == key)
				text = rows->route[i].name;
		break;
	case BY_SERVER:
		if (key < rows->servers)
			text = rows->server[key][0] != '\0' ? rows->server[key]
							    : "none";
		break;
	case BY_ATTEMPTS:
		snprintf(out, BLAME_ROUTE, "%u", key);
		return;
	case BY_CONNECTION:
		text = key != 0 ? "new" : "kept";
		break;
	case BY_TIME:
		if (gmtime_r(&at, &tm) != NULL &&
		    strftime(out, BLAME_ROUTE, "from %m-%d %H:%MZ", &tm) != 0)
			return;
		text = "?";
		break;
	}
	snprintf(out, BLAME_ROUTE, "%.*s", BLAME_ROUTE - 1, text);
}

static bool
spot_find(const struct blame_view *v, struct blame_set *set,
    enum spot_field field, struct blame_spot *out)
{
	struct blame_options o = blame_view_options(v);
	struct blame_place place[PLACES];
	struct spot_key k = {field, time_slice_s(&v->rows)};
	int n = blame_where(set, v->p, key_of, &k, place, PLACES);
	int most = 0;

	for (int i = 1; i < n && i < PLACES; i++)
		if (place[i].tail - place[i].requests >
		    place[most].tail - place[most].requests)
			most = i;
	if (n < 2 || place[most].tail < place[most].requests + SPOT_MORE ||
	    place[most].tail < place[most].requests * SPOT_TIMES)
		return false;
	if (blame_where_interval(set, &o, key_of, &k, &place[most]) != 0 ||
	    place[most].tail_low <= place[most].requests)
		return false;
	*out = (struct blame_spot){
	    .field = field_names[field], .place = place[most]};
	value_write(&v->rows, &k, place[most].key, out->value);
	return true;
}

unsigned
blame_spots(const struct blame_view *v, const struct blame_route *route,
    size_t beyond, struct blame_spot *out)
{
	unsigned n = 0;

	if (beyond < BLAME_BEYOND)
		return 0;
	for (enum spot_field f = BY_SERVER; f <= BY_TIME; f++)
		n += spot_find(v, route->set, f, &out[n]);
	return n;
}

bool
blame_all(const struct blame_view *v, int64_t *q_ns, struct blame_spot *out)
{
	struct blame_report *r = malloc(sizeof(*r));
	bool found = false;

	if (r != NULL && blame_divide(v->rows.all, v->p, r) == 0) {
		*q_ns = r->q_ns;
		found = r->beyond >= BLAME_BEYOND &&
			spot_find(v, v->rows.all, BY_ROUTE, out);
	}
	free(r);
	return found;
}
