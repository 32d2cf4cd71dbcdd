#include "base/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

unsigned
terminal_columns(FILE *out)
{
	const char *given = getenv("COLUMNS");
	long columns = given != NULL ? strtol(given, NULL, 10) : 0;
	struct winsize size;

	if (!isatty(fileno(out)))
		return TERMINAL_COLUMNS;
	if (columns <= 0 && ioctl(fileno(out), TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (columns <= 0)
		return TERMINAL_COLUMNS;
	if (columns < TERMINAL_COLUMNS_MIN)
		return TERMINAL_COLUMNS_MIN;
	return columns < TERMINAL_COLUMNS_MAX ? (unsigned)columns
					      : TERMINAL_COLUMNS_MAX;
}

bool
terminal_has_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(out)) && (no == NULL || *no == '\0') &&
	       term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

const char *
terminal_escape(bool allowed, enum terminal_colour colour)
{
	static const char *const escape[] = {
	    [TERMINAL_PLAIN] = "\033[0m",
	    [TERMINAL_BOLD] = "\033[1m",
	    [TERMINAL_DIM] = "\033[2m",
	    [TERMINAL_RED] = "\033[1;31m",
	    [TERMINAL_GREEN] = "\033[32m",
	    [TERMINAL_YELLOW] = "\033[33m",
	};

	return allowed ? escape[colour] : "";
}
