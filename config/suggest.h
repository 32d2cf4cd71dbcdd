/*
 * suggest.h: "did you mean"; private to config/.
 */
#ifndef TAILOR_CONFIG_SUGGEST_H
#define TAILOR_CONFIG_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "config/keys.h"

/* The known key or section nearest to an unknown path ("servers[0].nmae"): a
 * similar name in the same section, else the same or a similar name in another.
 * False if none is near. */
bool suggest_key(const char *path, char out[KEY_PATH_MAX]);

/* The nearest choice, or NULL. */
const char *suggest_choice(const struct key_choice *choices, const char *text);

#endif
