/* code_map.h: maps of JVMs' compiled code, written on demand.
 *
 * The analysis thread wants the names of Java methods in a stack; the attach
 * thread has the JVM write /tmp/perf-PID.map, as `jcmd PID Compiler.perfmap`
 * does.  Meanwhile HotSpot holds a lock on its code, which delays what has just
 * been compiled, and a safepoint that begins waits until it has done.  So there
 * is one such order at a time, and none in a JVM until CODE_MAP_PERIOD_NS after
 * the last one, or CODE_MAP_SHARE times as long as that one took. */
#pragma once

#include <pthread.h>

#include "profiler/attach/orders.h"

#define CODE_MAP_PERIOD_NS (10 * NS_PER_S)
#define CODE_MAP_SHARE 1000
#define CODE_MAPS 8 /* JVMs in such a period */

/* The latest order to one JVM. */
struct code_map {
	pid_t pid;		   /* 0: none */
	struct instant begun, due; /* due: no other one before */
	int err;		   /* 0, or why there is no map */
};

struct code_map_orders {
	pthread_mutex_t lock;
	/* any thread, under lock */
	pid_t wanted; /* 0: none */
	struct code_map of[CODE_MAPS];
	uint64_t written, failed; /* counts */
	/* the attach thread's own */
	struct load load;
	unsigned server; /* that the load is about */
	struct instant begun;
	pid_t logged[PROFILER_SERVERS][2]; /* processes: success, failure */
};

/* Begin without orders; fini closes the connection to a JVM. */
void code_map_init(struct code_map_orders *o);
void code_map_fini(struct code_map_orders *o);

/* As profiler_code_map; attach_wake must follow if the result is -EAGAIN.  Any
 * thread. */
int code_map_ask(struct code_map_orders *o, pid_t pid, struct instant since);

/* Carry out the order, if there is one.
 *   others  for the processes that got SIGQUIT: they get none again; updated
 * Returns the time until something is due, ns; -1: never.  The attach
 * thread. */
int64_t code_map_turn(struct code_map_orders *o, struct orders *others,
    const struct process *process, unsigned servers, struct instant now);
