/* shim.h: `tailor shim`: sample counters and shared memory at high rates. */
#pragma once

/* Run the command with its own arguments (argv[0] is "shim").  Returns an exit
 * status: 0, 1 it could not observe, 2 the command line is wrong.  Pins the
 * calling thread and ends after --seconds, when the target is gone, or on
 * SIGINT. */
int shim_main(int argc, char **argv);
