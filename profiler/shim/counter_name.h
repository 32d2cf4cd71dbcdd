/*
 * counter_name.h: from an event's name to its number.
 *
 * A separate file, because libpfm4 declares kernel structures in conflict with
 * the kernel's own headers.
 */
#ifndef TAILOR_PROFILER_SHIM_COUNTER_NAME_H
#define TAILOR_PROFILER_SHIM_COUNTER_NAME_H

#include <stdint.h>

struct counter_number {
	uint32_t type;
	uint64_t config, config1, config2;
};

/*
 * Look a name up: "pmu/event/" in sysfs, anything else in libpfm4.  Returns 0,
 * -EINVAL (no such name), -ENOENT (known, but not on this machine) or -ENOMEM.
 */
int counter_number_find(struct counter_number *out, const char *name);

#endif
