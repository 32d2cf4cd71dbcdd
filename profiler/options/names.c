#include "base/array.h"
#include "profiler/options/stats.h"

/* Names and meanings, in the order of their numbers. */
#define PROFILER_X(symbol, name, meaning) {name, meaning},
static const struct {
	const char *name, *meaning;
} parts[] = {PROFILER_PARTS(PROFILER_X)},
  signals[] = {PROFILER_KERNEL_SIGNALS(PROFILER_X)};
#undef PROFILER_X

const char *
profiler_part_name(enum profiler_part part)
{
	return parts[part].name;
}

const char *
profiler_signal_name(enum profiler_signal signal)
{
	return signals[signal].name;
}

const char *
profiler_signal_meaning(enum profiler_signal signal)
{
	return signals[signal].meaning;
}

const char *
profiler_poll_name(enum profiler_poll poll)
{
	static const char *const names[] = {
	    [PROFILER_POLL_SPIN] = "spin",
	    [PROFILER_POLL_RELAX] = "relax",
	    [PROFILER_POLL_SLEEP] = "sleep",
	};

	return NAME_IN(names, poll);
}

const char *
profiler_source_name(enum profiler_source source)
{
	static const char *const names[] = {
	    [PROFILER_SOURCE_NONE] = "none",
	    [PROFILER_SOURCE_PIDFD] = "pidfd",
	    [PROFILER_SOURCE_HSPERFDATA] = "hsperfdata",
	    [PROFILER_SOURCE_PROBES] = "probes",
	    [PROFILER_SOURCE_AGENT] = "agent",
	};

	return NAME_IN(names, source);
}
