/* probe_observer.c: the cost of an observer on this machine.
 *
 * Runs an observer without servers in this process, placed and polling as
 * planned for this machine.  Does not run if a tailor runs, as its observer
 * would lose its CPU (`metrics --rates tailor_profiler` has its cost).  Periods
 * are counted in powers of two, so a quantile is reported as an upper bound.
 *
 * What a spinning thread takes from the SMT sibling depends on the core and on
 * the load there, so it is not estimated: the result is "none", or the command
 * that measures it. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/instant.h"
#include "base/json.h"
#include "base/topology.h"
#include "profiler/profiler.h"
#include "tailorctl/admin_request.h"
#include "base/terminal.h"
#include "tailorctl/probe.h"
#include "talechain/timeline/timeline.h"

#define SLEEP_NS 200000 /* the default of profiler.poll */
#define BLIND_NS (10 * NS_PER_MS)
#define SECONDS_MAX 5
#define INDENT 17

struct measured {
	struct profiler_stats stats;
	double seconds; /* 0: not measured */
};

static const struct {
	const char *name, *key;
	double part;
} quantiles[] = {{"p50", "period_p50_under_ns", .5}, {"p90", NULL, .9},
    {"p99", "period_p99_under_ns", .99},
    {"p99.9", "period_p999_under_ns", .999}};
#define QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

/* Run an observer for a second, or longer until a sweep was timed, as only some
 * sweeps are.  0 or a negative errno. */
static int
measure(struct measured *m, const struct profiler_options *options)
{
	const struct timespec second = {.tv_sec = 1};
	struct instant begin = instant_now();
	struct timeline *timeline;
	struct profiler *p;
	int err = timeline_new(&timeline, NULL, 10);

	if (err < 0)
		return err;
	err = profiler_new(&p, options);
	if (err < 0)
		goto free_timeline;
	err = profiler_start(p, timeline);
	for (unsigned i = 0;
	     err == 0 && i < SECONDS_MAX && m->stats.cost.timed == 0; i++) {
		nanosleep(&second, NULL);
		profiler_stats(p, &m->stats);
	}
	m->seconds = (double)instant_since(instant_now(), begin) / 1e9;
	profiler_free(&p);
free_timeline:
	timeline_free(&timeline);
	return err;
}

/* Return an upper bound of a quantile of the periods, ns; 0: no periods. */
static double
period_under(const struct measured *m, double part)
{
	const uint64_t *period = m->stats.cost.period;
	double all = 0, sum = 0;

	for (unsigned i = 0; i < PROFILER_PERIODS; i++)
		all += (double)period[i];
	for (unsigned i = 0; i < PROFILER_PERIODS && all > 0; i++) {
		sum += (double)period[i];
		if (sum >= part * all)
			return ldexp(1, (int)i);
	}
	return 0;
}

/* Return the mean cycles of a part of a sweep. */
static double
cycles_of(const struct measured *m, unsigned part)
{
	return m->stats.cost.timed > 0 ? (double)m->stats.cost.cycles[part] /
					     (double)m->stats.cost.timed
				       : 0;
}

static void
print_measured(const struct measured *m, const struct profiler_options *o)
{
	double sum = 0;

	printf("\nThe observer, in this process, without servers (%s), over "
	       "%.1f s\n"
	       "     samples     %s/s\n"
	       "     period     ",
	    profiler_poll_name(o->poll), m->seconds,
	    plain_count((double)m->stats.sweeps / m->seconds));
	for (unsigned i = 0; i < QUANTILES; i++)
		printf("%s %s <%s", i > 0 ? "," : "", quantiles[i].name,
		    plain_duration(
			(int64_t)period_under(m, quantiles[i].part)));
	printf("\n     blind       %llu times, %s in all; the longest %s\n"
	       "     uses        %.1f %% of a CPU%s\n     a sweep     ",
	    (unsigned long long)m->stats.blind,
	    plain_duration((int64_t)m->stats.blind_ns),
	    plain_duration((int64_t)m->stats.blind_max_ns),
	    (double)m->stats.cpu_ns / 1e7 / m->seconds,
	    o->cpu >= 0 ? " of its own" : "");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++) {
		printf("%s%s %.0f",
		    i == 4  ? ",\n                 "
		    : i > 0 ? ", "
			    : "",
		    profiler_part_name(i), cycles_of(m, i));
		sum += cycles_of(m, i);
	}
	printf("; together %.0f cycles\n", sum);
}

