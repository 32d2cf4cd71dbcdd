/*
 * finder.h: which process listens on an address.
 *
 * The kernel's table of listening sockets gives the socket's inode; the process
 * that holds a descriptor of that inode is the listener.  Finding it means
 * reading every process's descriptors, so it is done in steps of a few
 * processes, and only while a server's process is unknown.
 *
 * Works without privilege for processes of our own user.  Sees only our own
 * network and pid namespace.
 */
#ifndef TAILOR_PROFILER_FINDER_H
#define TAILOR_PROFILER_FINDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define FINDER_STEP 32 /* processes examined in one step */

struct finder {
	DIR *proc;	/* owned; open during a search */
	uint64_t inode; /* of the listening socket */
	uid_t uid;	/* its user, (uid_t)-1 if unknown */
};

enum finder_result {
	FINDER_MORE,	/* call again */
	FINDER_FOUND,	/* *pid listens there */
	FINDER_NONE,	/* nothing listens on this address here */
	FINDER_FOREIGN, /* a process of another user (f->uid) does */
};

/* Initialize without a search; zeroed memory is valid, too. */
void finder_init(struct finder *f);
void finder_fini(struct finder *f);

/*
 * finder_step(f, address, pid):
 * Begin or continue a search.  Any result but FINDER_MORE ends it.  Not the
 * observer.
 */
enum finder_result finder_step(
    struct finder *f, const struct sockaddr_storage *address, pid_t *pid);

/*
 * finder_match(line, address, inode, uid):
 * Whether a line of /proc/net/tcp or tcp6 is a listener for an address: 2
 * exactly this one, 1 a wildcard, 0 not; -1 no listeners follow.  For
 * finder_step and tests.
 */
int finder_match(const char *line, const struct sockaddr_storage *address,
    uint64_t *inode, uid_t *uid);

#endif
