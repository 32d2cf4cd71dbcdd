/* slice.h: the inside of slicing, shared by its passes.
 *
 * The state before the request's part of the stream comes from a checkpoint
 * (checkpoint.h).  Slicing reads that part up to three times.  If there are
 * events of the kernel, two passes learn: the first the request's sockets,
 * ports and the threads that reported it, the second the other ends of the
 * sockets and the threads that worked on them or were woken for them.  The last
 * pass takes the events of all of these.  Private to this folder. */
#pragma once

#include "talechain/tale/checkpoint.h"

#define SLICE_SEQUENCES 64 /* kept of each socket, to find its peer */
#define SLICE_CALLERS 64   /* threads seen at possible peers */
#define SLICE_WAKES 1024   /* wake-ups within the servers */
#define SLICE_SENDERS 128  /* threads that sent to a server */
#define SLICE_ENDED 256	   /* waits that other processes ended */
#define SLICE_CPUS 256
#define SLICE_PASSED 32	   /* switches kept of a CPU, between other threads */
#define SLICE_ATTEMPTS 512 /* latest attempts of other requests */

/* One of the request's own sockets, as its events describe it. */
struct slice_socket {
	bool seen;
	uint16_t local, remote; /* ports */
	uint32_t sent[SLICE_SEQUENCES], received[SLICE_SEQUENCES];
	unsigned sents, receives;
};

/* A thread that used what may be the other end of a socket. */
struct slice_caller {
	uint64_t cookie;
	uint32_t tid, pid;
	enum tale_socket peer;
};

struct slice_wake {
	uint32_t from, to, pid; /* threads; their process */
};

/* A thread that sent to a server, and its end of the connection. */
struct slice_sender {
	uint32_t ports; /* its own << 16 | the server's */
	uint32_t tid, pid;
};

/* The latest slots of a kind: new ones overwrite the oldest. */
struct slot_ring {
	size_t puts;
	struct timeline_slot slot[SLICE_ATTEMPTS];
};

/* One tale being cut out of the stream: all that its passes share. */
struct slicer {
	struct tale *tale;
	struct timeline_reader *reader;
	struct tale_checkpoints *checkpoints; /* NULL: none */
	struct instant from, to;  /* the window, widened by the slack */
	struct instant flow_from; /* end of the response before this one */
	struct instant rest_from; /* the window's end, for slice_rest() */
	bool rest_over;		  /* the client's next request has come */
	uint64_t stop;		  /* head of the stream when we began */
	size_t applications;	  /* entries written by applications */
	size_t kernels;		  /* entries of the kernel */
	size_t rates;		  /* entries of type RATE */
	uint64_t position;	  /* of the present slot */
	size_t bulks;		  /* entries for which is_bulk() is true */
	int64_t bulk_least_ns;	  /* shorter bulks are left out */
	size_t switches;	  /* entries of type SCHEDULE */
	int64_t away_least_ns;	  /* shorter preemptions are left out */
	bool final;		  /* true in the pass that takes events */
	bool rates_read;	  /* RATE events were read lately */
	bool kernel;		  /* there are events of the kernel */
	struct slice_socket socket[TALE_SOCKETS];
	struct slice_caller caller[SLICE_CALLERS];
	unsigned callers;
	struct slice_wake wake[SLICE_WAKES];
	unsigned wakes;
	/* ended: by threads of other processes, which pid is of. */
	struct slice_sender sender[SLICE_SENDERS];
	struct slice_wake ended[SLICE_ENDED];
	unsigned senders, ends;
	/* By CPU: the time of the last segment taken there; its last IDLE. */
	uint64_t segment_ns[SLICE_CPUS];
	struct timeline_slot idle[SLICE_CPUS];
	bool waited[SLICE_CPUS];     /* a preempted thread waits there */
	unsigned passes[SLICE_CPUS]; /* puts into passed */
	size_t fault[SLICE_CPUS]; /* entry + 1 of a thread's last PAGEFAULT */
	uint32_t sum_tid;	  /* of the last EPOCH_SUM that was taken */
	uint64_t sum_ns;
	uint64_t begin; /* the first slot that may touch the window */
	/* The state at begin; the last pass adds slots outside the window. */
	struct stream_state state;
	/* forward: by port, Tailor's last send from it.  got: by thread, its
	 * last call on another connection before the window.  inward: by the
	 * other end's port, Tailor's last receipt.  outbounds: calls taken on
	 * connections to elsewhere. */
	struct timeline_slot forward[STATE_PLACES], got[STATE_PLACES];
	struct timeline_slot inward[STATE_PLACES];
	size_t outbounds;
	/* Of other requests: their attempts, and PROXY_RECEIVE. */
	struct slot_ring attempts, arrivals;
	/* By CPU: its latest switches that were not taken. */
	struct timeline_slot passed[SLICE_CPUS][SLICE_PASSED];
};

/* Returns a slicer that the caller frees, or NULL.  Half a megabyte that only
 * counters make valid is not cleared: that would take a third of the time of a
 * small tale. */
struct slicer *slicer_new(void);

/* slice_take.c: take a slot into the tale; a slot beyond the limits is counted
 * as left out.  0 or -ENOMEM. */
int slice_add(struct slicer *s, const struct timeline_slot *slot);
/* Take a kept slot, once even if several events lead to it.  0 or -ENOMEM. */
int slice_add_once(struct slicer *s, struct timeline_slot *slot);
/* True if an event, or the latency that ends with it, touches the window. */
bool slice_touches(const struct slicer *s, const struct timeline_slot *slot);

/* True if a thread takes part. */
static inline bool
slice_is_thread(const struct tale *t, uint64_t tid)
{
	return tale_thread_find(t, tid) != NULL;
}

/* slice_kernel.c */
/* Learn from a slot: sockets and threads of the request (first), other ends
 * and further threads (second).  0. */
int slice_learn_first(struct slicer *s, const struct timeline_slot *slot);
int slice_learn_second(struct slicer *s, const struct timeline_slot *slot);
/* After slice_learn_first: the position at which the request's bytes began to
 * come to Tailor's socket, at most s->begin. */
uint64_t slice_flow_begin(const struct slicer *s);
/* After slice_learn_second: add the threads that use the other ends, and the
 * threads with which they exchanged wake-ups. */
void slice_learned(struct slicer *s);
/* Take an event of the kernel if it concerns us.  0 or -ENOMEM. */
int slice_kernel(struct slicer *s, const struct timeline_slot *slot);
/* Take the events of the client's connection after the window.  0 or
 * -ENOMEM. */
int slice_rest(struct slicer *s, const struct timeline_slot *slot);
/* Take the switches with which the tale's threads left their CPUs before the
 * window.  0 or -ENOMEM. */
int slice_left(struct slicer *s);
/* slice_other.c: learn from a slot which other requests a server's threads had,
 * and which calls they made to others. */
void slice_other_learn(struct slicer *s, const struct timeline_slot *slot);
/* Take a call on another connection of the server's, or on one that leads
 * elsewhere.  0 or -ENOMEM. */
int slice_other_take(struct slicer *s, const struct timeline_slot *slot);
/* After the last pass: take the events that lead from these calls to requests
 * of Tailor's.  0 or -ENOMEM. */
int slice_others(struct slicer *s);

/* slice_kernel.c */
/* Take the names of all threads in the tale.  0 or -ENOMEM. */
int slice_names(struct slicer *s);
