/* usage.h: explain a wrong command line in a sentence.
 *
 * For programs that parse with getopt_long and name the nearest option in the
 * message.  They set opterr to 0 and begin the string of letters with ":". */
#pragma once

#include <getopt.h>
#include <stddef.h>

/* Explain what getopt_long() refused when it returned code ('?' or ':').
 *   longs  its options, ended by one without a name; a letter's is its val
 *   argv   as getopt_long got it
 *   out    receives "unknown option --frob; did you mean --from?", no newline
 * Returns out.  Reads getopt's global state: main thread. */
const char *usage_refusal(const struct option *longs, int code,
    char *const *argv, char *out, size_t size);
