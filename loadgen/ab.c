/* ab.c: each run is an experiment of its own; only signals and CPUs are
 * shared. */
#include "loadgen/ab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"
#include "loadgen/stats/compare.h"
#include "loadgen/check.h"
#include "loadgen/finish.h"

static void
complain(const char *why)
{
	fprintf(stderr, "tailor-load: %s\n", why);
}

/* Write the comparison's JSON into the output directory. */
static int
write_json(const struct load_options *o, const struct ab_comparison *c)
{
	struct report_output out;
	struct json j;
	int err;

	err = output_open(&out, NULL, o->output.out_dir, "compare.json");
	if (err < 0 || !output_is_wanted(&out))
		return err;
	json_init(&j, true);
	compare_json(c, &j);
	err = output_json(&out, &j);
	int lost = output_close(&out);
	return err < 0 ? err : lost;
}

static enum exit_code
compare(const struct load_options *o, struct ab_comparison *c)
{
	int err = compare_sides(c);

	if (err < 0) {
		complain(
		    err == -ENODATA
			? "nothing to compare: no iteration is complete and "
			  "has successes in both"
			: strerror(-err));
		return EXIT_COULD_NOT_RUN;
	}
	if (!o->output.quiet)
		compare_text(stdout, c);
	err = write_json(o, c);
	if (err == 0 && fflush(stdout) != 0)
		err = -EIO;
	if (err < 0) {
		complain("the comparison could not be written completely");
		return EXIT_COULD_NOT_RUN;
	}
	return c->usable ? EXIT_DONE : EXIT_BAD_GENERATOR;
}

/* One side of the experiment. */
struct side {
	struct experiment *e; /* owned */
	char dir[4096];
};

static int
side_open(struct side *s, const struct load_options *o, const char *url,
    const char *name)
{
	s->e = calloc(1, sizeof(*s->e));
	if (s->e == NULL)
		return -ENOMEM;
	s->e->options = *o;
	s->e->options.url = url;
	if (o->output.out_dir == NULL)
		return 0;
	int n =
	    snprintf(s->dir, sizeof(s->dir), "%s/%s", o->output.out_dir, name);
	if (n < 0 || (size_t)n >= sizeof(s->dir))
		return -ENAMETOOLONG;
	s->e->options.output.out_dir = s->dir;
	return 0;
}

static void
side_close(struct side *s)
{
	if (s->e == NULL)
		return;
	experiment_close(s->e);
	free(s->e);
}

/* All iterations of both, in an order that the seed decides. */
static int
iterate(struct side sides[2], uint64_t seed)
{
	struct prng p;

	prng_init(&p, ~seed);
	experiment_begin(sides[0].e);
	experiment_begin(sides[1].e);
	for (unsigned k = 1; k <= sides[0].e->options.plan.iterations; k++) {
		size_t first = prng_next(&p) >> 63;
		for (size_t i = 0; i < 2; i++) {
			struct experiment *e = sides[first ^ i].e;
			int err = experiment_iterate(e, k);
			if (err < 0)
				return err;
			if (experiment_interrupted(e))
				return 0;
		}
	}
	return 0;
}

/* What a side has measured. */
static struct compare_side
measured(const struct side *s)
{
	const struct report *r = &s->e->report;

	return (struct compare_side){.url = r->target.url,
	    .started_ns = r->started_ns,
	    .summary = &r->summary,
	    .verdict = &r->verdict};
}

static enum exit_code
conclude(const struct load_options *o, struct side sides[2])
{
	struct ab_comparison c = {0};

	for (size_t i = 0; i < 2; i++) {
		int err = experiment_end(sides[i].e);
		if (finish_write(sides[i].e, false) < 0 || err < 0) {
			complain(
			    err < 0
				? sides[i].e->why
				: "results could not be written completely");
			return EXIT_COULD_NOT_RUN;
		}
	}
	if (experiment_interrupted(sides[1].e))
		return EXIT_INTERRUPTED;
	c.a = measured(&sides[0]);
	c.b = measured(&sides[1]);
	return compare(o, &c);
}

enum exit_code
ab_run(const struct load_options *o)
{
	struct side sides[2] = {0};
	enum exit_code code = EXIT_COULD_NOT_RUN;
	int err;

	if (o->plan.iterations > SHIFT_MAX) {
		complain("ab compares at most 2000 iterations");
		return EXIT_USAGE;
	}
	err = side_open(&sides[0], o, o->url_a, "a");
	if (err == 0)
		err = side_open(&sides[1], o, o->url_b, "b");
	if (err < 0) {
		complain(strerror(-err));
		goto done;
	}
	experiment_share(sides[1].e, sides[0].e);
	for (size_t i = 0; i < 2; i++) {
		err = experiment_open(sides[i].e);
		if (err < 0) {
			complain(sides[i].e->why);
			code = err == -EINVAL ? EXIT_USAGE : EXIT_COULD_NOT_RUN;
			goto done;
		}
	}
	check_before(o, &sides[0].e->report.sender_cpus);
	err = iterate(sides, o->plan.seed);
	if (err < 0)
		complain(sides[0].e->why[0] != '\0' ? sides[0].e->why
						    : sides[1].e->why);
	else
		code = conclude(o, sides);
done:
	/* The second uses what the first owns. */
	side_close(&sides[1]);
	side_close(&sides[0]);
	return code;
}
