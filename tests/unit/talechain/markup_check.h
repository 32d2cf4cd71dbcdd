/*
 * markup_check.h: whether a text is well-formed markup.
 *
 * Knows what our renderings use of XML: elements, quoted attributes, the five
 * entities, numeric references, comments not at all.  Not linked with any
 * parser, so that a unit test needs none; the end-to-end tests use real ones.
 */
#pragma once

#include <stddef.h>

/*
 * Where the first fault is, or NULL.  *depth receives how deep elements were
 * nested at most.  Content of style and script elements is not looked at.
 */
const char *markup_fault(const char *text, unsigned *depth);

/* How often a string occurs in another. */
size_t occurrences(const char *text, const char *what);
