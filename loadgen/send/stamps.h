/* stamps.h: the kernel's own time stamps of a TCP connection.
 *
 * Linux can say when the last byte of a send() was handed to the device, when
 * the peer's kernel had acknowledged it, and when the bytes now read arrived
 * (SO_TIMESTAMPING).  The first two come as messages in the socket's error
 * queue, named by the number of the byte since stamping was switched on; each
 * raises EPOLLERR.  All are CLOCK_REALTIME; clock_offset_ns, read before an
 * iteration, makes instants of them.
 *
 * Stamps only check the generator: latencies never use them.  Cost: about
 * four system calls a request for bytes sent, none for bytes received.
 * Sender thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/instant.h"

struct stamp {
	struct instant at;
	uint32_t last_byte; /* number of the byte, from 0, modulo 2^32 */
	bool acked;	    /* acknowledged by the peer; else handed down */
};

/* State of the stamps of bytes sent. */
enum stamps_state {
	STAMPS_OFF,
	STAMPS_LATER, /* it is connecting: call again before sending */
	STAMPS_ON,
};

/* Switch on stamps of bytes received, and if sent is true of bytes sent, before
 * anything is sent.  Returns STAMPS_OFF if sent is false, or the kernel does
 * not support them. */
enum stamps_state stamps_enable(int fd, bool sent);

/* Take the next message about bytes sent; never waits.  Other messages of the
 * queue are skipped.  Returns whether there was one. */
bool stamps_read_sent(int fd, int64_t clock_offset_ns, struct stamp *out);

/*
 * stamps_receive(fd, buffer, size, clock_offset_ns, arrived):
 * recv(), with the instant at which the last of those bytes had arrived, or
 * INSTANT_NONE if the kernel does not say.
 */
ssize_t stamps_receive(int fd, void *buffer, size_t size,
    int64_t clock_offset_ns, struct instant *arrived);

/* CLOCK_REALTIME minus CLOCK_MONOTONIC: the closest of several readings. */
int64_t stamps_clock_offset_ns(void);
