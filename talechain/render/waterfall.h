/* waterfall.h: the stages of a request, drawn to scale in text.  Private. */
#pragma once

#include "base/text.h"
#include "talechain/tale/tale.h"

/* Append them. */
void tale_waterfall(const struct tale *t, struct text *x);
