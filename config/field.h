/*
 * field.h: which fields of a request warmup.fields may name.
 */
#ifndef TAILOR_CONFIG_FIELD_H
#define TAILOR_CONFIG_FIELD_H

/* Why a copy of a request must not carry this field, or that it is not the
 * name of one; NULL if it may.  Static text. */
const char *field_judge(const char *name);

#endif
