#include "loadgen/check.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "loadgen/send/quantity.h"
#include "loadgen/send/schedule.h"
#include "loadgen/send/sender.h"
#include "loadgen/stats/statistics.h"

#define DEFAULT_DURATION_NS (10 * NS_PER_S)
#define FINE_NS (200 * NS_PER_US)

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

	if (!host_place_sender(&c->cpus, c->options->real_time))
		fprintf(stderr, "tailor-load: --priority: not permitted; "
				"checking without\n");
	struct instant zero = instant_plus(instant_now(), NS_PER_MS);
	for (size_t i = 0; i < c->n; i++) {
		struct instant due = instant_plus(zero, c->offset_ns[i]);
		bool spin = i >= c->by_timer;
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

static enum exit_code
judge(struct check *c, FILE *out)
{
	int64_t *spun = c->late_ns + c->by_timer;
	size_t n = c->n - c->by_timer;
	char t[2][QUANTITY_TEXT_MAX];
	size_t very_late = 0;

	samples_sort(c->late_ns, c->by_timer);
	samples_sort(spun, n);
	print_lateness(out, "timers alone", c->late_ns, c->by_timer);
	print_lateness(out, "sleep, then spin", spun, n);
	for (size_t i = 0; i < n; i++)
		very_late += spun[i] > NS_PER_MS;
	fprintf(out,
	    "longest stall while spinning %s; %zu of %zu over 1 ms late\n",
	    quantity_format_ns(c->longest_ns, t[0]), very_late, n);
	int64_t p99_ns = quantile_sorted(spun, n, 99);
	bool bad = very_late * 1000 > n;
	fprintf(out, "%s\n",
	    bad ? "BAD: more than 0.1 % over 1 ms late; an experiment here and "
		  "now would be refused."
	    : p99_ns < FINE_NS ? "GOOD: p99 below 200 us."
			       : "DOUBTFUL: p99 is not below 200 us.");
	return bad ? EXIT_BAD_GENERATOR : EXIT_DONE;
}

static int
run(struct check *c)
{
	pthread_t thread;
	cpu_set_t others;
	int err =
	    host_choose_cpus(c->options->cpus_given ? &c->options->cpus : NULL,
		&c->cpus, &others);

	if (err < 0)
		return err;
	if (!c->options->pin)
		CPU_ZERO(&c->cpus);
	schedule_fill(ARRIVALS_POISSON, c->options->plan.rate_per_s,
	    c->options->plan.seed, c->offset_ns, c->n);
	err = -pthread_create(&thread, NULL, check_main, c);
	if (err < 0)
		return err;
	pthread_join(thread, NULL);
	return 0;
}

enum exit_code
check_machine(const struct options *o, FILE *out)
{
	int64_t duration_ns =
	    o->duration_ns > 0 ? o->duration_ns : DEFAULT_DURATION_NS;
	double wanted = ceil(o->plan.rate_per_s * (double)duration_ns / 1e9);
	struct check c = {.options = o};
	enum exit_code code = EXIT_COULD_NOT_RUN;
	int err = -ENOMEM;

	c.n = wanted < 30 ? 30 : wanted > 1e7 ? 10000000 : (size_t)wanted;
	c.by_timer = c.n / 3;
	c.offset_ns = calloc(c.n, sizeof(*c.offset_ns));
	c.late_ns = calloc(c.n, sizeof(*c.late_ns));
	if (c.offset_ns != NULL && c.late_ns != NULL)
		err = run(&c);
	if (err == 0)
		code = judge(&c, out);
	else
		fprintf(stderr, "tailor-load: check: %s\n", strerror(-err));
	free(c.offset_ns);
	free(c.late_ns);
	return code;
}
