/* job.h: runs a program in our place: signals, stops and the terminal are its
 * own, and how it ends is how we end. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct job_end {
	int status;	 /* of waitpid(2), once it has run */
	int64_t cpu_ns;	 /* of it and its children that were waited for */
	int64_t wall_ns; /* from its begin to its end */
};

/* Run argv[0], searched in PATH, and wait for its end.  enter is called in the
 * new process before; if it returns a negative errno, nothing is run.
 *
 * Signals that are sent to us are passed on; those of the terminal reach the
 * program anyway.  If it stops, so do we, until we are continued.
 *
 * The signals that are passed on stay blocked afterwards, so that none ends us
 * before job_exit.
 *
 * Returns 0 with *out, or a negative errno of fork(2), enter or execvp(3), and
 * *entered is true if it is the last one's.  Main
 * thread; others have blocked all signals. */
int job_run(char **argv, int (*enter)(void *user), void *user,
    struct job_end *out, int *entered);

/* End this process as the job ended. */
_Noreturn void job_exit(int status);
