/* receiver.h: what a sender does with its connections: writing requests,
 * reading responses, deciding how each one ended. */
#pragma once

#include "loadgen/send/sender.h"

#define RECEIVER_BUFFER_BYTES 65536

/* Write as much of a busy connection's request as there is room for. */
void receiver_write(struct sender *s, struct load_connection *c);

/* Act on an epoll event of a connection. */
void
receiver_event(struct sender *s, struct load_connection *c, uint32_t events);

/* A request has failed; its connection, unless NULL, is closed. */
void receiver_fail(struct sender *s, struct load_connection *c, size_t request,
    enum outcome outcome);
