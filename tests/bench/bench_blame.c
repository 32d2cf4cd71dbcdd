/*
 * bench_blame.c: whether intervals of blame hold the truth, and what they cost.
 *
 * 	build/bench/bench_blame [TRIES [REQUESTS [KIND]]]	20 of 20,000,
 * all
 *
 * `make populations` has 200 tries.  Beside blocks of time stand requests drawn
 * one by one, the usual mistake.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/unit/blame/populations.h"

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
print_held(const struct population *p, size_t n, unsigned tries, bool single)
{
	struct population_held h = population_hold(p, n, tries, 200, single);

	printf("  %5.1f %5.1f %5.1f", 100.0 * h.q / tries,
	    100.0 * h.excess / tries, 100.0 * h.without / tries);
}

static void
bench_hold(size_t n, unsigned tries, unsigned only)
{
	printf("%u populations of %zu requests; 95 %% intervals that hold the "
	       "truth (without: what another one has), %%\n%-26s %21s  %17s  "
	       "%17s\n%-26s %21s  %17s  %17s\n",
	    tries, n, "", "truth, ms", "blocks of time", "single requests", "",
	    "p99 excess without", "p99 exc. without", "p99 exc. without");
	for (unsigned k = 0; k < POPULATIONS; k++) {
		struct population p = population[k];

		if (only != 0 && k + 1 != only)
			continue;
		p.truth = population_measure(&p);
		printf("%-26s %6.3f %6.3f %6.3f", p.name, p.truth.q,
		    p.truth.excess, p.truth.without);
		print_held(&p, n, tries, false);
		print_held(&p, n, tries, true);
		printf("\n");
		fflush(stdout);
	}
}

static void
bench_time(size_t n)
{
	struct blame_options o = {.p = 0.99, .resamples = 200};
	struct blame_report r;
	struct blame_set *s = population_make(&population[1], n, 1, true);
	double begin = cpu_s();
	struct rusage u;

	if (blame_analyze(s, &o, &r) != 0)
		exit(1);
	getrusage(RUSAGE_SELF, &u);
	printf("%zu accounts, 200 resamples, %u causes in subsets: %.2f s of "
	       "CPU, %.1f MB held, %.1f MB of memory at most\n",
	    r.rows, r.together, cpu_s() - begin, (double)r.bytes / 1e6,
	    (double)u.ru_maxrss / 1e3);
	blame_free(&s);
}

int
main(int argc, char **argv)
{
	unsigned tries = argc > 1 ? (unsigned)atoi(argv[1]) : 20;
	size_t n = argc > 2 ? (size_t)atol(argv[2]) : 20000;

	if (argc < 4)
		bench_time(100000);
	bench_hold(n, tries, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
	return 0;
}
