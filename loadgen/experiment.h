/* experiment.h: a whole run: iterations, interruption, results.
 *
 * Threads: the main thread plans, summarises and writes, on a CPU other than
 * the sender's if there is one.  During an iteration it sleeps; if stderr is a
 * terminal it wakes 4 times a second to rewrite a progress line.  A sender
 * thread lives for one iteration and is joined before its results are
 * read.  SIGINT or SIGTERM ends the run early and reports the results so far; a
 * second signal ends the program at once. */
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
	cpu_set_t other_cpus; /* CPUs without the sender's */
	bool pause_first;     /* pause before the first iteration, too */
	struct experiment
	    *shared;	   /* borrowed; see experiment_share(), or NULL */
	bool has_results;  /* summary and verdict are complete */
	int64_t *trace_ns; /* owned; of --arrivals file, or NULL */
	int signal_fd;
	int done_fd;	 /* eventfd: the sender thread is about to end */
	int prepare_err; /* of the current iteration */
	size_t made_dir; /* see file_make_directory() */
	char why[256];	 /* after an error: one line for the person */
};

/* Prepare to run e->options: check the target and the requests, open the
 * outputs, block signals.  All other fields of *e must be zero.  Returns 0, or
 * -EINVAL (usage) or another negative errno with e->why set; call
 * experiment_close() in any case.  Main thread. */
int experiment_open(struct experiment *e);
void experiment_close(struct experiment *e);

/* Call it before experiment_open(): e uses the signals and the CPUs of other,
 * which is open and stays open.  Iterations of both alternate; SIGINT ends
 * both. */
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

/* Return the exit status of a run that has ended.  Prints on stderr why it is
 * not 0, unless the report says so. */
enum exit_code finish_judge(struct experiment *e);

/* True if something printed on stdout is lost; flushes it. */
bool stdout_failed(void);

/* Print a line on stderr that begins with the program's name. */
void complain(const char *why);

/* Measure o->url_a and o->url_b, print and write the comparison, and with -o
 * write each run, into a/ and b/.  Returns the exit status; errors are printed
 * on stderr. */
enum exit_code ab_run(const struct load_options *o);

/* Search for the highest rate at which o->find_percent of the requests to
 * o->url take at most o->find_limit_ns, and print it.  Returns the exit status:
 * EXIT_EXPECTATION_FAILED if the lowest rate was too high, EXIT_BAD_GENERATOR
 * if the generator was too late to say; errors are printed on stderr. */
enum exit_code find_run(const struct load_options *o);

/* Measure how late a sender at o->rate_per_s would be on this machine, for
 * o->duration_ns (0: 10 s), and print the result.  Returns EXIT_DONE,
 * EXIT_BAD_GENERATOR (1 ms late or more at p99) or EXIT_COULD_NOT_RUN. */
enum exit_code check_machine(const struct load_options *o, FILE *out);

/* The same before a run, for a sender on these CPUs (none: any), for 0.2 s: if
 * the figures of o cannot be good here, print on stderr what to change.  Prints
 * nothing otherwise, and for a closed loop.  Nothing is sent, so this may miss
 * what the verdict finds later. */
void check_before(const struct load_options *o, const cpu_set_t *cpus);
