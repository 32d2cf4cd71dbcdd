/* task_map_abi.h: shared by the program and its loader. */
#ifndef TAILOR_PROFILER_SHIM_TASK_MAP_ABI_H
#define TAILOR_PROFILER_SHIM_TASK_MAP_ABI_H

#define TASK_MAP_CPUS 1024 /* a power of two */

/* One CPU's word in lines of its own: 128, for prefetchers that fetch two. */
struct task_map_cpu {
	unsigned long long running;
	unsigned long long unused[15];
};

#endif
