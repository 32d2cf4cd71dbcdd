#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "profiler/profiler.h"
#include "tailorctl/options.h"
#include "base/terminal.h"
#include "tailorctl/probe.h"

static const struct {
	const char *name;
	const char *gives;
	void (*probe)(struct probe_finding *f);
} probes[] = {
    {"lane",
	"a CPU for the observer alone: pauses are seen within microseconds",
	probe_cpus},
    {"clock", "one cheap clock for the events of all sources", probe_clock},
    {"shm", "memory for the event stream and channels, never a disk file",
	probe_memory},
    {"pidfd", "a server's exit, the moment it happens", probe_exit},
    {"hsperfdata", "collections and safepoints of an unmodified JVM",
	probe_pages},
    {"agent", "collections and safepoints exactly, and their causes",
	probe_agent},
    {"steering", "collections while a server has no requests (hedging.steer)",
	probe_steering},
    {"scheduler",
	"a short time slice, which the proxy and the observer request: on a "
	"shared CPU they run sooner",
	probe_scheduler},
    {"bpf",
	"events of the kernel: run queues, softirqs, TCP, page faults "
	"(profiler.kernel); tailorctl info lists those of a running tailor",
	probe_kernel},
    {"pmu", "instructions and cache misses: `tailor shim`, profiler.counters",
	probe_counters},
};
#define PROBES (sizeof(probes) / sizeof(probes[0]))
#define INDENT 17

static void
print_head(bool available, const char *name)
{
	printf("%s%-3s%s  %-12s",
	    plain_escape(available ? TERMINAL_GREEN : TERMINAL_YELLOW),
	    available ? "yes" : "no", plain_escape(TERMINAL_PLAIN), name);
}

static void
show(unsigned i, const struct probe_finding *f)
{
	print_head(f->available, probes[i].name);
	plain_wrap(stdout, f->found, INDENT);
	printf("     %-12s", "  gives");
	plain_wrap(stdout, probes[i].gives, INDENT);
	if (f->enable != NULL) {
		printf("     %-12s", f->available ? "  better" : "  needs");
		plain_wrap(stdout, f->enable, INDENT);
	}
}

static void
write_finding(struct json *j, unsigned i, const struct probe_finding *f)
{
	json_object_begin(j);
	json_key_string(j, "name", probes[i].name);
	json_key_bool(j, "available", f->available);
	json_key_string(j, "found", f->found);
	json_key_string(j, "gives", probes[i].gives);
	if (f->enable != NULL)
		json_key_string(j, "enable", f->enable);
	json_object_end(j);
}

/* Show the kernel's events: as text, or in the open JSON object j. */
static void
show_kernel(struct json *j)
{
	struct profiler_signal_state state[PROFILER_SIGNALS];

	profiler_signals_here(state);
	if (j != NULL)
		json_key_array(j, "kernel_signals");
	else
		printf("\nKernel events\n");
	for (unsigned i = 0; i < PROFILER_SIGNALS; i++) {
		enum profiler_signal signal = (enum profiler_signal)i;
		const char *name = profiler_signal_name(signal);
		const char *meaning = profiler_signal_meaning(signal);

		if (j == NULL) {
			print_head(state[i].on, name);
			plain_wrap(stdout, state[i].on ? meaning : state[i].why,
			    INDENT);
			continue;
		}
		json_object_begin(j);
		json_key_string(j, "name", name);
		json_key_string(j, "meaning", meaning);
		json_key_bool(j, "available", state[i].on);
		if (!state[i].on)
			json_key_string(j, "why", state[i].why);
		json_object_end(j);
	}
	if (j != NULL)
		json_array_end(j);
}

int
command_probe(const struct ctl_options *options)
{
	int status = STATUS_OK;
	struct json j;

	plain_json_begin(&j);
	json_key_string(&j, "schema", "tailor.probe/1");
	json_key_array(&j, "signals");
	for (unsigned i = 0; i < PROBES; i++) {
		struct probe_finding f;

		memset(&f, 0, sizeof(f));
		probes[i].probe(&f);
		if (options->json)
			write_finding(&j, i, &f);
		else
			show(i, &f);
	}
	json_array_end(&j);
	if (probe_observer(options, options->json ? &j : NULL) < 0)
		status = STATUS_NO;
	show_kernel(options->json ? &j : NULL);
	if (options->json)
		return plain_json_end(&j) < 0 ? STATUS_NO : status;
	json_fini(&j);
	return status;
}
