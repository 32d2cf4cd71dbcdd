/*
 * utf8.h: whether bytes are UTF-8.
 */
#ifndef TAILOR_BASE_UTF8_H
#define TAILOR_BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 sequence at s (n > 0 bytes left), 0 if there
 * is none: overlong forms, surrogates and code points above U+10FFFF are not
 * well formed.  Any thread.  Source: The Unicode Standard 15, table 3-7. */
size_t utf8_sequence(const unsigned char *s, size_t n);

#endif
