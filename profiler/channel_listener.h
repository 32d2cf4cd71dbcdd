/* channel_listener.h: the socket where writers request channels.
 *
 * A listening Unix stream socket and its connections.  A client sends one line
 * (handshake.c) and gets one line and a memfd.  The connection then stays open
 * only to show the writer's end: the kernel closes it when the process dies.
 * Refused connections get "NO <reason>" and are counted.
 *
 * Only processes of our own user, and root's, are served.  The number of
 * channels and their memory are bounded.
 *
 * All of it runs on the attach thread. */
#pragma once

#include <poll.h>

#include "profiler/channels/channel.h"

/* Connections without a complete request, at most. */
#define PENDING_MAX 16
/* All rings of all channels together. */
#define CHANNEL_BYTES_MAX (UINT64_C(256) << 20)
#define REASON_MAX 80

struct attach;

enum connection_state {
	CONNECTION_ASKING, /* its request is not complete */
	CONNECTION_OPEN,   /* it has a channel */
	CONNECTION_ENDING, /* its writer is gone, the observer still drains */
};

struct connection {
	enum connection_state state;
	int fd; /* owned; -1 when ENDING */
	pid_t pid;
	uid_t uid;
	struct channel *channel; /* owned, lent to the observer */
	struct instant deadline; /* of ASKING */
	size_t length;
	char text[HANDSHAKE_BYTES];
};

struct channel_listener {
	struct attach *attach; /* borrowed: receives our commands */
	int fd;		       /* owned listening socket, -1: closed */
	char *path;	       /* owned */
	char *link; /* owned; the link to path that we made, or NULL */
	uint64_t device, inode; /* identifies ours for unlink */
	unsigned channels_max;
	uint64_t bytes; /* of all channels */
	uint32_t next_number;
	unsigned channels;	       /* OPEN or ENDING */
	unsigned pending;	       /* ASKING */
	struct connection *connection; /* owned array, count of them used */
	unsigned count;
	uint64_t opened, refused;
};

/*
 * channel_listener_init(d, a, channels_max, first_number):
 * Initialize, closed.
 * channel_listener_open(d, path):
 * Listen.  Makes the directory (0750) if it is missing and its parent exists;
 * replaces a socket file without a listener.
 * Return 0, -ENOMEM, -EADDRINUSE (another process listens there),
 * -ENAMETOOLONG or a negative errno of socket, bind or listen.
 */
int channel_listener_init(struct channel_listener *d, struct attach *a,
    unsigned channels_max, uint32_t first_number);
int channel_listener_open(struct channel_listener *d, const char *path);
void channel_listener_fini(struct channel_listener *d);

/* Make link a symbolic link in the socket's directory to the open socket, the
 * default path of writers (TALECHAIN_SOCKET_DEFAULT).  NULL makes none.  If
 * another running tailor has the link, it is kept, and that is logged.
 * channel_listener_fini removes ours. */
void channel_listener_link(struct channel_listener *d, const char *link);

/* Fill in what to poll: the listener, then each connection.  Returns how
 * many, at most 1 + channels_max + PENDING_MAX. */
unsigned
channel_listener_poll(const struct channel_listener *d, struct pollfd *out);

/* Handle what poll found in the same array.  Returns the time until something
 * is due, ns; -1 for never. */
int64_t channel_listener_turn(struct channel_listener *d,
    const struct pollfd *polled, struct instant now);

/* The observer has drained and released a channel. */
void channel_listener_release(struct channel_listener *d, struct channel *c);
