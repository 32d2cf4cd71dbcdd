/*
 * names_check.h: the rule for names in a verdict.
 *
 * A sentence gives a name all of its time, or the part behind the name: "X (3.0
 * ms of it)".  A thread that is named must have had most of what it is given,
 * by the tale's events: over half.  Or the sentence says "among others".
 */
#pragma once

#include "talechain/claims/story.h"

/* Fail if a verdict breaks the rule, or names a thread in words that the rule
 * does not know.
 *   name  of the scenario, for the message */
void names_check(const char *name, const struct story *s);
