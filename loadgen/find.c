/* find.c: searches for the highest rate at which a percentile keeps a limit.
 *
 * rate_search.h chooses the rates; here each is tried.  A trial is an
 * experiment of one iteration: a fifth as many requests again as a warm-up,
 * then the measured ones, at random instants as in every run, so that a server
 * that is too slow shows a queue.  Before the first trial, and after each that
 * was too much, requests are sent one after the other until they take as long
 * as at first: no trial begins with the queue of another.  Causes come from the
 * Tailor in front of the server, if there is one, for the slowest requests of
 * the lowest rate that was too high. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/quantity.h"
#include "base/text.h"
#include "loadgen/experiment.h"
#include "loadgen/stats/rate_search.h"

#define DURATION_NS (180 * NS_PER_S) /* of the whole search, by default */
#define FULL_OVER 10	       /* requests over the limit that a trial allows */
#define SHORT_OVER 3	       /* the same of a short one */
#define REQUESTS_MAX 1000000.0 /* of a trial; it is shorter then */
#define WARMUP_SHARE 5
#define QUIET_NS (200 * NS_PER_MS) /* before each trial */
#define LATE_SPAN 1.03		   /* time to send over time to be due */
#define PROBES 20		   /* requests one after the other */
#define RECOVER_NS (30 * NS_PER_S)
#define CAUSES_MAX 3
#define EXPLAINED 20 /* requests of a trial */

struct find {
	const struct load_options *o; /* borrowed */
	struct experiment *base;      /* owned; has the signals, and probes */
	struct rate_search search;
	double explained_per_s;	  /* the lowest rate that was too high */
	struct findings findings; /* of its slowest requests */
	struct instant deadline;
	int64_t alone_ns;  /* p50 of requests one after the other, at first */
	const char *ended; /* why the search ended early, or NULL */
	char why[256];
};

/* --- one experiment ------------------------------------------------------- */

/* Make an experiment of one iteration; the caller closes and frees *out. */
static int
open_one(struct find *f, const struct plan *plan, bool explain,
    struct experiment **out)
{
	struct experiment *e = calloc(1, sizeof(*e));
	int err;

	*out = e;
	if (e == NULL)
		return -ENOMEM;
	e->options = *f->o;
	e->options.plan = *plan;
	e->options.plan.iterations = 1;
	e->options.criteria.slow = explain ? EXPLAINED : 0;
	e->options.output = (struct output_options){.quiet = true};
	if (f->base != NULL)
		experiment_share(e, f->base);
	err = experiment_open(e);
	if (err == 0) {
		experiment_begin(e);
		err = experiment_iterate(e, 1);
	}
	if (err < 0)
		snprintf(f->why, sizeof(f->why), "%s",
		    e->why[0] != '\0' ? e->why : strerror(-err));
	return err;
}

static void
close_one(struct experiment **e)
{
	if (*e != NULL)
		experiment_close(*e);
	free(*e);
	*e = NULL;
}

/* Send requests one after the other.
 *   p50_ns  receives their p50; INT64_MAX if most failed
 * Returns 0 or a negative errno with f->why set. */
static int
probe(struct find *f, struct experiment **kept, int64_t *p50_ns)
{
	struct plan plan = f->o->plan;
	struct experiment *e;
	int err;

	plan.arrivals = ARRIVALS_CLOSED;
	plan.closed_clients = plan.connections = plan.max_connections = 1;
	plan.requests = PROBES;
	plan.warmup = 0;
	plan.pause_ns = 0;
	err = open_one(f, &plan, false, &e);
	*p50_ns = INT64_MAX;
	if (err == 0) {
		const struct latency_summary *l =
		    &e->report.summary.iterations[0].series[SERIES_LATENCY];
		if (2 * l->count > PROBES)
			*p50_ns = l->at_ns[percentiles_index(
			    &e->options.criteria.percentiles, 50)];
	}
	if (kept != NULL)
		*kept = e;
	else
		close_one(&e);
	return err;
}

/* Wait until requests take no longer than at first; a server that refuses
 * connections is waited for, too.  Returns 0, -ETIMEDOUT or another negative
 * errno with f->why set. */
