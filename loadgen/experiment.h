/*
 * experiment.h: a whole run: iterations, interruption, results.
 *
 * Threads: the main thread plans, summarises and writes; between these it
 * sleeps, waking 4 times a second to rewrite a progress line if stderr is a
 * terminal, on a CPU other than the sender's where there is one.  A sender
 * thread lives for one iteration and is joined before anything it wrote is
 * read.  SIGINT and SIGTERM end the run early, with what there is; a second
 * one ends the program at once.
 */
#ifndef TAILOR_LOADGEN_EXPERIMENT_H
#define TAILOR_LOADGEN_EXPERIMENT_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "loadgen/stats/environment.h"
#include "loadgen/send/host.h"
#include "loadgen/options.h"
#include "loadgen/report/output.h"
#include "loadgen/send/request.h"
#include "loadgen/send/sender.h"
#include "loadgen/stats/summary.h"
#include "loadgen/talechain.h"
#include "loadgen/send/target.h"
#include "loadgen/stats/verdict.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_COULD_NOT_RUN = 1,
	EXIT_USAGE = 2,
	EXIT_EXPECTATION_FAILED = 3,
	EXIT_BAD_GENERATOR = 4,
	EXIT_INTERRUPTED = 130,
};

struct experiment {
	struct options options;
	struct target target;
	struct request_texts texts;
	struct sender sender;
	struct iteration iteration;
	struct summary summary;
	struct verdict verdict;
	struct talechain talechain;
	struct host host;
	struct environment environment;
	cpu_set_t sender_cpus; /* empty: not pinned */
	cpu_set_t other_cpus;
	struct timespec started; /* CLOCK_REALTIME */
	struct instant epoch;	 /* the same moment */
	bool interrupted;
	bool pause_first; /* even the first iteration comes after a pause */
	struct experiment
	    *shared;	   /* borrowed; see experiment_share(), or NULL */
	bool has_results;  /* summary and verdict are complete */
	int64_t *trace_ns; /* owned; of --arrivals file, or NULL */
	int signal_fd;
	int done_fd;	 /* eventfd: the sender thread is about to end */
	int prepare_err; /* of the current iteration */
	struct output json;
	struct output requests;
	struct output csv;
	struct output hgrm;
	size_t made_dir; /* how much of options.out_dir was not there, or 0 */
	char why[256];	 /* after an error: one line for the person */
};

/*
 * experiment_open(e):
 * Make ready to run e->options: check the target and the requests, open the
 * outputs, block signals.  Everything else of *e must be zero.
 * Returns 0, or -EINVAL (usage) or another negative errno with e->why set;
 * experiment_close() is due in any case.  Main thread.
 */
int experiment_open(struct experiment *e);
void experiment_close(struct experiment *e);

/*
 * experiment_share(e, other):
 * Before experiment_open(): use the signals and the CPUs of another, which is
 * open and stays so.  Its iterations and ours alternate; SIGINT ends both.
 */
void experiment_share(struct experiment *e, struct experiment *other);

/*
 * experiment_run(e):
 * Run all iterations.  Returns 0, also after an interruption, or a negative
 * errno with e->why set.  The same as begin, iterate for 1 to
 * e->options.iterations, and end.
 */
int experiment_run(struct experiment *e);
void experiment_begin(struct experiment *e);
int experiment_iterate(struct experiment *e, unsigned index);
int experiment_end(struct experiment *e);

/* Whether somebody wants it to end. */
bool experiment_interrupted(const struct experiment *e);

#endif
