/*
 * finder.h: which process listens on an address.
 *
 * Two questions to /proc: the kernel's table of listening sockets gives the
 * socket's inode, and some process holds a descriptor of that inode.  The
 * second means reading every process's descriptors, so it is done in steps of
 * a few processes, and only while a server's process is unknown.
 *
 * Works without privilege for processes of our own user.  Sees only our own
 * network namespace and pid namespace.
 */
#ifndef TAILOR_PROFILER_FINDER_H
#define TAILOR_PROFILER_FINDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define FINDER_STEP 32 /* processes looked at in one step */

struct finder {
	DIR *proc;	/* owned; open during a search */
	uint64_t inode; /* of the listening socket */
	uid_t uid;	/* its user, (uid_t)-1 if unknown */
};

enum finder_result {
	FINDER_MORE,	/* call again */
	FINDER_FOUND,	/* *pid listens there */
	FINDER_NONE,	/* nothing listens on this address here */
	FINDER_FOREIGN, /* something does, but we may not see which: f->uid */
};

/* Make one that is not searching.  All zero will do, too. */
void finder_init(struct finder *f);
void finder_fini(struct finder *f);

/*
 * finder_step(f, address, pid):
 * Begin a search, or go on with the one begun.  Any result but FINDER_MORE
 * ends it.  Not the observer.
 */
enum finder_result finder_step(
    struct finder *f, const struct sockaddr_storage *address, pid_t *pid);

/*
 * finder_match(line, address, inode, uid):
 * Whether a line of /proc/net/tcp or tcp6 is a listener that answers on an
 * address: 2 exactly this one, 1 a wildcard, 0 not; -1 the listeners are
 * over.  For finder_step and tests.
 */
int finder_match(const char *line, const struct sockaddr_storage *address,
    uint64_t *inode, uid_t *uid);

#endif