static int
drain(struct find *f, double rate_per_s)
{
	struct instant end = instant_plus(instant_now(), RECOVER_NS);
	const struct timespec nap = {.tv_nsec = QUIET_NS};

	while (!experiment_interrupted(f->base)) {
		int64_t p50_ns;
		int err = probe(f, NULL, &p50_ns);
		/* The server may have crashed and be starting again. */
		if (err < 0 && err != -ECONNREFUSED)
			return err;
		if (p50_ns <= 2 * f->alone_ns + NS_PER_MS ||
		    p50_ns <= f->o->find_limit_ns / 10)
			return 0;
		if (!instant_before(instant_now(), end)) {
			if (err < 0)
				return err;
			snprintf(f->why, sizeof(f->why),
			    "30 s after %.4g/s the server was still slower "
			    "than before",
			    rate_per_s);
			return -ETIMEDOUT;
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* --- one trial ------------------------------------------------------------ */

static double
requests_of(const struct find *f, double rate_per_s, bool full)
{
	double seconds = (double)f->o->find_step_ns / (double)NS_PER_S;
	double least =
	    (full ? FULL_OVER : SHORT_OVER) / (1 - f->o->find_percent / 100);

	if (!full)
		seconds /= SEARCH_FULL;
	return fmin(
	    ceil(fmax(least - 1e-6, rate_per_s * seconds)), REQUESTS_MAX);
}

static int64_t
duration_ns(const struct find *f, double rate_per_s, bool full)
{
	double n = requests_of(f, rate_per_s, full);

	return QUIET_NS + (int64_t)((n + n / WARMUP_SHARE) / rate_per_s *
				    (double)NS_PER_S);
}

static struct trial_slice
slice_of(const struct find *f, const struct request_sample *samples, size_t n,
    bool waited, int64_t *scratch)
{
	struct trial_slice slice = {.requests = n};

	for (size_t i = 0; i < n; i++) {
		const struct request_sample *s = &samples[i];
		bool ok = sample_is_ok(s);
		bool most = !ok || sample_latency_ns(s) > f->o->find_limit_ns;
		/* Waiting for one of the connections that a slow server holds
		 * is no lateness of the generator. */
		slice.over_most += most;
		slice.over_least +=
		    waited ? most
			   : !ok || sample_least_ns(s) > f->o->find_limit_ns;
		scratch[i] = instant_since(s->last, s->scheduled);
	}
	array_sort_int64(scratch, n);
	slice.median_ns = n > 0 ? quantile_sorted(scratch, n, 50) : 0;
	return slice;
}

/* True if sending took longer than the schedule. */
static bool
sent_late(const struct iteration *it)
{
	const struct request_sample *first = iteration_measured(it);
	const struct request_sample *last = &first[it->requests - 1];

	return (double)instant_since(last->send_begin, first->scheduled) >
	       LATE_SPAN * (double)instant_since(
			       last->scheduled, first->scheduled) +
		   (double)NS_PER_MS;
}

static int
read_trial(
    const struct find *f, const struct experiment *e, struct rate_trial *t)
{
	const struct iteration *it = &e->report.iteration;
	bool waited = e->report.summary.iterations[0].waited > 0;
	int64_t *scratch = calloc(it->requests + 1, sizeof(*scratch));
	size_t over = 0;

	if (scratch == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < SEARCH_SLICES; i++) {
		size_t from = it->requests * i / SEARCH_SLICES;
		size_t to = it->requests * (i + 1) / SEARCH_SLICES;
		t->slices[i] = slice_of(f, iteration_measured(it) + from,
		    to - from, waited, scratch);
		over += t->slices[i].over_most;
	}
	free(scratch);
	/* A server that is too slow holds all connections, and then the
	 * generator cannot keep the rate; else that is its own fault. */
	t->late = it->requests - over >=
			  quantile_rank(f->o->find_percent, it->requests)
		      ? waited || sent_late(it)
		      : !waited && sent_late(it);
	return 0;
}

/* Keep the explanations of a trial that was too much, unless there are some of
 * a lower rate. */
static void
take_findings(struct find *f, struct experiment *e, double rate_per_s)
{
	struct findings *all = &e->report.findings;

	if (all->count == 0 ||
	    (f->findings.count > 0 && f->explained_per_s < rate_per_s))
		return;
	findings_fini(&f->findings);
	f->findings = *all;
	*all = (struct findings){0};
	f->explained_per_s = rate_per_s;
}

static void
say_trial(const struct find *f, const struct rate_trial *t)
{
	const struct load_options *o = f->o;
	size_t n = 0, over = 0, least = 0;
	char limit[QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < SEARCH_SLICES; i++) {
		n += t->slices[i].requests;
		over += t->slices[i].over_most;
		least += t->slices[i].over_least;
	}
	if (o->output.quiet)
		return;
	fprintf(stderr, "%10.4g/s  ", t->rate_per_s);
	if (t->late) {
		fprintf(stderr, "the generator could not keep this rate\n");
		return;
	}
	fprintf(stderr, "%7.3g %% of %zu over %s",
	    100 * (double)over / (double)n, n,
	    quantity_format_ns(o->find_limit_ns, limit));
	if (least < over)
		fprintf(stderr, ", %.3g %% without the generator's lateness",
		    100 * (double)least / (double)n);
	for (size_t i = 0; i < f->search.count; i++) {
		if (f->search.tried[i].rising &&
		    f->search.tried[i].rate_per_s >= t->rate_per_s &&
		    f->search.tried[i].rate_per_s <= t->rate_per_s)
			fprintf(stderr, ", and latency grew to the end");
	}
	fprintf(stderr, "\n");
}

/* Try a rate, and let the server recover. */
static int
try_rate(struct find *f, double rate_per_s, bool full)
{
	struct rate_trial t = {.rate_per_s = rate_per_s, .full = full};
	struct plan plan = f->o->plan;
	struct experiment *e;
	size_t over = 0, n;
	int err;

	plan.rate_per_s = rate_per_s;
	plan.requests = n = (uint64_t)requests_of(f, rate_per_s, full);
	plan.warmup = plan.requests / WARMUP_SHARE;
	plan.pause_ns = QUIET_NS;
	plan.seed += UINT64_C(1000) * (f->search.trials + 1);
	err = open_one(f, &plan, true, &e);
	if (err == 0 && !experiment_interrupted(f->base))
		err = read_trial(f, e, &t);
	if (err < 0 || experiment_interrupted(f->base))
		goto done;
	rate_search_add(&f->search, &t);
	say_trial(f, &t);
	for (size_t i = 0; i < SEARCH_SLICES; i++)
		over += t.slices[i].over_least;
	if (!t.late && n - over < quantile_rank(f->o->find_percent, n))
		take_findings(f, e, rate_per_s);
done:
	close_one(&e);
	return err < 0 || over == 0 ? err : drain(f, rate_per_s);
}

/* --- the search ----------------------------------------------------------- */

static int
search(struct find *f)
{
	for (;;) {
		double rate, kept = f->search.start_per_s;
		for (size_t i = 0; i < f->search.count; i++) {
			if (rate_keeps(&f->search, &f->search.tried[i]))
				kept = f->search.tried[i].rate_per_s;
		}
		int64_t left_ns = instant_since(f->deadline, instant_now());
		enum search_step step = rate_search_next(&f->search,
		    left_ns < 4 * duration_ns(f, kept, true), &rate);
		if (step == SEARCH_DONE || experiment_interrupted(f->base))
			return 0;
		if (duration_ns(f, rate, step == SEARCH_TRY_FULL) > left_ns) {
			f->ended = "the time was up (--duration)";
			return 0;
		}
		int err = try_rate(f, rate, step == SEARCH_TRY_FULL);
		/* Results of the trials before it are still true. */
		if (err < 0 && f->search.trials > 0) {
			f->ended = f->why;
			return 0;
		}
		if (err < 0)
			return err;
	}
}

static void
print_causes(const struct find *f)
{
	struct slow_cause causes[CAUSES_MAX];
	int n = findings_causes(&f->findings, causes, CAUSES_MAX);
	char safe[4 * FINDING_CODE_MAX];

	for (int i = 0; i < n; i++)
		printf("%s%s %.0f %%", i > 0 ? ", " : "",
		    text_safe(safe, sizeof(safe), causes[i].code),
		    100 * (double)causes[i].count / (double)f->findings.count);
}

/* Print the rate, its interval, and what was seen above. */
static void
print_found(const struct find *f, const struct rate_found *r)
{
	char limit[QUANTITY_TEXT_MAX];

	printf("%.4g/s", r->rate->rate_per_s);
	if (r->over == NULL || r->over->requests == 0)
		printf(" or more");
	else if (r->low_per_s > 0 && r->high_per_s > 0)
		printf(" (%.4g to %.4g)",
		    fmin(r->low_per_s, r->rate->rate_per_s), r->high_per_s);
	else if (r->high_per_s > 0)
		printf(" (at most %.4g; the trials show no lower bound)",
		    r->high_per_s);
	else
		printf(" (%s)", "the trials show no upper bound");
	if (f->findings.count > 0) {
		printf("; at %.4g/s: ", f->explained_per_s);
		print_causes(f);
	}
	printf("\nThere %.2g %% of %zu requests failed or took over %s, in "
	       "%u trial%s.\n",
	    100 * (double)r->rate->over_most / (double)r->rate->requests,
	    r->rate->requests, quantity_format_ns(f->o->find_limit_ns, limit),
	    r->rate->full, r->rate->full == 1 ? "" : "s");
	if (r->over == NULL)
		printf("That is the highest rate to try (--max-rate).\n");
	else if (r->over->requests == 0)
		printf("At %.4g/s the generator itself was late: use another "
		       "machine, or --priority.\n",
		    r->over->rate_per_s);
}

/* Print why there is no rate. */
static enum exit_code
no_rate(const struct find *f, const struct rate_found *r)
{
	const struct tried_rate *t = &f->search.tried[0];
	bool lowest =
	    f->search.count > 0 && t->rate_per_s <= f->o->find_lowest_per_s;
	char limit[QUANTITY_TEXT_MAX];

	quantity_format_ns(f->o->find_limit_ns, limit);
	if (lowest && r->over == t && t->rising) {
		printf("latency grows to the end even at %.4g/s (--min-rate)\n",
		    t->rate_per_s);
		return EXIT_EXPECTATION_FAILED;
	}
	if (lowest && r->over == t && t->requests > 0) {
		printf("p%.9g is over %s even at %.4g/s (--min-rate)\n",
		    f->o->find_percent, limit, t->rate_per_s);
		return EXIT_EXPECTATION_FAILED;
	}
	if (lowest && !rate_keeps(&f->search, t)) {
		printf("not known: the generator itself is too late, even at "
		       "%.4g/s\n",
		    t->rate_per_s);
		return EXIT_BAD_GENERATOR;
	}
	printf("not known: no rate is shown to keep p%.9g within %s; raise "
	       "--duration\n",
	    f->o->find_percent, limit);
	return EXIT_COULD_NOT_RUN;
}

static enum exit_code
conclude(const struct find *f)
{
	struct rate_found r;
	enum exit_code code = EXIT_DONE;

	rate_search_result(&f->search, &r);
	if (r.rate != NULL)
		print_found(f, &r);
	else
		code = no_rate(f, &r);
	if (f->ended != NULL)
		fprintf(stderr, "tailor-load: the search ended early: %s\n",
		    f->ended);
	if (experiment_interrupted(f->base))
		return EXIT_INTERRUPTED;
	if (!stdout_failed())
		return code;
	complain("the result could not be written completely");
	return EXIT_COULD_NOT_RUN;
}

enum exit_code
find_run(const struct load_options *o)
{
	struct find *f = calloc(1, sizeof(*f));
	enum exit_code code = EXIT_COULD_NOT_RUN;
	int err;

	if (f == NULL) {
		complain("out of memory");
		return code;
	}
	f->o = o;
	f->deadline = instant_plus(
	    instant_now(), o->duration_ns > 0 ? o->duration_ns : DURATION_NS);
	err = probe(f, &f->base, &f->alone_ns);
	if (err == 0 && experiment_interrupted(f->base)) {
		code = EXIT_INTERRUPTED;
		goto done;
	}
	if (err == 0 && f->alone_ns == INT64_MAX) {
		snprintf(f->why, sizeof(f->why),
		    "most of %d requests, sent one after the other, failed",
		    PROBES);
		err = -EIO;
	}
	if (err == 0) {
		check_before(o, &f->base->report.sender_cpus);
		f->search.percent = o->find_percent;
		f->search.lowest_per_s = o->find_lowest_per_s;
		f->search.highest_per_s = o->find_highest_per_s;
		f->search.start_per_s = 0.5e9 / (double)f->alone_ns;
		err = search(f);
	}
	if (err == 0)
		code = conclude(f);
	else
		complain(f->why);
	if (err == -EINVAL)
		code = EXIT_USAGE;
done:
	findings_fini(&f->findings);
	close_one(&f->base);
	free(f);
	return code;
}
