/* bench_plot.c: the bench's curves as pictures, with the thesis's figures.
 *
 * Points that were not measured are left out.  Overheads are on a logarithmic
 * axis that begins at a tenth of a percent; smaller ones are drawn there. */
#include <errno.h>
#include <stdio.h>

#include "base/plot.h"
#include "tests/bench/shim/bench_parts.h"
#include "shim/scope.h"

#define STEPS 400 /* of a distribution */
#define STEP 1.1  /* ratio of one to the next */
#define SHARE_LEAST 1e-7
#define OVERHEAD_LEAST 0.1 /* percent */
#define BATCH_WORK 12	   /* the faster of the two programs of bench_cost.c */
#define CALM_WORK 140	   /* the slower */

/* A dot with a label beside it; "": none. */
static void
plot_dot(const struct plot *p, const char *class, struct plot_point at,
    const char *label)
{
	double x = plot_x(p, at.x), y = plot_y(p, at.y);
	bool left = x > (PLOT_LEFT + PLOT_RIGHT) / 2.0;

	fprintf(p->out,
	    "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", class,
	    x, y);
	if (label[0] == '\0')
		return;
	fprintf(p->out, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\"%s>",
	    x + (left ? -8 : 8), y - 6, left ? " text-anchor=\"end\"" : "");
	plot_escape(p->out, label);
	fputs("</text>\n", p->out);
}

/* A vertical stroke through a point, from low to high. */
static void
plot_spread(
    struct plot *p, const char *class, double x, double low, double high)
{
	fprintf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", class,
	    plot_x(p, x), plot_y(p, low), plot_y(p, high));
}

/* Begin a picture with a visible summary. */
static void
begin(struct plot *p, const char *title, const char *summary)
{
	plot_begin(p, title, summary);
	plot_note(p, summary);
}

/* A distribution: the share of values in each step. */
static void
draw_shares(
    struct plot *p, const char *class, const struct histogram *h, double unit)
{
	struct plot_point at[STEPS];
	uint64_t before, up_to;
	double edge = p->x.low;
	size_t n = 0;

	before = histogram_count_to(h, (uint64_t)(edge * unit));
	while (n < STEPS && edge < p->x.high && h->count > 0) {
		edge *= STEP;
		up_to = histogram_count_to(h, (uint64_t)(edge * unit));
		at[n++] = (struct plot_point){
		    edge, (double)(up_to - before) / (double)h->count};
		before = up_to;
	}
	if (n > 0)
		plot_line(p, class, at, n);
}

/* Figure 3.4 (a) and (b). */
static void
plot_raw(FILE *out, const struct bench_result *r)
{
	struct plot p = {.out = out,
	    .x = {PLOT_LOG, 1e-3, 1e4, "per cycle"},
	    .y = {PLOT_LOG, SHARE_LEAST, 1, "part of all samples"}};
	double bound = r->fastest > 0 ? r->fastest * 1.5 : 1;

	begin(&p, "Rates, raw and corrected (figure 3.4 a, b)",
	    "as fast as possible; each step on the lower axis is 10 %");
	draw_shares(&p, "line2", &r->rate_raw, SCOPE_RATE);
	draw_shares(&p, "line3", &r->cpc, SCOPE_RATE);
	draw_shares(&p, "line", &r->rate_kept, SCOPE_RATE);
	plot_spread(&p, "theirs", bound, SHARE_LEAST, 1);
	plot_dot(&p, "theirs", (struct plot_point){37, 3e-6},
	    "thesis: IPC up to 37 of 4, raw");
	plot_dot(&p, "theirs", (struct plot_point){175, 6e-7},
	    "thesis: CPC up to 175, raw");
	plot_legend(&p, 0, "line2", "changes of a word, raw");
	plot_legend(&p, 1, "line", "the same, kept");
	plot_legend(&p, 2, "line3", "cycles (CPC), raw; truth: 1");
	plot_legend(&p, 3, "theirs", "impossible for the word: right of this");
	plot_end(&p);
}

/* The share kept, by period. */
static void
draw_kept(struct plot *p, const struct bench_result *r, const char *line,
    enum bench_word word)
{
	struct plot_point at[BENCH_POINTS];
	size_t n = 0;

	for (unsigned i = 0; i < r->fidelities; i++)
		if (r->fidelity[i].samples > 0)
			at[n++] =
			    (struct plot_point){r->fidelity[i].period_cycles,
				r->fidelity[i].kept[word] * 100};
	if (n > 0)
		plot_line(p, line, at, n);
}

/* Figure 3.4 (c). */
static void
plot_kept(FILE *out, const struct bench_result *r)
{
	struct plot p = {.out = out,
	    .x = {PLOT_LOG, 100, 1e5, "period, cycles"},
	    .y = {PLOT_LINEAR, 0, 100, "kept, %"}};
	double step = r->clock_step * 1e6 / DTE_MARGIN_PPM;

	begin(&p, "Samples kept by error correction (figure 3.4 c)",
	    "by the period between samples; 100 %: none was distorted");
	draw_kept(&p, r, "line3", BENCH_STILL);
	draw_kept(&p, r, "line2", BENCH_SLOW);
	draw_kept(&p, r, "line", BENCH_FAST);
	plot_spread(&p, "theirs", step, 0, 80);
	plot_legend(&p, 9, "line", "a word written every few cycles");
	plot_legend(&p, 10, "line2", "every few thousand cycles");
	plot_legend(&p, 11, "line3", "never");
	plot_legend(
	    &p, 12, "theirs", "left of it, one step of the clock is > 1 %");
	plot_dot(&p, "theirs", (struct plot_point){500, 50},
	    "thesis: under 50 % as fast as it could");
	plot_dot(&p, "theirs", (struct plot_point){2500, 90},
	    "thesis: 90 % and more from here on");
	plot_end(&p);
}

