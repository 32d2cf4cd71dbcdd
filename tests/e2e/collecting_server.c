/*
 * collecting_server.c: a server whose agent reports collections on command.
 *
 *	collecting_server SOCKET NAME
 *
 * Opens a channel like a JVM's agent at SOCKET, listens on a port of 127.0.0.1
 * that the kernel chooses, prints it, and responds to each request with NAME.
 * Of each line of standard input, "begin" begins a collection and "end" ends
 * it; the response is the line.  While it collects, it reads no request, as a
 * JVM does; from "hold" on it reads none either.  Ends with its input.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "talechain/talechain.h"

#define CONNECTIONS 256
#define SLOT_LOG2 6

static struct talechain tc;
static uint64_t epoch;
static bool collects;
static struct pollfd polled[2 + CONNECTIONS];
static unsigned count = 2;

static void
state_set(enum talechain_jvm_state state)
{
	talechain_word_set(&tc, TALECHAIN_WORD_SINCE, talechain_now());
	talechain_word_set(
	    &tc, TALECHAIN_WORD_STATE, ++epoch << 8 | (uint64_t)state);
}

static bool
command(void)
{
	char line[64];

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	collects = strcmp(line, "end\n") != 0;
	if (strcmp(line, "hold\n") != 0)
		state_set(collects ? TALECHAIN_JVM_GC : TALECHAIN_JVM_RUNNING);
	fputs(line, stdout);
	fflush(stdout);
	return true;
}

/* Requests are small and have no body: each read is one. */
static bool
respond(int fd, const char *name)
{
	char request[8192], response[128];
	int n = snprintf(response, sizeof(response),
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", strlen(name),
	    name);

	return read(fd, request, sizeof(request)) > 0 &&
	       write(fd, response, (size_t)n) == n;
}

static void
turn(const char *name)
{
	for (unsigned i = 2; i < count; i++)
		if (polled[i].revents != 0 && !respond(polled[i].fd, name)) {
			close(polled[i].fd);
			polled[i--] = polled[--count];
		}
	if (polled[1].revents != 0 && count < 2 + CONNECTIONS)
		polled[count++] = (struct pollfd){
		    .fd = accept(polled[1].fd, NULL, NULL), .events = POLLIN};
}

int
main(int argc, char **argv)
{
	struct sockaddr_in a = {
	    .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (argc != 3 || bind(fd, (void *)&a, sizeof(a)) < 0 ||
	    listen(fd, CONNECTIONS) < 0 ||
	    getsockname(fd, (void *)&a, &length) < 0)
		return 2;
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	polled[0] = (struct pollfd){.fd = 0, .events = POLLIN};
	polled[1] = (struct pollfd){.fd = fd, .events = POLLIN};
	/* Tailor is started once the port is known. */
	while (talechain_open_kind(
		   &tc, argv[1], TALECHAIN_KIND_JVM, argv[2], SLOT_LOG2) < 0)
		usleep(10000);
	state_set(TALECHAIN_JVM_RUNNING);
	while (poll(polled, collects ? 1 : count, -1) >= 0) {
		if (polled[0].revents != 0 && !command())
			break;
		if (!collects)
			turn(argv[2]);
	}
	talechain_close(&tc);
	return 0;
}
