/* settings.h: what the command line says: options, and the configuration as
 * file and options together make it.
 *
 * The configuration is read again at every reload, from the same file with
 * the same options over it. */
#pragma once

#include "config/config.h"

#define SETTINGS_MAX 64

struct settings {
	const char *file; /* borrowed from argv, as are the rest; or NULL */
	bool test, dump, manual, schema;
	const char *completion; /* shell that the script is for, or NULL */
	unsigned sets;
	struct {
		const char *key, *value;
	} set[SETTINGS_MAX];
	char text[SETTINGS_MAX][256]; /* keys cut out of --set */
	char *instance; /* owned; the running tailor's name, NULL before */
};

/* Parse the command line into a zeroed s.  Ends the process for --help and
 * the like (status 0), and for a wrong one (status 2). */
void settings_parse(struct settings *s, int argc, char **argv);

/* Read the file, the environment, the command line and inherited sockets, in
 * this order, then check the result.  0, or a negative errno with all that is
 * wrong in errors and *out NULL.  Takes milliseconds.  Main thread. */
int settings_read(const struct settings *s, struct config **out,
    struct config_errors *errors);
