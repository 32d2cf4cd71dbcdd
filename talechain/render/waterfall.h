/* waterfall.h: the stages of a request, drawn to scale in text.  Private. */
#pragma once

#include "base/text.h"
#include "talechain/tale/tale.h"

/* Append the waterfall of a tale, in lines of 80 columns; nothing if the tale
 * took no time. */
void tale_waterfall(const struct tale *t, struct text *x);
