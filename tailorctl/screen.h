/* screen.h: a display that is drawn again and again: top, and rates of
 * metrics.
 *
 * On a terminal each drawing replaces the one before and keys are read.
 * Elsewhere drawings follow each other and there are no keys.  The terminal is
 * as it was after any exit but SIGKILL.  Main thread only. */
#pragma once

#include "tailorctl/options.h"

#define SCREEN_QUIT 'q'

/* Begin, unless the output is for a program or is drawn once. */
void screen_open(const struct ctl_options *o);

/* Begin a drawing: clear the terminal. */
void screen_begin(void);

/* Rows of the terminal; UINT32_MAX if there is none. */
uint32_t screen_rows(void);

/* The last line of a drawing: which keys there are, beside those of all
 * displays.
 *   keys  "s sort by count", or "" */
void screen_hint(const char *keys);

/* Wait that long, or until a key is pressed.  Returns it, 0 if there is none,
 * SCREEN_QUIT also at the end of the input.  Space is handled here. */
int screen_wait(int64_t ns);

/* Space has stopped the display. */
bool screen_paused(void);
