/*
 * stress.h: writers faster than an observer, and readers of the stream behind
 * it.
 */
#pragma once

#include "tests/unit/unit.h"

/* One round of so many events of each writer: each of them must be accounted
 * for as recorded or lost, and none corrupt; some are lost.  Returns how often
 * the observer met a writer in its slot. */
uint64_t stress_run(uint64_t events);
