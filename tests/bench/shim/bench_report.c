#include <inttypes.h>
#include <stdio.h>

#include "tests/bench/shim/bench.h"
#include "profiler/counters/dte.h"
#include "shim/scope.h"
#include "shim/observe.h"

static double
quantile(const struct histogram *h, double q)
{
	return (double)histogram_quantile(h, q);
}

static void
print_cost(const struct bench_cost *c)
{
	if (c->pairs == 0) {
		printf("  (no 2 ms with both CPUs to ourselves)\n");
		return;
	}
	printf("  %7.1f %8.0f %10.0f  %8.1f  %5.1f ..%6.1f %9.0f %6u\n",
	    c->produce_cycles, c->observe_cycles, c->fresh_cycles,
	    c->overhead * 100, c->low * 100, c->high * 100,
	    c->overhead * c->observe_cycles, c->pairs);
}

static const char *
ordinal(const struct bench_result *r)
{
	return r->siblings ? "the other lane of the same core (figure 3.10)"
			   : "another core (figure 3.9)";
}

static void
print_costs(const struct bench_result *r)
{
	printf("\nCost of sampling one word for the thread that writes it, "
	       "from\n%s\n\n"
	       "  written  sampled  new value  overhead  quartiles   a sample"
	       "  pairs\n"
	       "    every    at every    every        %%         %%     costs\n"
	       "                      (cycles)                       cycles\n",
	    ordinal(r));
	for (unsigned i = 0; i < r->costs; i++)
		print_cost(&r->cost[i]);
	printf("  Thesis: programs that write every 14 to 140 cycles lose 100 "
	       "%% sampled every\n  30, 2 %% every 1200 (figure 3.7); the "
	       "fastest writer less than 5 %% (3.9);\n  same core (SMT) every "
	       "15: 61 %%.\n"
	       "  A changed line took %.0f cycles to arrive, %.0f later and "
	       "%.0f at the end;\n  of a constant word, a sample "
	       "takes %.1f.\n",
	    r->line_cycles[0], r->line_cycles[1], r->line_cycles[2],
	    r->quiet_cycles);
}

static void
print_counted(const struct bench_result *r)
{
	printf("\nThe same with three counters of our own (figure %s)\n\n",
	    r->siblings ? "3.11" : "3.13");
	if (!r->has_pmu)
		sentence_print(" ", r->counters_why);
	if (r->counters[0] == '\0')
		return;
	print_cost(&r->counted);
	printf("  %s.\n  Thesis: %s.\n", r->counters,
	    r->siblings ? "47 % at 400 and 1900 cycles, 6.3 % at 185,000"
			: "every 300 cycles, no cost that could be seen");
}

static void
print_fidelities(const struct bench_result *r)
{
	printf(
	    "\nRates of a signal, raw and after error correction "
	    "(figure 3.4)\n\n"
	    "  period kept: fast  slow never rate: true   meas. max raw   "
	    "kept  impossible\n"
	    "  cycles          %%     %%     %%  (per cycle)                 "
	    "        raw  kept\n");
	for (unsigned i = 0; i < r->fidelities; i++) {
		const struct bench_fidelity *f = &r->fidelity[i];

		if (f->samples == 0) {
			printf("  (no window with both CPUs to ourselves)\n");
			continue;
		}
		printf("  %6.0f %10.1f %5.1f %5.1f %10.4f %6.4f %8.2f "
		       "%6.3f %6" PRIu64 " %5" PRIu64 "\n",
		    f->period_cycles, f->kept[BENCH_FAST] * 100,
		    f->kept[BENCH_SLOW] * 100, f->kept[BENCH_STILL] * 100,
		    f->truth, f->measured, f->raw_max, f->kept_max,
		    f->impossible_raw, f->impossible_kept);
	}
	printf("  Fast, slow, never: a word that is written every few cycles, "
	       "every few\n  thousand, or not at all.  Thesis: under 50 %% "
	       "kept at the shortest period,\n  90 %% and more from 2500 "
	       "cycles on; CPC up to 175 before.  This clock steps by\n  %.0f "
	       "cycles: in periods under %.0f one step is more than the 1 %% "
	       "that the two\n  ends may differ.\n",
	    r->clock_step, r->clock_step * 1e6 / DTE_MARGIN_PPM);
}

static void
print_rest(const struct bench_result *r)
{
	static const char *const name[] = {"all", "100 kHz", "1 kHz"};

	printf("\nPeriods as fast as possible (figure 3.5), cycles\n\n"
	       "  kept period   p1 %.0f  p50 %.0f  p99 %.0f  max %.0f\n"
	       "  from one kept to the next   p50 %.0f  p99 %.0f  max %.0f\n",
	    quantile(&r->period, .01), quantile(&r->period, .5),
	    quantile(&r->period, .99), (double)r->period.max,
	    quantile(&r->gap, .5), quantile(&r->gap, .99), (double)r->gap.max);
	printf("\nTwo loops in turn, 5 us each, distinguished by a tag "
	       "(figure 3.1)\n\n"
	       "  samples         loop 1: true  meas.   error   "
	       "loop 2: true  meas.   error\n");
	for (unsigned i = 0; i < 3; i++) {
		const struct bench_tags *t = &r->tags[i];

		if (!(t->truth[0] > 0 && t->truth[1] > 0)) {
			printf(
			    "  %-7s (no window with both CPUs to ourselves)\n",
			    name[i]);
			continue;
		}
		printf("  %-7s%8" PRIu64 "  %11.4f%8.4f%7.1f%%"
		       "  %11.4f%8.4f%7.1f%%\n",
		    name[i], t->samples, t->truth[0], t->measured[0],
		    (t->measured[0] / t->truth[0] - 1) * 100, t->truth[1],
		    t->measured[1], (t->measured[1] / t->truth[1] - 1) * 100);
	}
	printf("  Rates per cycle.  Long periods hold both loops and give one "
	       "average of them.\n");
}

static unsigned
pairs_dropped(const struct bench_result *r)
{
	unsigned n = r->counted.dropped;

	for (unsigned i = 0; i < r->costs; i++)
		n += r->cost[i].dropped;
	return n;
}

void
bench_print(const struct bench_result *r)
{
	printf("Sampling on this machine: clock %.0f MHz\n", r->hz / 1e6);
	print_costs(r);
	print_counted(r);
	print_fidelities(r);
	print_rest(r);
	printf("\nOther threads preempted us %" PRIu64 " times in %.0f s: "
	       "%" PRIu64 " of %" PRIu64 " windows and %u pairs\nwere "
	       "dropped.\n",
	    r->pushed, r->took_s, r->windows_dropped, r->windows,
	    pairs_dropped(r));
}
