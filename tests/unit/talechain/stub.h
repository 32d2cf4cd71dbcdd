/*
 * stub.h: the server's side of the channel handshake, for tests.
 *
 * One connection at a time, in the calling thread.
 */
#pragma once

#include <stddef.h>

#include "talechain/talechain.h"

struct stub {
	char directory[64]; /* made by stub_open, removed by stub_close */
	char path[96];	    /* of the socket */
	int fd;
};

/* What one client asked for and got. */
struct stub_client {
	int socket, memory; /* descriptors */
	int kind;
	unsigned slot_log2;
	long tid;
	char name[64];
	char hello[256]; /* its line as it came */
	struct talechain_channel *channel;
	size_t bytes;
};

enum stub_reply {
	STUB_GRANT,
	STUB_REFUSE,  /* "NO full" */
	STUB_SHORT,   /* memory smaller than the line says */
	STUB_BARE,    /* the line without a descriptor */
	STUB_STRANGE, /* the memory is no channel */
	STUB_TWO,     /* two descriptors */
};

void stub_open(struct stub *s);
void stub_close(struct stub *s);

/* Wait (10 s at most) for a client and answer it; asserts that one came. */
void stub_accept(struct stub *s, struct stub_client *c, enum stub_reply reply);
void stub_release(struct stub_client *c);
