/* probe_observer.c: the observer's cost, from its own counters.
 *
 * For a running tailor over a second, from its /metrics; otherwise for an
 * observer in this process without servers, placed and polling as planned for
 * this machine.  Periods are counted in powers of two, so a quantile is
 * reported as an upper bound. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/instant.h"
#include "base/json.h"
#include "base/topology.h"
#include "profiler/profiler.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/field.h"
#include "tailorctl/find.h"
#include "tailorctl/plain.h"
#include "tailorctl/probe.h"
#include "tailorctl/samples.h"
#include "talechain/timeline/timeline.h"

#define SLEEP_NS 200000 /* the default of profiler.poll */
#define BLIND_NS (10 * NS_PER_MS)
#define SECONDS_MAX 5
#define PREFIX "tailor_profiler_"
#define INDENT 17

/* Its counters at one time; after account_subtract, their growth. */
struct account {
	double at_s, sweeps, cpu_s, timed;
	double blind, blind_s, blind_max_s;
	double cycles[PROFILER_PART_COUNT];
	double period[PROFILER_PERIODS]; /* sweeps under 2^i ns, not 2^(i-1) */
};

/* The observer that was measured. */
struct observer {
	char whose[64];
	int cpu;		    /* it is pinned to, or -1 */
	char neighbour[PROBE_TEXT]; /* CPUs it may slow down */
};

static void
wait_a_second(void)
{
	struct timespec t = {.tv_sec = 1};

	nanosleep(&t, NULL);
}

static double
now_s(void)
{
	return (double)instant_now().ns / 1e9;
}

/* The label's value in NAME{label="value"}; false for another name. */
static bool
label_of(const struct sample *s, const char *name, char *out, size_t size)
{
	size_t n = strlen(name);
	const char *begin, *end;

	if (s->length <= n || strncmp(s->name, name, n) != 0)
		return false;
	begin = memchr(s->name + n, '"', s->length - n);
	if (begin == NULL)
		return false;
	begin++;
	end = memchr(begin, '"', (size_t)(s->name + s->length - begin));
	if (end == NULL || (size_t)(end - begin) >= size)
		return false;
	memcpy(out, begin, (size_t)(end - begin));
	out[end - begin] = '\0';
	return true;
}

/* A sample that has labels: a bucket of periods, or the cycles of a part. */
static void
take_labelled(struct account *a, const struct sample *s)
{
	char text[32];
	double edge = 0;
	unsigned i;

	if (label_of(
		s, PREFIX "period_seconds_bucket{le=", text, sizeof(text))) {
		i = PROFILER_PERIODS - 1;
		if (sscanf(text, "%lf", &edge) == 1 && edge > 0 &&
		    edge * 1e9 < ldexp(1, PROFILER_PERIODS - 2) * 1.5)
			i = (unsigned)lround(fmax(0, log2(edge * 1e9)));
		a->period[i] = s->value;
		return;
	}
	if (!label_of(
		s, PREFIX "sweep_cycles_total{source=", text, sizeof(text)))
		return;
	for (i = 0; i < PROFILER_PART_COUNT; i++)
		if (strcmp(text, profiler_part_name(i)) == 0)
			a->cycles[i] = s->value;
}

