/*
 * sentence.h: a sentence for people, in lines of at most 80 columns.
 */
#ifndef TAILOR_PROFILER_SHIM_SENTENCE_H
#define TAILOR_PROFILER_SHIM_SENTENCE_H

/* Print lead, a space, text and a full stop; further lines are indented by
 * two.  The text is ours, without a full stop. */
void sentence_print(const char *lead, const char *text);

#endif