/* Figure 3.5. */
static void
plot_periods(FILE *out, const struct bench_result *r)
{
	struct plot p = {.out = out,
	    .x = {PLOT_LOG, 50, 1e6, "cycles"},
	    .y = {PLOT_LOG, SHARE_LEAST, 1, "part of all periods"}};

	begin(&p, "How regular sampling is (figure 3.5)",
	    "as fast as possible; each step on the lower axis is 10 %");
	draw_shares(&p, "line", &r->period, 1);
	draw_shares(&p, "line2", &r->gap, 1);
	plot_dot(&p, "theirs", (struct plot_point){500, .01},
	    "thesis: its most common period, 1 % of them");
	plot_dot(&p, "theirs", (struct plot_point){49000, 1e-6},
	    "thesis: its longest gap");
	plot_legend(&p, 0, "line", "period of a kept sample");
	plot_legend(&p, 1, "line2", "from one kept sample to the next");
	plot_end(&p);
}

static double
percent(double overhead)
{
	return overhead * 100 > OVERHEAD_LEAST ? overhead * 100
					       : OVERHEAD_LEAST;
}

/* The costs of one curve, and its axis. */
struct curve {
	bool by_work; /* else any pause, samples back to back */
	unsigned work;
	const char *line, *dot;
};

static void
draw_curve(
    struct plot *p, const struct bench_result *r, const struct curve *curve)
{
	struct plot_point at[BENCH_POINTS];
	size_t n = 0;

	for (unsigned i = 0; i < r->costs; i++) {
		const struct bench_cost *c = &r->cost[i];
		if (c->pairs == 0 ||
		    (curve->by_work ? c->work != curve->work : c->pause != 0))
			continue;
		at[n] = (struct plot_point){
		    curve->by_work ? c->observe_cycles : c->produce_cycles,
		    percent(c->overhead)};
		plot_spread(
		    p, curve->line, at[n].x, percent(c->low), percent(c->high));
		plot_dot(p, curve->dot, at[n++], "");
	}
	/* Points were measured in order, except the first. */
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && at[k].x < at[k - 1].x; k--) {
			struct plot_point t = at[k];
			at[k] = at[k - 1];
			at[k - 1] = t;
		}
	if (n > 0)
		plot_line(p, curve->line, at, n);
}

/* Figure 3.7 (a): programs. */
static void
plot_overhead(FILE *out, const struct bench_result *r)
{
	static const struct curve fast = {true, BATCH_WORK, "line", "dot"};
	static const struct curve calm = {true, CALM_WORK, "line2", "dot2"};
	struct plot p = {.out = out,
	    .x = {PLOT_LOG, 1, 1e6, "sampled every so many cycles"},
	    .y = {PLOT_LOG, OVERHEAD_LEAST, 500, "overhead, %"}};

	begin(&p, "Cost of sampling for a program that writes (figure 3.7)",
	    "medians with their quartiles; 0.1 % and less, also nothing, at "
	    "the bottom");
	draw_curve(&p, r, &fast);
	draw_curve(&p, r, &calm);
	if (r->counted.pairs > 0)
		plot_dot(&p, "dot3",
		    (struct plot_point){r->counted.observe_cycles,
			percent(r->counted.overhead)},
		    "with three counters (3.13)");
	/* Two close dots share one label. */
	plot_dot(&p, "theirs", (struct plot_point){15, 61}, "");
	plot_dot(&p, "theirs", (struct plot_point){30, 100},
	    "thesis: 100 % at 30, other core; 61 % at 15, same core");
	plot_dot(&p, "theirs", (struct plot_point){1200, 2},
	    "thesis, other core: 2 % at 1200");
	plot_legend(&p, 3, "line", "written every 7 to 14 cycles");
	plot_legend(&p, 4, "line2", "written every 140 cycles");
	plot_end(&p);
}

/* Figure 3.9 (a): producer and consumer. */
static void
plot_rates(FILE *out, const struct bench_result *r)
{
	static const struct curve consumer = {true, 0, "line2", "dot2"};
	static const struct curve producer = {false, 0, "line", "dot"};
	static const struct plot_point five[] = {{100, 5}, {1e5, 5}};
	struct plot p = {.out = out,
	    .x = {PLOT_LOG, 1, 1e5, "period of the slower one, cycles"},
	    .y = {PLOT_LOG, OVERHEAD_LEAST, 500, "overhead, %"}};

	begin(&p, "Producer and consumer (figure 3.9)",
	    "one as fast as it can, the other ever slower; 0.1 % and less at "
	    "the bottom");
	draw_curve(&p, r, &producer);
	draw_curve(&p, r, &consumer);
	plot_line(&p, "theirs", five, 2);
	plot_legend(&p, 0, "line", "producer slower (written every ...)");
	plot_legend(&p, 1, "line2", "consumer slower (sampled every ...)");
	plot_legend(&p, 2, "theirs", "thesis: below this, if one is slower");
	plot_end(&p);
}

int
bench_plots(
    const struct bench_result *r, const char *directory, char *why, size_t size)
{
	static const struct {
		const char *name;
		void (*draw)(FILE *out, const struct bench_result *r);
	} plot[] = {{"raw", plot_raw}, {"kept", plot_kept},
	    {"periods", plot_periods}, {"overhead", plot_overhead},
	    {"rates", plot_rates}};
	FILE *f;

	for (size_t i = 0; i < sizeof(plot) / sizeof(plot[0]); i++) {
		snprintf(why, size, "%s/%s.svg", directory, plot[i].name);
		f = fopen(why, "we");
		if (f == NULL)
			return -errno;
		plot[i].draw(f, r);
		if (fclose(f) != 0)
			return -errno;
	}
	return 0;
}
