/*
 * shim_workload: two functions in turn, 5 us each, that change a word of
 * shared memory, for bench_shim.py to observe.
 *
 *	shim_workload FILE CPU
 *
 * FILE has a page: the word is at 0, which function runs (1 or 2) at 128.
 * Prints how many changes it made in how many ns, once a line is read from
 * standard input, and goes on; ends at its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/instant.h"
#include "profiler/counters/cycles.h"
#include "tests/bench/shim/workload.h"

#define TURN_US 5
#define TURNS_AT_ONCE 1000

static uint64_t *word;

static __attribute__((noinline)) void
work_light(uint64_t until)
{
	do {
		__atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < 20; i++)
			__asm__ volatile("" ::"r"(i));
	} while (cycles_now() < until);
}

static __attribute__((noinline)) void
work_heavy(uint64_t until)
{
	do {
		__atomic_store_n(word, *word + 1, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < 120; i++)
			__asm__ volatile("" ::"r"(i));
	} while (cycles_now() < until);
}

int
main(int argc, char **argv)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	uint64_t turn = (uint64_t)(cycles_hz() * TURN_US / 1e6), last = 0;
	struct instant since;
	char line[16];
	int fd;

	if (argc != 3)
		return 2;
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	word = fd < 0 ? MAP_FAILED
		      : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    0);
	if (fd >= 0)
		close(fd);
	if (word == MAP_FAILED || workload_pin(atoi(argv[2])) < 0) {
		perror("shim_workload");
		return 1;
	}
	since = instant_now();
	puts("ready");
	fflush(stdout);
	for (;;) {
		for (unsigned i = 0; i < TURNS_AT_ONCE; i++) {
			word[16] = 1 + i % 2;
			if (i % 2 == 0)
				work_light(cycles_now() + turn);
			else
				work_heavy(cycles_now() + turn);
		}
		if (poll(&input, 1, 0) <= 0)
			continue;
		if (fgets(line, sizeof(line), stdin) == NULL)
			return 0;
		printf("%" PRIu64 " %" PRId64 "\n", *word - last,
		    instant_since(instant_now(), since));
		fflush(stdout);
		last = *word;
		since = instant_now();
	}
}
