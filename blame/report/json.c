/* json.c: a report as JSON: schema tailor.blame/1. */
#include <errno.h>
#include <stdlib.h>

#include "blame/report/report.h"

static void
json_interval(struct json *j, const char *key, struct blame_interval i)
{
	json_key_array(j, key);
	json_int(j, i.low_ns);
	json_int(j, i.high_ns);
	json_array_end(j);
}

static void
json_line(const struct blame_view *v, const struct blame_report *r, unsigned i,
    struct json *j)
{
	const struct blame_line *l = &r->line[i];

	json_object_begin(j);
	json_key_string(j, "cause", v->rows.cause[l->cause].code);
	json_key_uint(j, "rank", l->rank);
	json_key_int(j, "excess_ns", l->excess_ns);
	json_interval(j, "excess_interval_ns", l->excess);
	json_key_int(j, "share_ns", l->share_ns);
	json_interval(j, "share_interval_ns", l->share);
	json_key_int(j, "usual_ns", l->usual_ns);
	json_key_int(j, "beyond_ns", l->beyond_ns);
	json_key_uint(j, "episodes", l->episodes);
	json_key_bool(j, "enough", l->enough);
	json_key_double(j, "observed", r->seen[l->cause]);
	if (l->removable) {
		json_key_int(j, "without_ns", l->without_ns);
		json_interval(j, "without_interval_ns", l->without);
		json_key_bool(j, "certain",
		    blame_view_certain(r->q_ns, l->without_ns, l->without));
		json_key_double(j, "shapley_ns", l->shapley_ns);
	}
	json_object_end(j);
}

static void
json_against(
    const struct blame_view *v, const struct blame_route *route, struct json *j)
{
	const struct blame_route *then = blame_view_then(v, route);
	struct blame_options o = blame_view_options(v);
	struct blame_change change[BLAME_CAUSES];
	unsigned n = 0;

	json_key_array(j, "changes");
	if (then != NULL &&
	    blame_against(route->set, then->set, &o, change, &n) != 0)
		n = 0;
	for (unsigned i = 0; i < n; i++) {
		json_object_begin(j);
		json_key_string(
		    j, "cause", v->rows.cause[change[i].cause].code);
		json_key_int(j, "change_ns", change[i].change_ns);
		json_interval(j, "change_interval_ns", change[i].interval);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
json_spot(const struct blame_spot *spot, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "field", spot->field);
	json_key_string(j, "value", spot->value);
	json_key_double(j, "tail", spot->place.tail);
	json_key_array(j, "tail_interval");
	json_double(j, spot->place.tail_low);
	json_double(j, spot->place.tail_high);
	json_array_end(j);
	json_key_double(j, "requests", spot->place.requests);
	json_key_int(j, "q_ns", spot->place.q_ns);
	json_object_end(j);
}

static void
json_spots(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r, struct json *j)
{
	struct blame_spot spot[BLAME_SPOTS];
	unsigned n = blame_spots(v, route, r->beyond, spot);

	json_key_array(j, "where");
	for (unsigned i = 0; i < n; i++)
		json_spot(&spot[i], j);
	json_array_end(j);
}

/* Write percentiles of all requests; nothing if they are not known. */
static void
json_exact(
    const struct blame_view *v, const struct blame_route *route, struct json *j)
{
	const struct blame_latency *l = blame_exact_of(&v->exact, route->name);

	if (l == NULL)
		return;
	json_key_object(j, "exact");
	json_key_uint(j, "requests", l->latency.count);
	json_key_uint(j, "unnamed", l->unnamed);
	json_key_int(j, "from_ns", l->from_ns);
	json_key_int(j, "to_ns", l->to_ns);
	json_key_double(j, "resolution", BLAME_RESOLUTION);
	json_key_int(j, "p50_ns", blame_exact_quantile(l, 0.5));
	json_key_int(j, "q_ns", blame_exact_quantile(l, v->p));
	json_key_int(j, "p999_ns", blame_exact_quantile(l, 0.999));
	json_key_int(j, "max_ns", blame_exact_quantile(l, 1));
	json_object_end(j);
}

static void
json_route(const struct blame_view *v, const struct blame_route *route,
    const struct blame_report *r, struct json *j)
{
	json_key_double(j, "requests", r->weight);
	json_exact(v, route, j);
	json_key_uint(j, "accounts", r->rows);
	json_key_uint(j, "bytes", r->bytes);
	json_key_int(j, "first_ns", r->first_ns);
	json_key_int(j, "last_ns", r->last_ns);
	json_key_int(j, "p50_ns", r->p50_ns);
	json_key_int(j, "q_ns", r->q_ns);
	json_interval(j, "q_interval_ns", r->q);
	json_key_double(j, "explained", r->explained);
	json_key_int(j, "wait_ns", blame_view_wait_ns(r));
	json_key_uint(j, "beyond", r->beyond);
	json_key_double(j, "slower", r->slower);
	json_key_int(j, "block_ns", r->block_ns);
	json_key_array(j, "causes");
	for (unsigned i = 0; i < r->lines; i++)
		json_line(v, r, i, j);
	json_array_end(j);
	json_key_array(j, "pairs");
	for (unsigned i = 0; i < r->pairs; i++) {
		json_object_begin(j);
		json_key_string(j, "a", v->rows.cause[r->pair[i].a].code);
		json_key_string(j, "b", v->rows.cause[r->pair[i].b].code);
		json_key_int(j, "without_ns", r->pair[i].without_ns);
		json_key_int(j, "interaction_ns", r->pair[i].interaction_ns);
		json_interval(
		    j, "interaction_interval_ns", r->pair[i].interaction);
		json_object_end(j);
	}
	json_array_end(j);
	json_spots(v, route, r, j);
	if (blame_view_compares(v))
		json_against(v, route, j);
}

void
blame_json_head(const struct blame_view *v, struct json *j)
{
	struct blame_spot spot;
	int64_t q_ns = 0;
	bool found;

	json_key_string(j, "schema", "tailor.blame/1");
	json_key_double(j, "percentile", 100 * v->p);
	json_key_uint(j, "routes_known", v->rows.routes);
	found = v->rows.all != NULL && blame_all(v, &q_ns, &spot);
	json_key_int(j, "q_ns", q_ns);
	json_key_array(j, "where");
	if (found)
		json_spot(&spot, j);
	json_array_end(j);
}

int
blame_json(const struct blame_view *v, struct json *j)
{
	struct blame_options o = blame_view_options(v);
	const struct blame_route *route;
	struct blame_report *r = malloc(sizeof(*r));
	unsigned at = 0;
	int err = r == NULL ? -ENOMEM : 0;

	json_object_begin(j);
	blame_json_head(v, j);
	json_key_array(j, "routes");
	while (r != NULL && (route = blame_view_route(v, &at)) != NULL) {
		err = blame_analyze(route->set, &o, r);
		if (err != 0)
			break;
		json_object_begin(j);
		json_key_string(j, "route", route->name);
		json_route(v, route, r, j);
		json_object_end(j);
	}
	free(r);
	if (err != 0)
		return err;
	json_array_end(j);
	json_object_end(j);
	return 0;
}
