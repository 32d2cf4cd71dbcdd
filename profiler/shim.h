/*
 * shim.h: `tailor shim`, the observer as a microscope.
 */
#ifndef TAILOR_PROFILER_SHIM_H
#define TAILOR_PROFILER_SHIM_H

/*
 * The command with its own arguments (argv[0] is "shim").  Returns an exit
 * status: 0, 1 it could not observe, 2 the command line is wrong.  Pins the
 * calling thread and ends when told, when the target is gone, or on SIGINT.
 */
int shim_main(int argc, char **argv);

#endif
