/* children.h: processes for tests: some that wait, listen, are a server of
 * several, or have threads and memory. */
#pragma once

#include "tests/unit/unit.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>

/* A child that lives until it is killed, or this process ends. */
pid_t child_new(void);
/* Kill a child, and wait for its end. */
void child_kill(pid_t pid);

/* 127.0.0.1, any port. */
struct sockaddr_storage loopback_address(void);

/* A listening socket on an address, whose port *address gets, with this option
 * of SOL_SOCKET. */
int listen_on(struct sockaddr_storage *address, int option);

/* Have a port, which *address gets, to ourselves: a process that sets
 * SO_REUSEADDR may listen on it, and no other gets it by chance in between. */
int port_hold(struct sockaddr_storage *address);

/* A child that listens on an address; *address gets its port. */
pid_t listener_new(struct sockaddr_storage *address);

/* A master that listens, two workers that share its socket, and a child that
 * has closed it, in this order, each of which lives until it is killed. */
struct team {
	struct sockaddr_storage address;
	pid_t pid[4];
};
void team_start(struct team *t);

#define DOOMED_THREADS 4

/* One with so many further threads, which end when *end is closed, and so much
 * memory, which is slow to give back. */
pid_t doomed_new(int *end, size_t bytes);

/* How many threads a process has; wait until there are no more than that. */
unsigned doomed_threads(pid_t pid);
void doomed_wait(pid_t pid, unsigned most);
