/* live.c: "tailorctl live": an address at which a browser shows the live page.
 *
 * A browser cannot open a Unix socket.  So this program listens on a port of
 * the loopback address and passes GET requests on, as long as it runs.  Other
 * users of the machine can connect there too: each path begins with 128 random
 * bits that only the printed address has.  An admin listener on TCP is
 * reached without it. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/options.h"
#include "base/terminal.h"

#define GUESTS 16 /* connections at once; one more has to wait */
#define HEAD_BYTES 4096
#define TOKEN_BYTES 33 /* 128 bits in hexadecimal, and the end */
#define PATIENCE_S 10  /* for a guest's request */

struct relay {
	const struct ctl_options *options;
	int fd; /* listens */
	char token[TOKEN_BYTES];
};

static int
show(const struct ctl_options *o, const char *url)
{
	struct json j;

	if (!o->json) {
		printf("%s\n", url);
	} else {
		plain_json_begin(&j);
		json_key_string(&j, "url", url);
		plain_json_end(&j);
	}
	return fflush(stdout) == 0 ? STATUS_OK : STATUS_NO;
}

/* Write n bytes, or as many as the browser takes in time. */
static void
write_out(int fd, const char *text, size_t n)
{
	const struct timeval patience = {.tv_sec = 1};
	ssize_t written;

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	while (n > 0 && (written = send(fd, text, n, MSG_NOSIGNAL)) > 0) {
		text += written;
		n -= (size_t)written;
	}
}

/* Read a request's head; false: timeout, or too long. */
static bool
read_head(int fd, char head[HEAD_BYTES])
{
	size_t length = 0;

	head[0] = '\0';
	while (strstr(head, "\r\n\r\n") == NULL) {
		size_t room = HEAD_BYTES - 1 - length;
		ssize_t n = room > 0 ? recv(fd, head + length, room, 0) : 0;

		if (n <= 0)
			return false;
		length += (size_t)n;
		head[length] = '\0';
	}
	return true;
}

/* Return the target behind the token, terminated in place; NULL: not for us. */
static const char *
target_of(const struct relay *r, char *head)
{
	size_t n = strlen(r->token);
	char *at = head + 5 + n, *end;

	if (strncmp(head, "GET /", 5) != 0 ||
	    strncmp(head + 5, r->token, n) != 0 || *at != '/')
		return NULL;
	end = at + strcspn(at, " \r\n");
	if (*end != ' ')
		return NULL;
	*end = '\0';
	return at;
}

/* Serve a browser's connection, for one request; runs in a child process. */
static void
serve(const struct relay *r, int fd)
{
	static const char missing[] = "HTTP/1.0 404 Not Found\r\n\r\n"
				      "use the address that tailorctl live "
				      "printed\n";
	static const char failed[] = "HTTP/1.0 502 Bad Gateway\r\n\r\n"
				     "no response from tailor\n";
	struct http_response a;
	char head[HEAD_BYTES];
	const char *target;

	alarm(PATIENCE_S);
	if (!read_head(fd, head))
		return;
	alarm(0);
	target = target_of(r, head);
	if (target == NULL)
		write_out(fd, missing, sizeof(missing) - 1);
	else if (admin_request(r->options, "GET", target, &a) < 0)
		write_out(fd, failed, sizeof(failed) - 1);
	else
		write_out(fd, a.bytes, (size_t)(a.body - a.bytes) + a.length);
}

/* Wait for a browser's connection and serve it. */
static void
relay_turn(const struct relay *r, unsigned *guests)
{
	int fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC);
	pid_t child;

	while (*guests > 0 &&
	       waitpid(-1, NULL, *guests < GUESTS ? WNOHANG : 0) > 0)
		--*guests;
	if (fd < 0)
		return;
	child = fork();
	if (child == 0) {
		close(r->fd);
		serve(r, fd);
		_exit(STATUS_OK);
	}
	*guests += child > 0;
	close(fd);
}

/* 0, or -1 after a message. */
static int
relay_open(struct relay *r, in_port_t *port)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(at);
	unsigned char random[TOKEN_BYTES / 2];

	r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->fd < 0 || bind(r->fd, (void *)&at, sizeof(at)) < 0 ||
	    listen(r->fd, GUESTS) < 0 ||
	    getsockname(r->fd, (void *)&at, &length) < 0 ||
	    getrandom(random, sizeof(random), 0) != sizeof(random)) {
		fprintf(stderr, "tailorctl: no port on 127.0.0.1: %s\n",
		    strerror(errno));
		return -1;
	}
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(r->token + 2 * i, 3, "%02x", random[i]);
	*port = ntohs(at.sin_port);
	return 0;
}

/* Return the port of the admin listener if it is on TCP, else 0; -1 after a
 * message. */
static int
admin_port(const struct ctl_options *options)
{
	struct sockaddr_storage at = {0};
	socklen_t length = sizeof(at);
	int fd = find_tailor(options), port = 0;

	if (fd < 0)
		return -1;
	if (getpeername(fd, (void *)&at, &length) == 0 &&
	    at.ss_family == AF_INET)
		port = ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
	close(fd);
	return port;
}

int
command_live(const struct ctl_options *options)
{
	struct relay relay = {.options = options};
	unsigned guests = 0;
	in_port_t port;
	char url[96];
	int direct = admin_port(options);

	if (direct < 0)
		return STATUS_NO;
	if (direct > 0) {
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/live", direct);
		return show(options, url);
	}
	if (relay_open(&relay, &port) < 0)
		return STATUS_NO;
	snprintf(
	    url, sizeof(url), "http://127.0.0.1:%u/%s/live", port, relay.token);
	if (show(options, url) != STATUS_OK)
		return STATUS_NO;
	fprintf(stderr,
	    "Open it in a browser on this machine; Ctrl-C ends it.\n"
	    "From another one: ssh -L %u:127.0.0.1:%u HOST\n",
	    port, port);
	for (;;)
		relay_turn(&relay, &guests);
}
