/* words.h: claims in sentences.
 *
 * This room owns how a cause, a server and a thread are called and what is said
 * of them: the verdict, its evidence, names.  Every number is one of an event.
 * Pure functions: no clock, no input or output; any thread. */
#pragma once

#include "talechain/claims/story.h"

/* "observed", "likely", "not_observed"; static text. */
const char *story_confidence_name(enum story_confidence confidence);
/* The same for a reader: "likely: ...". */
const char *story_confidence_words(enum story_confidence confidence);

/* Say which one another request of a story was: its names, and a line of
 * evidence.
 *   i  < s->requests */
void story_request_name(struct story *s, unsigned i, const char *external_id,
    const char *method, const char *target);
