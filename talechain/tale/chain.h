/* chain.h: where a request was, and when.  Private to talechain/.
 *
 * All times are ns since the tale's t0; NEVER: it did not happen or was not
 * seen. */
#pragma once

#include "talechain/tale/tale_struct.h"

/* The moments of one attempt, in the order in which they should happen. */
struct chain_attempt {
	bool made;
	bool send_seen;	     /* written is the kernel's stamp of the send */
	int64_t chosen;	     /* Tailor chose the server */
	int64_t again;	     /* its kept connection was closed: a new one */
	int64_t written;     /* Tailor gave the request to the kernel */
	int64_t net_in;	     /* the request reached the server's socket */
	int64_t taken;	     /* a thread of the server began to read it */
	int64_t app_receive; /* the application's own events */
	int64_t app_start;
	int64_t app_finish;
	int64_t begun; /* the response's first byte left the server */
	int64_t sent;  /* the server gave the response's last byte to TCP */
	int64_t left;  /* that byte left the server's TCP */
	int64_t back;  /* that byte reached Tailor's socket */
	/* True if the response ends with its connection, not with its last
	 * byte; only then are the next three set. */
	bool by_close;
	int64_t read;	    /* Tailor read that byte */
	int64_t closed;	    /* the server's FIN left its TCP */
	int64_t fin;	    /* the server's FIN reached Tailor's socket */
	int64_t first_byte; /* Tailor had the response's first byte */
	int64_t complete;
	int64_t ended; /* Tailor gave the attempt up, or had all of it */
	uint32_t pid, taker, sender; /* 0: not known */
	uint32_t closer;	     /* thread that sent the FIN */
	uint32_t app_tid[3];	     /* of app_receive, app_start, app_finish */
};

struct tale_chain {
	const struct tale *tale;	/* borrowed */
	bool kernel;			/* the scheduler's events are there */
	uint32_t in_flight;		/* at PROXY_RECEIVE, 0: not known */
	int64_t scheduled, client_sent; /* the client's own stamps */
	int64_t client_gave; /* a client on this machine sent the first byte */
	/* The request's first segment reached Tailor's machine; NEVER, too, if
	 * it came together with the request before. */
	int64_t net_in;
	int64_t net_whole; /* the request's last segment reached Tailor */
	int64_t accepted;  /* the connection, if this is its first request */
	int64_t first_byte, received, committed, finished;
	int64_t left; /* the response's last byte left the machine's TCP */
	int64_t client_net;	 /* the last byte reached a client here */
	bool responded;		 /* Tailor's send of the response was seen */
	int64_t client_began;	 /* the client read the response's first byte */
	int64_t client_read;	 /* the client read its last byte */
	int64_t client_received; /* the client's own stamp */
	uint32_t proxy_tid, client_tid;
	struct chain_attempt attempt[TALE_ATTEMPTS];
	int winner; /* attempt whose response is used or awaited, -1: none */
};

/* Find where a tale's request was; the tale must outlive *c.  O(events). */
void tale_chain_find(struct tale_chain *c, const struct tale *t);

/* Set a tale's bounds by the kernel's events of its client's flow: from the
 * first segment to the one with the last byte; if a client on this machine
 * reads the response in several pieces, until it has read the last one. */
void tale_chain_bounds(struct tale *t);
