/* screen.h: a display that is redrawn regularly: top, and rates of metrics.
 *
 * On a terminal each drawing replaces the last one and keys are read.
 * Elsewhere drawings follow each other and there are no keys.  The terminal's
 * state is restored after any exit but SIGKILL.  Main thread only. */
#pragma once

#include "tailorctl/options.h"

#define SCREEN_QUIT 'q'

/* Set up the terminal, unless the output is JSON or is drawn once. */
void screen_open(const struct ctl_options *o);

/* Begin a drawing: clear the terminal. */
void screen_begin(void);

/* Rows of the terminal; UINT32_MAX if there is none. */
uint32_t screen_rows(void);

/* Print the last line of a drawing: the keys of all displays, and further ones.
 *   keys  "s sort by count", or "" */
void screen_hint(const char *keys);

/* Wait ns, or until a key is pressed.  Returns the key, 0 if there was none, or
 * SCREEN_QUIT also at the end of the input.  Space is handled here. */
int screen_wait(int64_t ns);

/* True while space has stopped the display. */
bool screen_paused(void);
