/* experiment.h: a whole run: iterations, interruption, results.
 *
 * Threads: the main thread plans, summarises and writes; between these it
 * sleeps, waking 4 times a second to rewrite a progress line if stderr is a
 * terminal, on a CPU other than the sender's where there is one.  A sender
 * thread lives for one iteration and is joined before anything it wrote is
 * read.  SIGINT and SIGTERM end the run early, with what there is; a second
 * one ends the program at once. */
#pragma once

#include "loadgen/send/sender.h"
#include "loadgen/analyzer.h"

enum exit_code {
	EXIT_DONE = 0,
	EXIT_COULD_NOT_RUN = 1,
	EXIT_USAGE = 2,
	EXIT_EXPECTATION_FAILED = 3,
	EXIT_BAD_GENERATOR = 4,
	EXIT_INTERRUPTED = 130,
};

struct experiment {
	struct load_options options;
	struct report report;
	struct sender sender;
	struct analyzer analyzer;
	cpu_set_t other_cpus; /* than the sender's */
	bool pause_first;     /* even the first iteration comes after a pause */
	struct experiment
	    *shared;	   /* borrowed; see experiment_share(), or NULL */
	bool has_results;  /* summary and verdict are complete */
	int64_t *trace_ns; /* owned; of --arrivals file, or NULL */
	int signal_fd;
	int done_fd;	 /* eventfd: the sender thread is about to end */
	int prepare_err; /* of the current iteration */
	size_t made_dir; /* how much of the output directory is new, or 0 */
	char why[256];	 /* after an error: one line for the person */
};

/* Make ready to run e->options: check the target and the requests, open the
 * outputs, block signals.  Everything else of *e must be zero.  Returns 0, or
 * -EINVAL (usage) or another negative errno with e->why set; experiment_close()
 * is due in any case.  Main thread. */
int experiment_open(struct experiment *e);
void experiment_close(struct experiment *e);

/* Before experiment_open(): use the signals and the CPUs of another, which is
 * open and stays so.  Its iterations and ours alternate; SIGINT ends both. */
void experiment_share(struct experiment *e, struct experiment *other);

/* Run all iterations.  Returns 0, also after an interruption, or a negative
 * errno with e->why set.  The same as begin, iterate for 1 to
 * e->options.iterations, and end. */
int experiment_run(struct experiment *e);
void experiment_begin(struct experiment *e);
int experiment_iterate(struct experiment *e, unsigned index);
int experiment_end(struct experiment *e);

/* Whether SIGINT or SIGTERM came, to this one or the shared one. */
bool experiment_interrupted(const struct experiment *e);
