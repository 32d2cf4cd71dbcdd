#include "loadgen/check.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/instant.h"
#include "loadgen/send/quantity.h"
#include "loadgen/send/schedule.h"
#include "loadgen/send/sender.h"
#include "loadgen/stats/statistics.h"

#define DEFAULT_DURATION_NS (10 * NS_PER_S)
#define BEFORE_NS (200 * NS_PER_MS)
#define BEFORE_RATE 500.0 /* at least, so that there are 100 */

struct check {
	const struct options *options; /* borrowed */
	cpu_set_t cpus;
	int64_t *offset_ns; /* owned; the schedule */
	int64_t *late_ns;   /* owned; how late each was */
	size_t by_timer;    /* how many, the first, by timers alone */
	size_t n;
	int64_t longest_ns; /* between two readings of the clock, spinning */
};

static void
sleep_until(struct instant at)
{
	struct timespec t = {.tv_sec = (time_t)(at.ns / NS_PER_S),
	    .tv_nsec = (long)(at.ns % NS_PER_S)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Return when it is due, or a little later. */
static struct instant
spin_until(struct check *c, struct instant due)
{
	struct instant now = instant_now();

	while (instant_before(now, due)) {
		struct instant before = now;
		now = instant_now();
		int64_t away_ns = instant_since(now, before);
		if (away_ns > c->longest_ns)
			c->longest_ns = away_ns;
	}
	return now;
}

static void *
check_main(void *argument)
{
	struct check *c = argument;

	if (!host_place_sender(&c->cpus, c->options->real_time) &&
	    c->by_timer > 0)
		fprintf(stderr, "tailor-load: --priority: not permitted; "
				"checking without\n");
	struct instant zero = instant_plus(instant_now(), NS_PER_MS);
	for (size_t i = 0; i < c->n; i++) {
		struct instant due = instant_plus(zero, c->offset_ns[i]);
		bool spin = i >= c->by_timer && c->options->plan.spin;
		sleep_until(instant_plus(due, spin ? -SENDER_SPIN_NS : 0));
		struct instant now = spin ? spin_until(c, due) : instant_now();
		c->late_ns[i] = instant_since(now, due);
	}
	return NULL;
}

static void
print_lateness(FILE *out, const char *how, const int64_t *sorted, size_t n)
{
	char t[4][QUANTITY_TEXT_MAX];

	fprintf(out, "%-18s late by p50 %s, p99 %s, p99.9 %s, max %s\n", how,
	    quantity_format_ns(quantile_sorted(sorted, n, 50), t[0]),
	    quantity_format_ns(quantile_sorted(sorted, n, 99), t[1]),
	    quantity_format_ns(quantile_sorted(sorted, n, 99.9), t[2]),
	    quantity_format_ns(sorted[n - 1], t[3]));
}

/* Latencies from here on are good if all is as late as that. */
static int64_t
good_from(int64_t late_ns)
{
	return trust_of(0, late_ns) == TRUST_GOOD ? 0 : late_ns * 20;
}

/* The p99 of lateness, sleeping and spinning; sorts. */
static int64_t
late_p99(struct check *c)
{
	samples_sort(c->late_ns, c->by_timer);
	samples_sort(c->late_ns + c->by_timer, c->n - c->by_timer);
	return quantile_sorted(
	    c->late_ns + c->by_timer, c->n - c->by_timer, 99);
}

/* What would help, in the words of a run that was not good. */
static void
advise(const struct check *c, FILE *out)
{
	const struct verdict v = {
	    .level = VERDICT_DOUBTFUL, .hiccups.spin_max_ns = c->longest_ns};
	struct environment e;
	struct host h;

	host_read(&h, -1);
	environment_describe(&e, &h, &c->cpus, CPU_COUNT(&c->cpus) == 0, 0);
	environment_advise(&e, &c->options->plan, &v, c->options->real_time);
	environment_print(&e, "to improve", out);
}

static enum exit_code
judge(struct check *c, FILE *out)
{
	int64_t p99_ns = late_p99(c);
	bool bad = p99_ns >= NS_PER_MS;
	char t[QUANTITY_TEXT_MAX];

	print_lateness(out, "timers alone", c->late_ns, c->by_timer);
	print_lateness(out, "sleep, then spin", c->late_ns + c->by_timer,
	    c->n - c->by_timer);
	fprintf(out, "longest stall while spinning %s\n",
	    quantity_format_ns(c->longest_ns, t));
	if (good_from(p99_ns) == 0) {
		fprintf(out, "GOOD: lateness alone will spoil no p99.\n");
		return EXIT_DONE;
	}
	fprintf(out, "%s: here and now a p99 below %s will not be good.\n",
	    bad ? "BAD" : "DOUBTFUL", quantity_format_ns(good_from(p99_ns), t));
	advise(c, out);
	return bad ? EXIT_BAD_GENERATOR : EXIT_DONE;
}

/* Keep n instants of a schedule, the first by_timer of them by timers. */
static int
run(struct check *c, double rate_per_s, size_t n, size_t by_timer)
{
	pthread_t thread;
	int err = -ENOMEM;

	c->n = n;
	c->by_timer = by_timer;
	c->offset_ns = calloc(n, sizeof(*c->offset_ns));
	c->late_ns = calloc(n, sizeof(*c->late_ns));
	if (c->offset_ns == NULL || c->late_ns == NULL)
		return err;
	schedule_fill(ARRIVALS_POISSON, rate_per_s, c->options->plan.seed,
	    c->offset_ns, n);
	err = -pthread_create(&thread, NULL, check_main, c);
	if (err == 0)
		pthread_join(thread, NULL);
	return err;
}

static void
check_fini(struct check *c)
{
	free(c->offset_ns);
	free(c->late_ns);
}

enum exit_code
check_machine(const struct options *o, FILE *out)
{
	int64_t duration_ns =
	    o->duration_ns > 0 ? o->duration_ns : DEFAULT_DURATION_NS;
	double wanted = ceil(o->plan.rate_per_s * (double)duration_ns / 1e9);
	size_t n = wanted < 30 ? 30 : wanted > 1e7 ? 10000000 : (size_t)wanted;
	struct check c = {.options = o};
	enum exit_code code = EXIT_COULD_NOT_RUN;
	cpu_set_t others;
	int err =
	    host_choose_cpus(o->cpus_given ? &o->cpus : NULL, &c.cpus, &others);

	if (!o->pin)
		CPU_ZERO(&c.cpus);
	if (err == 0)
		err = run(&c, o->plan.rate_per_s, n, n / 3);
	if (err == 0)
		code = judge(&c, out);
	else
		fprintf(stderr, "tailor-load: check: %s\n", strerror(-err));
	check_fini(&c);
	return code;
}

void
check_before(const struct options *o, const cpu_set_t *cpus)
{
	double rate =
	    o->plan.rate_per_s > BEFORE_RATE ? o->plan.rate_per_s : BEFORE_RATE;
	struct check c = {.options = o, .cpus = *cpus};
	char t[2][QUANTITY_TEXT_MAX];

	if (o->plan.arrivals == ARRIVALS_CLOSED)
		return;
	if (run(&c, rate, (size_t)(rate * BEFORE_NS / NS_PER_S), 0) == 0) {
		int64_t p99_ns = late_p99(&c);
		if (good_from(p99_ns) > 0) {
			fprintf(stderr,
			    "tailor-load: before the run: sending would be "
			    "%s late here (p99), so a\n  p99 below %s will "
			    "not be good\n",
			    quantity_format_ns(p99_ns, t[0]),
			    quantity_format_ns(good_from(p99_ns), t[1]));
			advise(&c, stderr);
		}
	}
	check_fini(&c);
}
