#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "profiler/cost.h"
#include "tailorctl/plain.h"
#include "tailorctl/probe.h"

#define ROUNDS 5
#define INDENT 17

static void
print_signals(const struct profiler_signal_state *state)
{
	printf("\nKernel events\n");
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++) {
		probe_head(
		    state[i].on, profiler_signal_name((enum profiler_signal)i));
		plain_wrap(stdout,
		    state[i].on
			? profiler_signal_meaning((enum profiler_signal)i)
			: state[i].why,
		    INDENT);
	}
}

static void
print_costs(const struct cost *c)
{
	printf("\nTheir cost here, ns (profiler.kernel), for a watched "
	       "process and any other\n\n"
	       "  %-8s %10s %20s %20s %14s\n",
	    "", "off", "lite", "full", "all");
	for (unsigned w = 0; w < COST_WORK_COUNT; w++) {
		const double *mine = c->watched_ns[w],
			     *others = c->others_ns[w];

		printf("  %-8s %10.0f", cost_work_name((enum cost_work)w),
		    mine[COST_BARE]);
		for (unsigned p = COST_LITE; p < COST_PROFILES; p++)
			printf("  %+8.0f /%+7.0f", mine[p] - mine[COST_BARE],
			    others[p] - others[COST_BARE]);
		printf("\n");
	}
	printf("\n");
	for (unsigned w = 0; w < COST_WORK_COUNT; w++)
		printf("  %-8s %s\n", cost_work_name((enum cost_work)w),
		    cost_work_meaning((enum cost_work)w));
	printf("  Best of %d rounds; on a busy machine, only the order "
	       "of magnitude.\n",
	    ROUNDS);
}

static void
write_costs(struct json *j, const struct cost *c)
{
	json_key_array(j, "kernel_costs");
	for (unsigned w = 0; w < COST_WORK_COUNT; w++)
		for (unsigned p = 0; p < COST_PROFILES; p++) {
			json_object_begin(j);
			json_key_string(
			    j, "work", cost_work_name((enum cost_work)w));
			json_key_string(j, "profile",
			    cost_profile_name((enum cost_profile)p));
			json_key_double(j, "watched_ns", c->watched_ns[w][p]);
			json_key_double(j, "others_ns", c->others_ns[w][p]);
			json_object_end(j);
		}
	json_array_end(j);
}

static void
write_signals(struct json *j, const struct profiler_signal_state *state)
{
	json_key_array(j, "kernel_signals");
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++) {
		json_object_begin(j);
		json_key_string(
		    j, "name", profiler_signal_name((enum profiler_signal)i));
		json_key_string(j, "meaning",
		    profiler_signal_meaning((enum profiler_signal)i));
		json_key_bool(j, "available", state[i].on);
		if (!state[i].on)
			json_key_string(j, "why", state[i].why);
		json_object_end(j);
	}
	json_array_end(j);
}

void
probe_costs(struct json *j)
{
	struct profiler_signal_state state[PROFILER_SIGNALS];
	static struct cost cost;
	int err;

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "measuring the cost of kernel events ...\r");
	err = cost_measure(&cost, ROUNDS, state);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%40s\r", "");
	if (j != NULL) {
		write_signals(j, state);
		if (err == 0)
			write_costs(j, &cost);
		return;
	}
	print_signals(state);
	if (err == 0)
		print_costs(&cost);
	else if (err == -EPERM)
		printf("\nTheir cost is not measured without that%s\n",
		    geteuid() == 0 ? "." : ": sudo tailorctl probe");
	else
		printf(
		    "\nTheir cost could not be measured: %s\n", strerror(-err));
}
