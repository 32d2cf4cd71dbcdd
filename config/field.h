/*
 * field.h: which fields of a request warmup.fields may name.
 */
#ifndef TAILOR_CONFIG_FIELD_H
#define TAILOR_CONFIG_FIELD_H

/* The reason why a copy of a request must not carry this field, or why it is
 * not a field name; NULL if it may.  Static text. */
const char *field_judge(const char *name);

#endif
