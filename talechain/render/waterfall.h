/* waterfall.h: the stages of a request, drawn to scale in text.  Private. */
#ifndef TAILOR_TALECHAIN_RENDER_WATERFALL_H
#define TAILOR_TALECHAIN_RENDER_WATERFALL_H

#include "base/text.h"
#include "talechain/explain/tale.h"

/* Append them. */
void tale_waterfall(const struct tale *t, struct text *x);

#endif
