/*
 * bench_report.c: the curves in 80 columns, the thesis's figures beside them,
 * and the same as JSON.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"
#include "profiler/shim/bench.h"
#include "profiler/shim/scope.h"

#define DISTURBED_PER_S 40

static double
quantile(const struct histogram *h, double q)
{
	return (double)histogram_quantile(h, q);
}

static void
print_costs(const struct bench_result *r)
{
	unsigned i;

	printf("\nWhat looking at one word costs the thread that writes it "
	       "(figure 3.9)\n\n"
	       "  written every  looked at every  overhead  quartiles\n"
	       "         cycles           cycles         %%          %%\n");
	for (i = 0; i < r->costs; i++) {
		const struct bench_cost *c = &r->cost[i];

		printf("  %13.0f  %15.0f  %8.1f  %.1f .. %.1f\n",
		    c->produce_cycles, c->observe_cycles, c->overhead * 100,
		    c->low * 100, c->high * 100);
	}
	printf("  Thesis, other core: 100 %% at 30 cycles, 2 %% at 1200; "
	       "same core (SMT): 15\n  cycles.  Here the finest is %.0f "
	       "cycles, %.1f where nobody writes: a changed\n  line takes "
	       "%.0f ns (%.0f cycles) to come over.\n",
	    r->finest_cycles, r->finest_quiet_cycles, r->coherence_ns,
	    r->coherence_ns * r->hz / 1e9);
}

static void
print_fidelities(const struct bench_result *r)
{
	unsigned i;

	printf("\nRates of a signal, raw and after error correction "
	       "(figure 3.4)\n\n"
	       "   period    kept  true rate  raw max  kept max  CPC max  "
	       "impossible rates\n"
	       "   cycles       %%  per cycle                               "
	       "     raw    kept\n");
	for (i = 0; i < r->fidelities; i++) {
		const struct bench_fidelity *f = &r->fidelity[i];

		printf("  %7.0f  %6.1f  %9.4f  %7.3f  %8.4f  %7.1f  %8" PRIu64
		       "%8" PRIu64 "\n",
		    f->period_cycles, f->kept * 100, f->truth, f->raw_max,
		    f->kept_max, f->cpc_max, f->impossible_raw,
		    f->impossible_kept);
	}
	printf("  Thesis: under 50 %% kept at the shortest period, 90 %% and "
	       "more from 2500\n  cycles on; CPC up to 175 before.\n");
}

static void
print_rest(const struct bench_result *r)
{
	static const char *const name[] = {"all", "100 kHz", "1 kHz"};
	unsigned i;

	printf("\nPeriods as fast as possible (figure 3.5), cycles\n\n"
	       "  kept period   p1 %.0f  p50 %.0f  p99 %.0f  max %.0f\n"
	       "  from one kept to the next   p50 %.0f  p99 %.0f  max %.0f\n",
	    quantile(&r->period, .01), quantile(&r->period, .5),
	    quantile(&r->period, .99), (double)r->period.max,
	    quantile(&r->gap, .5), quantile(&r->gap, .99), (double)r->gap.max);
	printf("\nTwo loops in turn, 5 us each, told apart by a tag "
	       "(figure 3.1)\n\n"
	       "  samples         loop 1: true   told   error   "
	       "loop 2: true   told   error\n");
	for (i = 0; i < 3; i++) {
		const struct bench_tags *t = &r->tags[i];

		printf("  %-7s%8" PRIu64 "  %11.4f%8.4f%7.1f%%"
		       "  %11.4f%8.4f%7.1f%%\n",
		    name[i], t->samples, t->truth[0], t->told[0],
		    (t->told[0] / t->truth[0] - 1) * 100, t->truth[1],
		    t->told[1], (t->told[1] / t->truth[1] - 1) * 100);
	}
	printf("  Rates per cycle.  Long periods hold both loops and tell one "
	       "average of them.\n");
}

void
bench_print(const struct bench_result *r)
{
	printf("The microscope on this machine: clock %.0f MHz\n", r->hz / 1e6);
	print_costs(r);
	print_fidelities(r);
	print_rest(r);
	/* An idle Linux pushes a busy thread off some times a second. */
	printf("\nOther work pushed us off our CPUs %" PRIu64 " times in %.0f s"
	       "%s.\n",
	    r->pushed, r->took_s,
	    (double)r->pushed > DISTURBED_PER_S * r->took_s
		? ": the machine is not\nidle, and these figures are worse "
		  "than it is"
		: "");
}

static void
json_histogram(struct json *j, const char *key, const struct histogram *h)
{
	static const double q[] = {.01, .1, .5, .9, .99, .999};
	static const char *const name[] = {
	    "p1", "p10", "p50", "p90", "p99", "p999"};
	unsigned i;

	json_key(j, key);
	json_object_begin(j);
	json_key_uint(j, "count", h->count);
	for (i = 0; i < sizeof(q) / sizeof(q[0]); i++)
		json_key_uint(j, name[i], histogram_quantile(h, q[i]));
	json_key_uint(j, "max", h->count > 0 ? h->max : 0);
	json_object_end(j);
}

static void
json_costs(const struct bench_result *r, struct json *j)
{
	unsigned i;

	json_key(j, "cost");
	json_array_begin(j);
	for (i = 0; i < r->costs; i++) {
		const struct bench_cost *c = &r->cost[i];

		json_object_begin(j);
		json_key_double(j, "produce_cycles", c->produce_cycles);
		json_key_double(j, "observe_cycles", c->observe_cycles);
		json_key_double(j, "overhead", c->overhead);
		json_key_double(j, "quartile1", c->low);
		json_key_double(j, "quartile3", c->high);
		json_object_end(j);
	}
	json_array_end(j);
}

static void
json_fidelities(const struct bench_result *r, struct json *j)
{
	unsigned i;

	json_key(j, "fidelity");
	json_array_begin(j);
	for (i = 0; i < r->fidelities; i++) {
		const struct bench_fidelity *f = &r->fidelity[i];

		json_object_begin(j);
		json_key_double(j, "period_cycles", f->period_cycles);
		json_key_double(j, "kept", f->kept);
		json_key_double(j, "true_rate", f->truth);
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
	unsigned i, k;

	json_key(j, "tags");
	json_array_begin(j);
	for (i = 0; i < 3; i++) {
		const struct bench_tags *t = &r->tags[i];

		json_object_begin(j);
		json_key_double(j, "every_ns", t->every_ns);
		json_key_uint(j, "samples", t->samples);
		json_key(j, "loops");
		json_array_begin(j);
		for (k = 0; k < 2; k++) {
			json_object_begin(j);
			json_key_double(j, "true_rate", t->truth[k]);
			json_key_double(j, "told_rate", t->told[k]);
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
	json_key_double(j, "coherence_ns", r->coherence_ns);
	json_key_uint(j, "pushed_off", r->pushed);
	json_key_double(j, "took_s", r->took_s);
	json_key_double(j, "finest_cycles", r->finest_cycles);
	json_key_double(j, "finest_quiet_cycles", r->finest_quiet_cycles);
	json_costs(r, j);
	json_fidelities(r, j);
	json_histogram(j, "period", &r->period);
	json_histogram(j, "gap", &r->gap);
	json_tags(r, j);
	json_object_end(j);
}