static void
take_sample(struct account *a, const struct sample *s)
{
	const struct {
		const char *name;
		double *value;
	} plain[] = {{PREFIX "samples_total", &a->sweeps},
	    {PREFIX "cpu_seconds_total", &a->cpu_s},
	    {PREFIX "sweeps_timed_total", &a->timed},
	    {PREFIX "blind_total", &a->blind},
	    {PREFIX "blind_seconds_total", &a->blind_s},
	    {PREFIX "blind_max_seconds", &a->blind_max_s}};

	for (unsigned i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (s->length == strlen(plain[i].name) &&
		    strncmp(s->name, plain[i].name, s->length) == 0)
			*plain[i].value = s->value;
	take_labelled(a, s);
}

/* Read the running tailor's metrics.  0, or -1 after a message. */
static int
account_ask(struct account *a, const struct options *o)
{
	const char *at, *end;
	double below = 0, up_to;
	struct http_response response;
	struct sample s;

	*a = (struct account){.at_s = now_s()};
	if (admin_request_ok(o, "GET", "/metrics", &response) < 0)
		return -1;
	at = response.body;
	end = at + response.length;
	while (samples_next(&at, end, &s))
		take_sample(a, &s);
	http_response_fini(&response);
	/* Buckets are cumulative; empty ones may be missing. */
	for (unsigned i = 0; i < PROFILER_PERIODS; i++) {
		up_to = fmax(a->period[i], below);
		a->period[i] = up_to - below;
		below = up_to;
	}
	return 0;
}

static void
account_copy(struct account *a, struct profiler *p)
{
	struct profiler_stats s;

	profiler_stats(p, &s);
	*a = (struct account){.at_s = now_s(),
	    .sweeps = (double)s.sweeps,
	    .cpu_s = (double)s.cpu_ns / 1e9,
	    .timed = (double)s.cost.timed,
	    .blind = (double)s.blind,
	    .blind_s = (double)s.blind_ns / 1e9,
	    .blind_max_s = (double)s.blind_max_ns / 1e9};
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		a->cycles[i] = (double)s.cost.cycles[i];
	for (unsigned i = 0; i < PROFILER_PERIODS; i++)
		a->period[i] = (double)s.cost.period[i];
}

/* Subtract an earlier account. */
static void
account_subtract(struct account *a, const struct account *before)
{
	a->at_s -= before->at_s;
	a->sweeps -= before->sweeps;
	a->cpu_s -= before->cpu_s;
	a->timed -= before->timed;
	a->blind -= before->blind;
	a->blind_s -= before->blind_s;
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		a->cycles[i] -= before->cycles[i];
	for (unsigned i = 0; i < PROFILER_PERIODS; i++)
		a->period[i] -= before->period[i];
}

/* Options as for a tailor on this machine. */
static void
plan_options(struct profiler_options *o, const struct topology *t)
{
	struct topology_plan plan;

	o->cpu = -1;
	o->poll = PROFILER_POLL_SLEEP;
	if (t == NULL)
		return;
	topology_plan(t, &plan);
	o->cpu = plan.observer_cpu;
	if (plan.poll == TOPOLOGY_POLL_RELAX)
		o->poll = PROFILER_POLL_RELAX;
}

/* Run an observer here for a second, and longer until one of its sweeps was
 * timed, as some are.  0 or a negative errno. */
static int
account_own(
    struct account *a, struct observer *observer, const struct topology *t)
{
	struct profiler_options options = {
	    .sleep_ns = SLEEP_NS, .channels_max = 1, .blind_ns = BLIND_NS};
	struct timeline *timeline;
	struct account before;
	struct profiler *p;
	int err = timeline_new(&timeline, NULL, 10);

	if (err < 0)
		return err;
	plan_options(&options, t);
	observer->cpu = options.cpu;
	snprintf(observer->whose, sizeof(observer->whose),
	    "in this process, without servers (%s)",
	    profiler_poll_name(options.poll));
	err = profiler_new(&p, &options);
	if (err < 0)
		goto out;
	err = profiler_start(p, timeline);
	if (err == 0) {
		account_copy(&before, p);
		for (unsigned i = 0; i < SECONDS_MAX && a->timed == 0; i++) {
			wait_a_second();
			account_copy(a, p);
			account_subtract(a, &before);
		}
	}
	profiler_free(&p);
out:
	timeline_free(&timeline);
	return err;
}

/* The bound that this share of periods is under, ns; 0 without periods. */
static double
period_under(const struct account *a, double part)
{
	double all = 0, sum = 0;

	for (unsigned i = 0; i < PROFILER_PERIODS; i++)
		all += a->period[i];
	for (unsigned i = 0; i < PROFILER_PERIODS && all > 0; i++) {
		sum += a->period[i];
		if (sum >= part * all)
			return ldexp(1, (int)i);
	}
	return 0;
}

static void
print_periods(const struct account *a)
{
	static const double part[] = {.5, .9, .99, .999};
	static const char *const name[] = {"p50", "p90", "p99", "p99.9"};
	const char *comma = "";
	char text[PLAIN_DURATION_BYTES];

	printf("     period     ");
	for (unsigned i = 0; i < 4 && period_under(a, 1) > 0; i++) {
		printf("%s %s <%s", comma, name[i],
		    plain_duration(text, (int64_t)period_under(a, part[i])));
		comma = ",";
	}
	if (period_under(a, 1) == 0)
		printf(" none: it rests, no request is in flight");
	putchar('\n');
}

static void
print_account(const struct account *a, const struct observer *observer)
{
	char text[2][PLAIN_DURATION_BYTES];
	double sum = 0;

	printf("\nThe observer, %s, over %.1f s\n", observer->whose, a->at_s);
	printf("     samples     %s/s\n",
	    plain_count(text[0], a->sweeps / a->at_s));
	print_periods(a);
	printf("     blind       %.0f times, %s in all; the longest ever %s\n",
	    a->blind, plain_seconds(text[0], a->blind_s),
	    plain_seconds(text[1], a->blind_max_s));
	printf("     uses        %.1f %% of a CPU%s\n",
	    a->cpu_s / a->at_s * 100, observer->cpu >= 0 ? " of its own" : "");
	printf("     a sweep     ");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++) {
		double mean = a->timed > 0 ? a->cycles[i] / a->timed : 0;

		printf("%s%s %.0f",
		    i == 4  ? ",\n                 "
		    : i > 0 ? ", "
			    : "",
		    profiler_part_name(i), mean);
		sum += mean;
	}
	printf("; together %.0f cycles\n     %-12s", sum, "beside it");
	plain_wrap(stdout, observer->neighbour, INDENT);
}

