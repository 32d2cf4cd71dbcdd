/* judge.h: check a parsed file against the table of keys, and list the errors;
 * private to config/. */
#pragma once

#include "config/config.h"
#include "config/keys.h"
#include "config/source.h"

/* Store every value of the file in c and report every one that is wrong.
 * Returns 0, -EINVAL (errors added) or -ENOMEM. */
int judge_source(
    struct config *c, const struct source *s, struct config_errors *errors);

/* Store one value given as text; index is that of the server, for keys of
 * servers.  Returns as judge_source. */
int judge_text(struct config *c, const struct config_key *key, unsigned index,
    const char *text, struct config_errors *errors);

/* Add "path: unknown key" and the nearest key, after where. */
void judge_unknown(
    struct config_errors *errors, const char *where, const char *path);

/* Most errors; after these a last one says that more follow. */
#define ERRORS_MAX 100

/* True once more than ERRORS_MAX errors were added: config_errors_add drops the
 * rest. */
bool errors_full(const struct config_errors *errors);

/* Room for any text of errors_quote. */
#define QUOTE_MAX 96

/* Text from outside for display: control bytes as '?', cut after about 60
 * bytes.  Returns out. */
char *errors_quote(const char *text, char out[QUOTE_MAX]);
