/* Borrowing on simulated cores, as the thesis's figures 5.2 to 5.11 show it:
 * one line a run, comma separated.  borrowing_figures.py draws them.
 *
 *	bench_borrowing [REQUESTS]	of each run; 200000 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/borrowing/core.h"

/* Of a DaCapo program beside Lucene, and of a loop of IPC 0.01. */
#define SLOWDOWN 1.7
#define SLOWDOWN_LOOP 1.45
#define TARGET_MS 100

static uint32_t requests = 200000;

static struct core_result
run(const char *figure, struct core_setup s, const char *name)
{
	struct core_result r;

	s.requests = requests;
	r = core_run(&s);
	printf("%s,%s,%u,%g,%.1f,%.1f,%.3f,%.3f,%.3f,%.4f,%.3f,%.3f\n", figure,
	    name, s.cores, s.rate_per_s, s.budget_ms, r.p99_ms, r.request,
	    r.batch, r.work, 100 * r.late, r.worst_ms, r.short_gaps);
	fflush(stdout);
	return r;
}

/* 5.2: alone.  5.4: batch work always runs. */
static void
unmanaged(void)
{
	for (double rate = 10; rate <= 140; rate += 10) {
		struct core_setup s = core_usual(rate);

		run("5.2", s, "nobody");
		s.policy = CORE_UNFETTERED;
		s.slowdown = SLOWDOWN_LOOP;
		if (rate <= 90)
			run("5.4", s, "unfettered");
	}
}

/* All policies, at a budget of what is left of the target. */
static void
policies(double rate, const char *figure, unsigned cores, double budget_ms)
{
	struct core_setup s = core_usual(rate);
	struct core_result alone;

	s.cores = cores;
	alone = run(figure, s, "nobody");
	s.budget_ms = budget_ms > 0 ? budget_ms : TARGET_MS - alone.p99_ms;
	if (s.budget_ms < 0)
		s.budget_ms = 0;
	s.slowdown = SLOWDOWN;
	for (int i = 0; i < BORROWING_POLICIES; i++) {
		s.policy = i;
		s.loss = 1 - 1 / SLOWDOWN + 1e-9;
		run(figure, s, borrowing_policy_name((enum borrowing_policy)i));
	}
	s.loss = -1;
	run(figure, s, "debt (loss unknown)");
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		requests = (uint32_t)strtoul(argv[1], NULL, 10);
	if (argc > 2 || requests == 0) {
		fprintf(stderr, "usage: bench_borrowing [REQUESTS]\n");
		return 2;
	}
	puts("figure,policy,cores,rate,budget_ms,p99_ms,request,batch,work,"
	     "late_percent,worst_ms,short_gaps");
	unmanaged();
	for (double rate = 20; rate <= 110; rate += 10)
		policies(rate, "5.11", 1, 0);
	for (double rate = 150; rate <= 1050; rate += 150)
		policies(rate, "5.10", 7, 20);
	return 0;
}
