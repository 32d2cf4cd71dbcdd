/*
 * task_map.h: the task that runs on each CPU, as words for polling.
 *
 * The thesis patched the kernel to write that into shared memory at each task
 * switch; a BPF program on sched_switch does the same on a stock kernel.  Each
 * CPU's word is (process << 32 | thread), 0 while idle, in a cache line of its
 * own.
 *
 * Needs CAP_BPF and CAP_PERFMON.  Costs every task switch of the machine some
 * 100 ns while it is open.
 */
#ifndef TAILOR_PROFILER_SHIM_TASK_MAP_H
#define TAILOR_PROFILER_SHIM_TASK_MAP_H

#include <stddef.h>
#include <stdint.h>

struct task_map;

/* Load and attach.  Returns 0, or a negative errno with a sentence in why.
 * Blocks for some tenths of a second. */
int task_map_open(struct task_map **out, char *why, size_t size);
void task_map_close(struct task_map **mp);

/* The word of a CPU, for as long as the map is open; NULL: no such CPU. */
const uint64_t *task_map_word(const struct task_map *m, int cpu);

#endif