static void
write_account(
    const struct account *a, const struct observer *observer, struct json *j)
{
	json_key_object(j, "observer");
	json_key_string(j, "of", observer->whose);
	json_key_int(j, "cpu", observer->cpu);
	json_key_string(j, "neighbour", observer->neighbour);
	json_key_double(j, "seconds", a->at_s);
	json_key_double(j, "samples_per_s", a->sweeps / a->at_s);
	json_key_double(j, "period_p50_under_ns", period_under(a, .5));
	json_key_double(j, "period_p99_under_ns", period_under(a, .99));
	json_key_double(j, "period_p999_under_ns", period_under(a, .999));
	json_key_double(j, "blind", a->blind);
	json_key_double(j, "blind_seconds", a->blind_s);
	json_key_double(j, "blind_max_seconds", a->blind_max_s);
	json_key_double(j, "cpu_part", a->cpu_s / a->at_s);
	json_key_object(j, "sweep_cycles");
	for (unsigned i = 0; i < PROFILER_PART_COUNT; i++)
		json_key_double(j, profiler_part_name(i),
		    a->timed > 0 ? a->cycles[i] / a->timed : 0);
	json_object_end(j);
	json_object_end(j);
}

/* The CPU of the running tailor's observer, -1 if it is not pinned. */
static int
running_cpu(const struct options *o)
{
	cJSON *tree = admin_json(o, "/info");
	int cpu = (int)field_number(tree, "observer_cpu", -1);

	cJSON_Delete(tree);
	return cpu < CPU_SETSIZE ? cpu : -1;
}

/* Measure the running tailor over a second.  0, or -1 after a message. */
static int
account_running(
    struct account *a, struct observer *observer, const struct options *o)
{
	struct account before;

	snprintf(
	    observer->whose, sizeof(observer->whose), "of the running tailor");
	observer->cpu = running_cpu(o);
	if (account_ask(&before, o) < 0)
		return -1;
	wait_a_second();
	if (account_ask(a, o) < 0)
		return -1;
	account_subtract(a, &before);
	return 0;
}

int
probe_observer(const struct options *o, struct json *j)
{
	struct observer observer = {.cpu = -1};
	struct topology *t = NULL;
	struct account a = {0};
	int err;

	if (topology_open(&t, NULL) < 0)
		t = NULL;
	if (find_any(o)) {
		err = account_running(&a, &observer, o);
	} else {
		err = account_own(&a, &observer, t);
		if (err < 0)
			fprintf(stderr, "tailorctl: an observer: %s\n",
			    strerror(-err));
	}
	if (t != NULL)
		probe_neighbour(t, observer.cpu, observer.neighbour,
		    sizeof(observer.neighbour));
	topology_close(&t);
	if (err < 0)
		return -1;
	if (j != NULL)
		write_account(&a, &observer, j);
	else
		print_account(&a, &observer);
	return 0;
}
