/*
 * errors.h: the list of errors found; private to config/.
 */
#ifndef TAILOR_CONFIG_ERRORS_H
#define TAILOR_CONFIG_ERRORS_H

#include <stdbool.h>

#include "config/config.h"

/* More than this many nobody reads; the last one then says so. */
#define ERRORS_MAX 100

/* Append one sentence; out of memory or over the maximum, none. */
void errors_add(struct config_errors *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool errors_full(const struct config_errors *errors);

/* Room for any text of errors_quote. */
#define QUOTE_MAX 96

/*
 * Text from outside, fit to be shown: control bytes as '?', cut after some
 * 60 bytes.  Returns out.
 */
char *errors_quote(const char *text, char out[QUOTE_MAX]);

#endif
