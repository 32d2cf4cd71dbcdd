/* observe.c: the loop of `tailor shim`.
 *
 * Between two checks for the end, the loop only samples. */
#include "shim/observe.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/counters/cycles.h"
#include "profiler/processes/proc.h"

#define LIVE_NS NS_PER_S
#define CHECK_NS (10 * NS_PER_MS) /* for the end, at least so often */
#define SERIES_ROWS_MAX 1000000

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

/* The CPU to run on: the one given, else one of ours that is not the
 * target's. */
static int
choose_cpu(const struct observe_options *o)
{
	cpu_set_t set;
	int last = -1;

	if (o->on >= 0)
		return o->on;
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &set) && cpu != o->target.cpu)
			last = cpu;
	return last >= 0 ? last : o->target.cpu;
}

/* Check that there is a process to observe.  0, or -ESRCH with why. */
static int
prepare_target(struct observation *o, char *why)
{
	pid_t pid = o->options->target.pid;
	char state = proc_state(pid);

	if (state == 0 || state == 'Z' || state == 'X') {
		snprintf(why, SOURCE_WHY, "there is no process %ld", (long)pid);
		return -ESRCH;
	}
	if (state == 'T' || state == 't')
		snprintf(o->note, sizeof(o->note),
		    "process %ld is stopped; its values will not change until "
		    "SIGCONT",
		    (long)pid);
	return 0;
}

/* Open the sources.  0, or a negative errno with why. */
static int
prepare_sources(struct observation *o, char *why)
{
	const struct observe_options *options = o->options;
	int err = 0;

	for (unsigned i = 0; i < options->signals && err == 0; i++)
		err = sources_add(&o->sources, options->signal[i], why);
	if (options->signals == 0) {
		err = sources_add_default(&o->sources, why);
		if (err == 0 && o->note[0] == '\0')
			memcpy(o->note, why, sizeof(o->note));
	}
	if (err == 0 && options->tag != NULL)
		err = sources_tag(&o->sources, options->tag, why);
	return err;
}

/* Stay on our CPU.  0, or a negative errno with why. */
static int
prepare_cpu(const struct observation *o, char *why)
{
	cpu_set_t cpus;
	int err = 0;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)o->cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) < 0)
		err = -errno;
	if (err < 0)
		snprintf(why, SOURCE_WHY, "CPU %d: %s", o->cpu, strerror(-err));
	return err;
}

static int
prepare(struct observation *o, char *why)
{
	const struct observe_options *options = o->options;
	int64_t rows = options->length_ns / options->interval_ns + 1;
	int err = 0;

	o->cpu = choose_cpu(options);
	o->sources.target.on = o->cpu;
	o->sources.sampler.period = options->period;
	if (options->target.pid > 0)
		err = prepare_target(o, why);
	/* How a counter can be read depends on where we are. */
	if (err == 0)
		err = prepare_cpu(o, why);
	if (err == 0)
		err = prepare_sources(o, why);
	if (err < 0)
		return err;
	o->scope = scope_new(o->sources.sampler.signals, DTE_MARGIN_PPM);
	err = o->scope == NULL
		  ? -ENOMEM
		  : series_init(&o->series, &o->sources.sampler,
			(size_t)(rows < SERIES_ROWS_MAX ? rows
							: SERIES_ROWS_MAX));
	if (err < 0) {
		snprintf(why, SOURCE_WHY, "not enough memory");
	}
	return err;
}

/* True if the observation must end: interrupted, a file of words was cut, or
 * the process has ended. */
static bool
target_gone(struct observation *o)
{
	pid_t pid = o->options->target.pid;
	char state;

	if (interrupted) {
		o->ended = "interrupted";
		return true;
	}
	if (sources_are_cut(&o->sources)) {
		o->ended = "the file of a word was cut: the last samples are 0";
		return true;
	}
	if (pid <= 0)
		return false;
	state = proc_state(pid);
	if (state == 0 || state == 'Z' || state == 'X') {
		o->ended = "the process has ended";
		return true;
	}
	return false;
}

static uint64_t
cycles(const struct observation *o, int64_t ns)
{
	return (uint64_t)((double)ns * o->hz / 1e9);
}

static void
sample_until(struct observation *o, uint64_t until)
{
	struct sampler *sampler = &o->sources.sampler;
	struct shim_sample now;
	bool kept;

	do {
		sampler_take(sampler, &now);
		kept = scope_add(o->scope, &now);
		series_add(&o->series, &now, kept);
		o->last = now;
		sampler_wait(sampler, now.clock.begin);
	} while (now.clock.begin < until);
}

int
observe_run(
    struct observation *o, const struct observe_options *options, char *why)
{
	struct sigaction quiet = {.sa_handler = on_interrupt}, before[2];
	struct instant begin, now, shown;
	uint64_t interval, close_at, until;
	bool over;
	int err;

	memset(o, 0, sizeof(*o));
	o->options = options;
	sources_init(&o->sources, &options->target);
	o->hz = cycles_hz();
	err = prepare(o, why);
	if (err < 0)
		return err;
	interrupted = 0;
	sigaction(SIGINT, &quiet, &before[0]);
	sigaction(SIGTERM, &quiet, &before[1]);
	interval = cycles(o, options->interval_ns);
	begin = shown = instant_now();
	sampler_take(&o->sources.sampler, &o->first);
	scope_add(o->scope, &o->first);
	o->last = o->first;
	close_at = o->last.clock.begin + interval;
	do {
		until = o->last.clock.begin + cycles(o, CHECK_NS);
		sample_until(o, until < close_at ? until : close_at);
		now = instant_now();
		over = instant_since(now, begin) >= options->length_ns ||
		       target_gone(o);
		if (over || o->last.clock.begin >= close_at) {
			series_close(
			    &o->series, (uint64_t)instant_since(now, begin));
			close_at = o->last.clock.begin + interval;
		}
		if (options->live && instant_since(now, shown) >= LIVE_NS) {
			o->taken_ns = (uint64_t)instant_since(now, begin);
			observe_print(o, true);
			shown = now;
			/* No period may contain the time of printing. */
			o->scope->begun = false;
		}
	} while (!over);
	o->taken_ns = (uint64_t)instant_since(now, begin);
	sigaction(SIGINT, &before[0], NULL);
	sigaction(SIGTERM, &before[1], NULL);
	return 0;
}

void
observe_fini(struct observation *o)
{
	free(o->scope);
	o->scope = NULL;
	series_fini(&o->series);
	sources_fini(&o->sources);
}
