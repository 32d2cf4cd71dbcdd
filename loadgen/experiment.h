/* experiment.h: a whole run: iterations, interruption, results.
 *
 * Threads: the main thread plans, summarises and writes; between these it
 * sleeps, waking 4 times a second to rewrite a progress line if stderr is a
 * terminal, on a CPU other than the sender's where there is one.  A sender
 * thread lives for one iteration and is joined before anything it wrote is
 * read.  SIGINT and SIGTERM end the run early, with what there is; a second
 * one ends the program at once. */
#pragma once

#include "loadgen/analyzer.h"
#include "loadgen/send/sender.h"

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

/* True after SIGINT or SIGTERM, to this experiment or the shared one. */
bool experiment_interrupted(const struct experiment *e);

/* Write every output that is wanted and close it, then report.html.
 *   text  also print the report for a person, if stdout is free
 * Returns 0 or a negative errno. */
int finish_write(struct experiment *e, bool text);

/* Of a run that ended, well or early: the exit status.  Prints on stderr why it
 * is not 0, unless the report says so. */
enum exit_code finish_judge(struct experiment *e);

/* Print a line on stderr that begins with the program's name. */
void complain(const char *why);

/* Measure o->url_a and o->url_b, print and write the comparison, and with -o
 * each run, into a/ and b/.  Returns the exit status; says on stderr what went
 * wrong. */
enum exit_code ab_run(const struct load_options *o);

/* Check for o->duration_ns (10 s if it is 0) at o->rate_per_s and print what
 * was found.  Returns EXIT_DONE, EXIT_BAD_GENERATOR (a lateness of 1 ms or more
 * at p99) or EXIT_COULD_NOT_RUN. */
enum exit_code check_machine(const struct load_options *o, FILE *out);

/* The same before a run, of a sender on these CPUs (none: anywhere), for 0.2 s:
 * print on stderr if figures of o cannot be good here, and what to change.
 * Prints nothing if they can, and of a closed loop.  Sending is not part of it,
 * so it may miss what the verdict finds. */
void check_before(const struct load_options *o, const cpu_set_t *cpus);
