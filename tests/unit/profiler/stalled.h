/*
 * stalled.h: a server that works, a profiler that follows it by the kernel's
 * events, and a control group that it may be put into.
 */
#pragma once

#include "cgroup.h"
#include "fixture.h"

extern int stalled_input[2]; /* what the server reads */

/* A process that works and sleeps in turns; with busy it only works, and has
 * threads that read. */
pid_t server_start(bool busy);
void server_end(pid_t pid);

/* A process that gives it something to read all the time. */
pid_t client_start(void);

/* Skips the test, and ends the server, where the kernel tells nothing. */
struct fixture *follow(pid_t pid);
void unfollow(struct fixture *f, pid_t pid);

/* A group with a process in it; false: that is not possible here. */
bool group_of(struct cgroup *g, const char *controller, pid_t pid);

void spin_ms(int64_t ms);
