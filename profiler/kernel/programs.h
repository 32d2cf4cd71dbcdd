/* programs.h: which program gives which signal, and how they are loaded.
 * Private to this folder. */
#pragma once

#include <bpf/libbpf.h>

#include "profiler/kernel/kernel.h"

/* Where a program is attached. */
enum program_hook {
	PROGRAM_TRACEPOINT,
	PROGRAM_FAULT_MINOR, /* a software event of each CPU */
	PROGRAM_FAULT_MAJOR,
};

struct program {
	const char *name;   /* in the object */
	const char *target; /* tracepoint, NULL: none */
	enum program_hook hook;
	enum profiler_signal signal;
	bool needed; /* if it fails, the signal is off */
	bool often;  /* runs so often that pauses detach it */
	bool sums;   /* needed by sums: with them not detached */
};

extern const struct program programs[];
extern const unsigned programs_count;

#define PROGRAMS_MAX 48

/* Switch a signal off, with the reason. */
void signal_off(struct profiler_signal_state *state, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Open the object, fit it, load it.  Signals that cannot be loaded are switched
 * off in state and left out.  Returns 0, or a negative errno when none is
 * left. */
int programs_load(struct bpf_object **out, struct kernel_config *config,
    const struct kernel_options *options, unsigned cpus,
    struct profiler_signal_state *state);

/* Pages of KERNEL_PAGE bytes of the table of processes. */
unsigned programs_process_pages(void);

/* Bytes between the channels of two CPUs. */
size_t programs_channel_bytes(unsigned slot_log2);
