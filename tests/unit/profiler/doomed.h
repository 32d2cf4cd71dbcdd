/*
 * doomed.h: a process with threads and memory, whose end a test is about.
 */
#pragma once

#include "fixture.h"

#include <sys/types.h>

#define DOOMED_THREADS 4

/* One with so many further threads, which end when *end is closed, and so much
 * memory, which is slow to give back. */
pid_t doomed_new(int *end, size_t bytes);

/* How many threads a process has; wait until there are no more than that. */
unsigned doomed_threads(pid_t pid);
void doomed_wait(pid_t pid, unsigned most);
