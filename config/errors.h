/*
 * errors.h: a list of errors; private to config/.
 */
#ifndef TAILOR_CONFIG_ERRORS_H
#define TAILOR_CONFIG_ERRORS_H

#include <stdbool.h>

#include "config/config.h"

/* Limit; the last one then says that more follow. */
#define ERRORS_MAX 100

/* Append one sentence; dropped out of memory or over the limit. */
void errors_add(struct config_errors *errors, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool errors_full(const struct config_errors *errors);

/* Room for any text of errors_quote. */
#define QUOTE_MAX 96

/* Text from outside for display: control bytes as '?', cut after about 60
 * bytes.  Returns out. */
char *errors_quote(const char *text, char out[QUOTE_MAX]);

#endif
