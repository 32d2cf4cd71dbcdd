#include "base/json.h"
#include "profiler/shim/bench.h"
#include "profiler/shim/observe.h"

static void
json_cost(const struct bench_cost *c, struct json *j)
{
	json_object_begin(j);
	json_key_double(j, "produce_cycles", c->produce_cycles);
	json_key_double(j, "observe_cycles", c->observe_cycles);
	json_key_double(j, "fresh_cycles", c->fresh_cycles);
	json_key_double(j, "overhead", c->overhead);
	json_key_double(j, "quartile1", c->low);
	json_key_double(j, "quartile3", c->high);
	json_key_uint(j, "pairs", c->pairs);
	json_key_uint(j, "pairs_dropped", c->dropped);
	json_object_end(j);
}

static void
json_costs(const struct bench_result *r, struct json *j)
{
	json_key_bool(j, "same_core", r->siblings);
	json_key_array(j, "line_cycles");
	for (unsigned i = 0; i < BENCH_LINES; i++)
		json_double(j, r->line_cycles[i]);
	json_array_end(j);
	json_key_double(j, "quiet_cycles", r->quiet_cycles);
	json_key_array(j, "cost");
	for (unsigned i = 0; i < r->costs; i++)
		json_cost(&r->cost[i], j);
	json_array_end(j);
	json_key_string(j, "counters", r->counters);
	json_key_string(j, "counters_why", r->has_pmu ? "" : r->counters_why);
	if (r->counters[0] != '\0') {
		json_key(j, "cost_counted");
		json_cost(&r->counted, j);
	}
}

static void
json_fidelities(const struct bench_result *r, struct json *j)
{
	json_key_array(j, "fidelity");
	for (unsigned i = 0; i < r->fidelities; i++) {
		const struct bench_fidelity *f = &r->fidelity[i];

		json_object_begin(j);
		json_key_double(j, "period_cycles", f->period_cycles);
		json_key_double(j, "kept", f->kept[BENCH_FAST]);
		json_key_double(j, "kept_slow", f->kept[BENCH_SLOW]);
		json_key_double(j, "kept_still", f->kept[BENCH_STILL]);
		json_key_double(j, "true_rate", f->truth);
		json_key_double(j, "told_rate", f->measured);
		json_key_double(j, "raw_max", f->raw_max);
		json_key_double(j, "kept_max", f->kept_max);
		json_key_double(j, "cpc_max", f->cpc_max);
		json_key_uint(j, "samples", f->samples);
		json_key_uint(j, "impossible_raw", f->impossible_raw);
		json_key_uint(j, "impossible_kept", f->impossible_kept);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
json_tags(const struct bench_result *r, struct json *j)
{
	json_key_array(j, "tags");
	for (unsigned i = 0; i < 3; i++) {
		const struct bench_tags *t = &r->tags[i];

		json_object_begin(j);
		json_key_double(j, "every_ns", t->every_ns);
		json_key_uint(j, "samples", t->samples);
		json_key_array(j, "loops");
		for (unsigned k = 0; k < 2; k++) {
			json_object_begin(j);
			json_key_double(j, "true_rate", t->truth[k]);
			json_key_double(j, "told_rate", t->measured[k]);
			json_object_end(j);
		}
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

void
bench_json(const struct bench_result *r, struct json *j)
{
	json_object_begin(j);
	json_key_string(j, "schema", "tailor.shim-bench/1");
	json_key_double(j, "clock_hz", r->hz);
	json_key_double(j, "clock_step", r->clock_step);
	json_key_uint(j, "pushed_off", r->pushed);
	json_key_uint(j, "windows", r->windows);
	json_key_uint(j, "windows_dropped", r->windows_dropped);
	json_key_double(j, "took_s", r->took_s);
	json_costs(r, j);
	json_fidelities(r, j);
	json_key_double(j, "fastest_rate", r->fastest);
	quantiles_json(j, "period", &r->period, 1);
	quantiles_json(j, "gap", &r->gap, 1);
	json_tags(r, j);
	json_object_end(j);
}
