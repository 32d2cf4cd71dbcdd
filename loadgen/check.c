/* check.c: measures how well a sender can keep its schedule on this machine.
 *
 * Sends nothing.  A thread placed like the sender wakes at the instants of a
 * Poisson schedule, sleeping and spinning as the sender does. */
#include "loadgen/experiment.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/quantity.h"

#define DURATION_NS (10 * NS_PER_S)
#define BEFORE_NS (200 * NS_PER_MS)
#define LEAST 100 /* instants, for a p99 */
#define MOST 10000000

struct check {
	const struct load_options *options; /* borrowed */
	cpu_set_t cpus;
	int64_t *ns; /* owned; when each is due, then how late it was */
	size_t n;
};

static void *
check_main(void *argument)
{
	struct check *c = argument;
	const int64_t spin_ns = c->options->plan.spin ? SENDER_SPIN_NS : 0;

	(void)host_place_sender(&c->cpus, c->options->real_time);
	struct instant zero = instant_plus(instant_now(), NS_PER_MS);
	for (size_t i = 0; i < c->n; i++) {
		struct instant due = instant_plus(zero, c->ns[i]);
		struct instant wake = instant_plus(due, -spin_ns);
		const struct timespec t = {
		    .tv_sec = (time_t)(wake.ns / NS_PER_S),
		    .tv_nsec = (long)(wake.ns % NS_PER_S)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
		do
			c->ns[i] = instant_since(instant_now(), due);
		while (c->ns[i] < 0);
	}
	return NULL;
}

/* Keep a schedule for duration_ns; fills in ns with the lateness, sorted. */
static int
run(struct check *c, int64_t duration_ns)
{
	const struct plan *plan = &c->options->plan;
	double n = ceil(plan->rate_per_s * (double)duration_ns / 1e9);
	pthread_t thread;
	int err;

	c->n = (size_t)fmin(fmax(n, LEAST), MOST);
	c->ns = calloc(c->n, sizeof(*c->ns));
	if (c->ns == NULL)
		return -ENOMEM;
	/* A low rate is raised, so that LEAST instants fit in. */
	schedule_fill(ARRIVALS_POISSON,
	    fmax(plan->rate_per_s, LEAST * 1e9 / (double)duration_ns),
	    plan->seed, c->ns, c->n);
	err = -pthread_create(&thread, NULL, check_main, c);
	if (err == 0)
		pthread_join(thread, NULL);
	array_sort_int64(c->ns, c->n);
	return err;
}

/* Print the effect of this lateness, and the remedy. */
static void
explain(const struct check *c, int64_t p99_ns, FILE *out)
{
	const struct verdict v = {.level = VERDICT_DOUBTFUL};
	struct environment e;
	struct host h;
	char t[QUANTITY_TEXT_MAX];

	fprintf(out,
	    "timers on this machine are late now; a p99 below %s cannot be "
	    "trusted\n",
	    quantity_format_ns(20 * p99_ns, t));
	host_read(&h, -1);
	environment_describe(&e, &h, &c->cpus, CPU_COUNT(&c->cpus) == 0, 0);
	environment_advise(&e, &c->options->plan, &v, c->options->real_time);
	environment_print(&e, false, out);
}

static enum exit_code
judge(const struct check *c, FILE *out)
{
	int64_t p99_ns = quantile_sorted(c->ns, c->n, 99);
	bool bad = p99_ns >= NS_PER_MS;
	char t[4][QUANTITY_TEXT_MAX];

	fprintf(out, "late by p50 %s, p99 %s, p99.9 %s, max %s\n",
	    quantity_format_ns(quantile_sorted(c->ns, c->n, 50), t[0]),
	    quantity_format_ns(p99_ns, t[1]),
	    quantity_format_ns(quantile_sorted(c->ns, c->n, 99.9), t[2]),
	    quantity_format_ns(c->ns[c->n - 1], t[3]));
	if (trust_of(0, p99_ns) == TRUST_GOOD) {
		fprintf(out, "GOOD: timer lateness alone distorts no p99\n");
		return EXIT_DONE;
	}
	fprintf(out, "%s: ", bad ? "BAD" : "DOUBTFUL");
	explain(c, p99_ns, out);
	return bad ? EXIT_BAD_GENERATOR : EXIT_DONE;
}

enum exit_code
check_machine(const struct load_options *o, FILE *out)
{
	struct check c = {.options = o};
	enum exit_code code = EXIT_COULD_NOT_RUN;
	cpu_set_t others;
	int err =
	    host_choose_cpus(o->cpus_given ? &o->cpus : NULL, &c.cpus, &others);

	if (!o->pin)
		CPU_ZERO(&c.cpus);
	if (err == 0)
		err =
		    run(&c, o->duration_ns > 0 ? o->duration_ns : DURATION_NS);
	if (err == 0)
		code = judge(&c, out);
	else
		fprintf(stderr, "tailor-load: check: %s\n", strerror(-err));
	free(c.ns);
	return code;
}

void
check_before(const struct load_options *o, const cpu_set_t *cpus)
{
	struct check c = {.options = o, .cpus = *cpus};

	if (o->plan.arrivals != ARRIVALS_CLOSED && run(&c, BEFORE_NS) == 0) {
		int64_t p99_ns = quantile_sorted(c.ns, c.n, 99);
		if (trust_of(0, p99_ns) != TRUST_GOOD) {
			fprintf(stderr, "tailor-load: warning: ");
			explain(&c, p99_ns, stderr);
		}
	}
	free(c.ns);
}
