/* bench_shim.c: the experiments of chapter 3 of the thesis that need no
 * particular hardware, on two CPUs of this machine.
 *
 *	bench_shim [SECONDS [DIRECTORY [CPU ON]]]
 *
 * SECONDS is about how long it takes (30); the curves are drawn as SVG files
 * into DIRECTORY, which is made; ON observes CPU.  On a busy machine
 * `chrt -f 60` takes both from everything else meanwhile. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/instant.h"
#include "tests/bench/shim/bench.h"

static void
progress(const char *what, unsigned percent)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%3u %%  %-40s%s", percent, what,
		    percent == 100 ? "\n" : "");
}

/* Two CPUs that we may use, or those given. */
static bool
two_cpus(struct bench_options *b, int producer, int observer)
{
	int found[2] = {producer, observer};
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return false;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &set) && cpu != found[0] &&
		    cpu != found[1]) {
			if (found[0] < 0)
				found[0] = cpu;
			else if (found[1] < 0)
				found[1] = cpu;
		}
	b->producer_cpu = found[0];
	b->observer_cpu = found[1];
	return found[0] >= 0 && found[1] >= 0 && found[0] != found[1];
}

int
main(int argc, char **argv)
{
	static struct bench_result result;
	struct bench_options o = {0};
	const char *plots = argc > 2 ? argv[2] : NULL;
	int64_t seconds = argc > 1 ? atoi(argv[1]) : 30;
	char why[4096];
	int err;

	if (!two_cpus(&o, argc > 4 ? atoi(argv[3]) : -1,
		argc > 4 ? atoi(argv[4]) : -1)) {
		fprintf(stderr, "bench_shim needs two CPUs, one to observe the "
				"other; this process may use one\n");
		return 1;
	}
	if (plots != NULL && mkdir(plots, 0777) < 0 && errno != EEXIST) {
		fprintf(stderr, "%s: %s\n", plots, strerror(errno));
		return 1;
	}
	o.piece_ns = seconds * NS_PER_S / BENCH_PIECES;
	err = bench_run(&result, &o, progress);
	if (err < 0) {
		fprintf(stderr, "bench_shim: %s\n", strerror(-err));
		return 1;
	}
	bench_print(&result);
	if (plots != NULL && bench_plots(&result, plots, why, sizeof(why)) < 0)
		fprintf(stderr, "bench_shim: %s could not be written\n", why);
	return 0;
}
