/* task_map_abi.h: shared by the program and its loader. */
#pragma once

#define TASK_MAP_CPUS 1024 /* a power of two */

/* One CPU's word, in 128 bytes of its own: some prefetchers fetch two lines. */
struct task_map_cpu {
	unsigned long long running;
	unsigned long long unused[15];
};
