/*
 * sums.h: a server in a process of its own, and what the kernel's programs sum
 * up of its requests.
 */
#pragma once

#include "loopback.h"

#define SUMS_LENGTH_NS (20 * NS_PER_MS)
#define SUMS_PAGES 500

/* What the server's thread knows of the same time from the kernel. */
struct measure {
	int64_t wall_ns, cpu_ns, ready_ns, faults;
};

struct rig {
	struct recording r;
	struct pair pair; /* client only */
	pid_t server;
	int sent; /* a byte for each response that has been sent */
};

/* Skips the test if nothing is summed up here. */
void rig_open(struct rig *g);
void rig_close(struct rig *g);

/*
 * One request; then the events are there.  order: s: it sleeps, c: computes,
 * d: writes to a disk, f: touches SUMS_PAGES new pages, l: waits for a lock,
 * m: sends, computes and sends again, h: another thread computes and sends.
 */
struct measure ask(struct rig *g, char order);

/* Pause events until further notice: on a busy machine a test takes seconds. */
void pause_events(struct rig *g);

struct summed {
	int64_t way, length, ran, ready, preempted, slept, lock, disk;
	int64_t blocked, stolen, handled, fault;
	unsigned marks, switches, migrations, faults;
};

/* The sums of the last request's n-th epoch; false: there are no more. */
bool epoch_find(const struct rig *g, unsigned n, struct summed *out);
