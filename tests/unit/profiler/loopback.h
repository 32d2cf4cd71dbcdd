/*
 * loopback.h: connections over the loopback network for tests.
 *
 * Everything asserts: what fails here fails the test.
 */
#pragma once

#include <sys/socket.h>

#include "kernel_events.h"

struct pair {
	int listener, client, server;
	uint16_t port, client_port;
	uint64_t client_cookie, server_cookie;
};

/* What the kernel calls the socket; the port it is bound to. */
uint64_t cookie_of(int fd);
uint16_t port_of(int fd);

/* Switch Nagle's algorithm off, or on again. */
void nodelay(int fd, int on);

/* The loopback address of a family; returns its length. */
socklen_t loopback(int family, uint16_t port, struct sockaddr_storage *out);

/* A listener, whose port k (unless NULL) watches as a server's; a connection
 * to it; or both ends of one. */
void pair_listen(struct pair *p, struct kernel *k, int family);
int pair_connect(const struct pair *p, int family);
void pair_open(struct pair *p, struct kernel *k, int family);
void pair_close(struct pair *p);
void send_all(int fd, const char *bytes, size_t n);
void receive_all(int fd, size_t n);
