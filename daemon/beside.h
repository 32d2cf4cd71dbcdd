/* beside.h: for tailor -t: what a tailor that runs with the tested file would
 * do with it.  Main thread, without a loop: may block for a second. */
#pragma once

struct config;

/* If a tailor runs with the file, print which keys a reload would change, or
 * why it would be refused: keys that need a restart, for example.  Nothing is
 * printed if none is found, or if its admin listener cannot be reached.
 *   c     the configuration that was read from file, and with options
 *   file  its path; NULL: nothing is printed */
void beside_report(const struct config *c, const char *file);