static void
write_measured(
    const struct measured *m, const struct profiler_options *o, struct json *j)
{
	const struct profiler_stats *s = &m->stats;

	json_key_string(j, "poll", profiler_poll_name(o->poll));
	json_key_double(j, "seconds", m->seconds);
	json_key_double(j, "samples_per_s", (double)s->sweeps / m->seconds);
	for (unsigned i = 0; i < QUANTILES; i++)
		if (quantiles[i].key != NULL)
			json_key_double(j, quantiles[i].key,
			    period_under(m, quantiles[i].part));
	json_key_uint(j, "blind", s->blind);
	json_key_double(j, "blind_seconds", (double)s->blind_ns / 1e9);
	json_key_double(j, "blind_max_seconds", (double)s->blind_max_ns / 1e9);
	json_key_double(j, "cpu_part", (double)s->cpu_ns / 1e9 / m->seconds);
	json_key_object(j, "sweep_cycles");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		json_key_double(j, profiler_part_name(i), cycles_of(m, i));
	json_object_end(j);
}

static int
first_of(const cpu_set_t *set)
{
	int cpu = 0;

	while (!CPU_ISSET((size_t)cpu, set))
		cpu++;
	return cpu;
}

void
probe_neighbour(const struct topology *t, int cpu, char *text, size_t size)
{
	cpu_set_t beside;

	if (topology_lanes(t) < 2) {
		snprintf(text, size,
		    "none: no core here has an SMT sibling for others. "
		    "Where one has, the cost to a thread beside the observer "
		    "can be measured");
		return;
	}
	if (cpu < 0) {
		snprintf(text, size,
		    "the observer is not pinned and may run on any CPU; "
		    "bench_shim (in Tailor's sources) measures what a thread "
		    "loses beside it on an SMT sibling");
		return;
	}
	if (topology_neighbours(t, cpu, &beside) == 0) {
		snprintf(text, size,
		    "this process may not use the SMT siblings of CPU %d; "
		    "the cost to them cannot be measured from here",
		    cpu);
		return;
	}
	snprintf(text, size,
	    "CPU %d, on the same core; `bench_shim 30 plots %d %d` (in "
	    "Tailor's sources) measures what a thread loses there",
	    first_of(&beside), first_of(&beside), cpu);
}

int
probe_observer(const struct ctl_options *o, struct json *j)
{
	struct profiler_options options = {.cpu = -1,
	    .poll = PROFILER_POLL_SLEEP,
	    .sleep_ns = SLEEP_NS,
	    .channels_max = 1,
	    .blind_ns = BLIND_NS};
	char neighbour[PROBE_TEXT] = "not known";
	struct measured m = {.seconds = 0};
	struct topology_plan plan;
	struct topology *t = NULL;
	int err = 0;

	if (topology_open(&t, NULL) == 0) {
		topology_plan(t, &plan);
		options.cpu = plan.observer_cpu;
		if (plan.poll == TOPOLOGY_POLL_RELAX)
			options.poll = PROFILER_POLL_RELAX;
		probe_neighbour(t, options.cpu, neighbour, sizeof(neighbour));
	}
	topology_close(&t);
	if (!find_any(o))
		err = measure(&m, &options);
	if (err < 0) {
		fprintf(stderr, "tailorctl: an observer: %s\n", strerror(-err));
		return -1;
	}
	if (j != NULL) {
		json_key_object(j, "observer");
		json_key_int(j, "cpu", options.cpu);
		json_key_string(j, "neighbour", neighbour);
		if (m.seconds > 0)
			write_measured(&m, &options, j);
		json_object_end(j);
		return 0;
	}
	if (m.seconds > 0)
		print_measured(&m, &options);
	else
		printf("\nThe observer of a running tailor: "
		       "tailorctl metrics --rates tailor_profiler\n");
	printf("     %-12s", "beside it");
	plain_wrap(stdout, neighbour, INDENT);
	return 0;
}
