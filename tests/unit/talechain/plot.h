/*
 * plot.h: a request through Tailor with the kernel's events of it, for tests
 * of stories.  Moments are microseconds after SCENE_T0.
 *
 *	client's socket 71, ports 8080 <- 40000; its other end 72
 *	Tailor's socket 81 to A, ports 50000 -> 9000; its other end 91
 *	Tailor's thread 100; A's process 500, threads 501, 502
 */
#pragma once

#include "talechain/render/render.h"
#include "tests/unit/talechain/scene.h"

#define PROXY_TID 100
#define A_PID 500
#define A_TID 501
#define B_TID 502 /* more threads of A's */
#define C_TID 503
#define D_TID 504
#define HOG 777	       /* a stranger named stress-ng */
#define OTHER_PID 700  /* another of A's processes, and its thread */
#define WORKER_PID 600 /* of A's thread if it is forked */

/* When the request was where; the defaults are those of plot_init(). */
struct plot {
	struct scene scene;
	struct tale_request request;
	struct tale_client client;
	int64_t written;  /* to A */
	int64_t stamped;  /* Tailor's own stamp of that is so much later */
	int64_t net_in;	  /* at A's socket */
	bool deferred;	  /* which is accepted late: its arrival is no event */
	int64_t wait;	  /* of A's thread for its CPU, once woken */
	uint32_t before;  /* who ran on that CPU meanwhile, 0: it idled */
	int64_t taken;	  /* A's thread read it */
	int64_t sent;	  /* A's thread wrote the answer */
	int64_t left;	  /* it left A's TCP */
	uint32_t unsent;  /* of it when the call returned */
	uint32_t held;	  /* enum talechain_held */
	int64_t back;	  /* at Tailor's socket; the rest follows from it */
	int64_t closed;	  /* A closes the connection: the end of it */
	uint32_t closer;  /* the thread that does, 0: that is in no event */
	bool fin_unseen;  /* nor that its FIN reached Tailor's socket */
	bool undelimited; /* for the client, too, the close is the end */
	bool back_unseen; /* nor that Tailor read its answer */
	int64_t rest;	  /* of the request comes so late; 0: it is whole */
	int64_t away;	  /* Tailor has no CPU once the answer was sent */
	uint32_t sender;  /* the thread of A's that answers */
	bool awake;	  /* A's thread was not woken: it ran already */
	uint32_t in_flight; /* as it came; 0: 1 */
	bool forked;	    /* A's thread is of a process that is not watched */
	bool dark;	    /* of the kernel's events only sums are there */
	bool unread; /* the observer has read the request's first piece alone */
	bool unserved;	     /* it goes to no server; Tailor responds at back */
	const char *flags;   /* of the request, or NULL */
	struct tale *tale;   /* owned; once it is told */
	struct story *story; /* owned */
};

/* A request that A works on from 75 us to 10 ms. */
void plot_init(struct plot *p);
void plot_fini(struct plot *p);

/* Append all events, then slice and explain.  The story is the plot's. */
struct story *plot_tell(struct plot *p);

/* Explain again, as the tale is now. */
struct story *plot_explain(struct plot *p);

/* One event of the kernel on CPU 1. */
void plot_kernel(struct plot *p, int64_t us, uint32_t tid, uint32_t pid,
    enum talechain_type type, const uint64_t arg[4]);
#define KERNEL(p, us, tid, pid, type, ...) \
	plot_kernel(p, us, tid, pid, type, (const uint64_t[4]){__VA_ARGS__})

#define PACK(high, low) ((uint64_t)(high) << 32 | (uint32_t)(low))
#define PORTS(local, remote) \
	((uint64_t)(local) << 48 | (uint64_t)(remote) << 32)

/* A thread of A's leaves CPU 1 for another, or comes back to it. */
void plot_leaves(struct plot *p, int64_t us, uint32_t tid,
    enum talechain_off off, uint32_t next);
void plot_enters(
    struct plot *p, int64_t us, uint32_t tid, int64_t wait_us, uint32_t before);

/* One thread of A's wakes another; an interrupt does. */
void plot_wakes(struct plot *p, int64_t us, uint32_t from, uint32_t to);
void plot_woken(struct plot *p, int64_t us, uint32_t to,
    enum talechain_context context, unsigned vector);

/* The name of a thread, of 15 bytes at most, known before the request. */
void plot_named(struct plot *p, uint32_t tid, uint32_t pid, const char *name);
