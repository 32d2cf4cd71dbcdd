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
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/json.h"
#include "tailorctl/admin_request.h"
#include "tailorctl/commands.h"
#include "tailorctl/find.h"
#include "tailorctl/plain.h"

#define GUESTS 16 /* connections at once; one more has to wait */
#define HEAD_BYTES 4096
#define TOKEN_BYTES 33		    /* 128 bits in hexadecimal, and the end */
#define PATIENCE_NS (10 * NS_PER_S) /* for a guest's request */

/* A browser's connection, which brings one request. */
struct guest {
	int fd;
	size_t length;
	struct instant since;
	char head[HEAD_BYTES];
};

struct relay {
	const struct options *options;
	int fd; /* listens */
	char token[TOKEN_BYTES];
	unsigned guests;
	struct guest guest[GUESTS];
};

static int
show(const struct options *o, const char *url)
{
	struct json j;

	if (!o->json) {
		printf("%s\n", url);
	} else {
		json_init(&j, false);
		json_object_begin(&j);
		json_key_string(&j, "url", url);
		json_object_end(&j);
		plain_json(&j);
	}
	return fflush(stdout) == 0 ? STATUS_OK : STATUS_NO;
}

/* Write all of it, or as much as the browser takes in a second. */
static void
write_out(int fd, const char *text, size_t n)
{
	struct pollfd ready = {fd, POLLOUT, 0};
	ssize_t written;

	while (n > 0 && poll(&ready, 1, 1000) > 0) {
		written = send(fd, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (written <= 0)
			return;
		text += written;
		n -= (size_t)written;
	}
}

/* The target behind the token, terminated in place; NULL: not for us. */
static const char *
target_of(const struct relay *r, struct guest *g)
{
	size_t n = strlen(r->token);
	char *at = g->head, *end;

	if (strncmp(at, "GET /", 5) != 0 || strncmp(at + 5, r->token, n) != 0 ||
	    at[5 + n] != '/')
		return NULL;
	at += 5 + n;
	end = at + strcspn(at, " \r\n");
	if (*end != ' ')
		return NULL;
	*end = '\0';
	return at;
}

static void
serve(struct relay *r, struct guest *g)
{
	static const char missing[] = "HTTP/1.0 404 Not Found\r\n\r\n"
				      "tailorctl live printed the address\n";
	static const char failed[] = "HTTP/1.0 502 Bad Gateway\r\n\r\n"
				     "no response from tailor\n";
	const char *target = target_of(r, g);
	struct http_response a;

	if (target == NULL) {
		write_out(g->fd, missing, sizeof(missing) - 1);
	} else if (admin_request(r->options, "GET", target, &a) < 0) {
		write_out(g->fd, failed, sizeof(failed) - 1);
	} else {
		write_out(
		    g->fd, a.bytes, (size_t)(a.body - a.bytes) + a.length);
		http_response_fini(&a);
	}
}

/* Returns whether it is done with. */
static bool
guest_read(struct relay *r, struct guest *g)
{
	size_t room = sizeof(g->head) - 1 - g->length;
	ssize_t n = recv(g->fd, g->head + g->length, room, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0)
		return true;
	g->length += (size_t)n;
	g->head[g->length] = '\0';
	if (strlen(g->head) == g->length && strstr(g->head, "\r\n\r\n") == NULL)
		return g->length == sizeof(g->head) - 1;
	serve(r, g);
	return true;
}

static void
guest_accept(struct relay *r)
{
	struct guest *g = &r->guest[r->guests];

	g->fd = accept4(r->fd, NULL, NULL, SOCK_CLOEXEC);
	if (g->fd < 0)
		return;
	g->length = 0;
	g->since = instant_now();
	r->guests++;
}

/* Wait for a browser, and serve all that have asked. */
static void
relay_turn(struct relay *r)
{
	struct pollfd ready[GUESTS + 1];
	struct instant now;

	for (unsigned i = 0; i < r->guests; i++)
		ready[i] = (struct pollfd){r->guest[i].fd, POLLIN, 0};
	/* With no room for one more it waits in the kernel's queue. */
	ready[r->guests] =
	    (struct pollfd){r->guests < GUESTS ? r->fd : -1, POLLIN, 0};
	poll(ready, r->guests + 1, 1000);
	now = instant_now();
	if (ready[r->guests].revents != 0)
		guest_accept(r);
	for (unsigned i = r->guests; i-- > 0;) {
		struct guest *g = &r->guest[i];

		if (!guest_read(r, g) &&
		    instant_since(now, g->since) < PATIENCE_NS)
			continue;
		close(g->fd);
		*g = r->guest[--r->guests];
	}
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

/* The port of the admin listener if it is on TCP, else 0; -1 after a
 * message. */
static int
admin_port(const struct options *options)
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
command_live(const struct options *options)
{
	static struct relay relay;
	in_port_t port;
	char url[96];
	int direct = admin_port(options);

	if (direct < 0)
		return STATUS_NO;
	if (direct > 0) {
		snprintf(url, sizeof(url), "http://127.0.0.1:%d/live", direct);
		return show(options, url);
	}
	relay.options = options;
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
		relay_turn(&relay);
}
