/* words.h: claims in sentences.
 *
 * This folder owns the names of causes, servers and threads in text, and all
 * sentences about them: the verdict, its evidence.  Every number comes from an
 * event.  Pure functions: no clock, no input or output; any thread. */
#pragma once

#include "talechain/claims/story.h"

/* "observed", "likely", "not_observed"; static text. */
const char *story_confidence_name(enum story_confidence confidence);
/* The confidence with an explanation: "likely: ...". */
const char *story_confidence_words(enum story_confidence confidence);

/* Set the names of another request of a story, and add a line of evidence.
 *   i  < s->requests */
void story_request_name(struct story *s, unsigned i, const char *external_id,
    const char *method, const char *target);
