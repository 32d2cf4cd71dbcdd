/* arrival.h: what happened to a client's connection before Tailor accepted it.
 *
 * Its first request may have waited twice: for the connection, if the kernel
 * had to send its SYN-ACK again, and in the accept queue.  TCP_INFO shows both.
 * While that queue is full the kernel drops connections silently, and their
 * clients try again after 1 s, 3 s and so on.
 *
 * Cost: a system call of some 0.4 us for each TCP connection; once a second,
 * while clients connect, one for each listener and a file of /proc, and at most
 * ten times while SYN-ACKs were sent again.  Proxy thread only. */
#pragma once

#include "proxy/client/clients.h"

/* Read how a connection came that l accepted just now.  Nothing is set for a
 * Unix socket. */
void arrival_read(
    struct listener *l, int fd, struct instant now, struct client_arrival *out);

/* The first request of a connection begins: take its arrival.
 *   first_byte  when Tailor read it
 * Each connection gives it once, and only to a request that may have waited. */
struct client_arrival arrival_take(struct client *c, struct instant first_byte);

/* The accept queue of l is empty. */
void arrival_queue_empty(struct listener *l);

/* Count, and log, connections that l's full queue dropped since the last time.
 * The first time finds from where to count. */
void arrival_check_queue(struct listener *l, struct instant now);

/* ListenOverflows in the text of /proc/net/netstat; 0: it is not there. */
uint64_t arrival_overflows(const char *netstat);
