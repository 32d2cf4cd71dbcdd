/* listener.h: the socket where writers request channels.
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

#include "profiler/attach/process.h"
#include "profiler/channels/channel.h"

/* Connections without a complete request, at most. */
#define PENDING_MAX 16
/* All rings of all channels together. */
#define CHANNEL_BYTES_MAX (UINT64_C(256) << 20)
#define REASON_MAX 80

enum channel_connection_state {
	CONNECTION_ASKING, /* waiting for the rest of the request */
	CONNECTION_OPEN,   /* the client has a channel */
	CONNECTION_ENDING, /* the writer is gone, the observer drains */
};

struct channel_connection {
	enum channel_connection_state state;
	int fd; /* owned; -1 when ENDING */
	pid_t pid;
	uid_t uid;
	struct channel *channel; /* owned, lent to the observer */
	struct instant deadline; /* for the request */
	size_t length;
	char text[HANDSHAKE_BYTES];
};

struct channel_listener {
	/* set by the caller before channel_listener_init */
	struct command_sender *sender; /* borrowed */
	struct process *process;       /* borrowed: owners of channels */
	unsigned servers;	       /* length of process */
	unsigned channels_max;
	uint32_t next_number;
	/* the listener's own */
	int fd;	    /* owned listening socket, -1: closed */
	char *path; /* owned */
	char *link; /* owned; the link to path that we made, or NULL */
	uint64_t device, inode; /* of our socket file, for unlink */
	uint64_t bytes;		/* sum over all channels */
	unsigned channels;	/* OPEN or ENDING */
	unsigned pending;	/* ASKING */
	struct channel_connection
	    *connection; /* owned array, count of them used */
	unsigned count;
	uint64_t opened, refused;
	/* True while a JVM that is not known to serve has a channel; then
	 * channels are assigned anew at assign_at. */
	bool unsure;
	struct instant assign_at;
};

/*
 * channel_listener_init(d):
 * Initialize, closed.
 * channel_listener_open(d, path):
 * Listen.  Makes the directory (0750) if it is missing and its parent exists;
 * replaces a socket file without a listener.
 * Return 0, -ENOMEM, -EADDRINUSE (another process listens there),
 * -ENAMETOOLONG or a negative errno of socket, bind or listen.
 */
int channel_listener_init(struct channel_listener *d);
int channel_listener_open(struct channel_listener *d, const char *path);
void channel_listener_fini(struct channel_listener *d);

/* Make a symbolic link to the open socket, in the same directory: the default
 * path of writers (TALECHAIN_SOCKET_DEFAULT).  NULL: make none.  A link that
 * another running tailor has is kept, and that is logged.
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

/* The server a channel belongs to; -1: none yet.  A JVM's channel belongs
 * to a server only if the JVM serves, or may. */
int
channel_listener_server_of(struct channel_listener *d, const struct channel *c);

/* Assign all channels anew, after servers' processes changed. */
void channel_listener_assign(struct channel_listener *d);

/* How many agents of a server have a channel.  *fd gets the connection of one
 * that understands orders, -1: none does. */
unsigned channel_listener_agents(
    const struct channel_listener *d, unsigned server, int *fd);

/* Close a channel that the observer has drained and released. */
void channel_listener_release(struct channel_listener *d, struct channel *c);
