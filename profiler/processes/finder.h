/* finder.h: which processes serve an address.
 *
 * The kernel's table of listening sockets gives the sockets' inodes (several,
 * if the server uses SO_REUSEPORT); the processes that hold a descriptor of one
 * of these, and all below them, are the server: a master and its workers.
 * Finding them means reading every process's descriptors, so it is done in
 * steps of a few processes, and only while they are unknown.
 *
 * Left out are systemd, which holds the sockets of units that it has not
 * started yet, and the descendants of a process if Tailor is one of them.
 *
 * An address that is not in our network namespace may be a container's: then
 * the namespace of a process that has this address is searched.
 *
 * Works without privilege for processes of our own user.  Sees only our own pid
 * namespace, and those below it. */
#pragma once

#include <dirent.h>

#include "profiler/options/options.h"

#define FINDER_STEP 32	    /* processes examined in one step */
#define FINDER_STEP_KNOWN 4 /* in one step, if the server is known */
#define FINDER_SOCKETS 64   /* listening sockets of an address, at most */
#define FINDER_SPACES 256   /* network namespaces examined, at most */
#define FAMILY_MAX PROFILER_PROCESSES

/* The processes that are one server. */
struct family {
	pid_t pid[FAMILY_MAX]; /* the first: no other holder is above it */
	unsigned count;
	unsigned left_out; /* processes beyond FAMILY_MAX */
};

/* True if a process is one of the family. */
bool family_has(const struct family *f, pid_t pid);
/* Add a process, if it is not there and there is room; true if it is new. */
bool family_add(struct family *f, pid_t pid);

struct finder_sockets {
	uint64_t inode[FINDER_SOCKETS];
	unsigned count;
	uid_t uid; /* user of the sockets, (uid_t)-1: unknown */
};

/* A process that the search has seen. */
struct finder_process {
	pid_t pid, parent;
	bool holds; /* true: holds one of the sockets */
};

struct finder {
	DIR *proc; /* owned; open during a search */
	struct finder_sockets sockets;
	pid_t space; /* a process in the address's network namespace; 0: ours */
	bool activator;		     /* systemd holds a socket */
	bool failed;		     /* out of memory */
	struct finder_process *seen; /* owned */
	size_t count, room;
};

enum finder_result {
	FINDER_MORE,	/* call again */
	FINDER_FOUND,	/* these are the server */
	FINDER_NONE,	/* nothing listens on this address here */
	FINDER_ASLEEP,	/* systemd listens: the server is not running */
	FINDER_FOREIGN, /* another user's process (sockets.uid) listens */
};

/* Initialize without a search; zeroed memory is valid, too. */
void finder_init(struct finder *f);
/* End the search, if there is one; its sockets remain known. */
void finder_fini(struct finder *f);

/* True if packets to an IPv4 address go to a gateway: the address is on no
 * network of this machine.  False if unknown.  Two system calls that do not
 * wait. */
bool finder_address_is_routed(const struct sockaddr_storage *address);

/* Begin or continue a search for the processes that listen on an address
 * (family AF_UNSPEC: none), for process root (0: none), and for all processes
 * below these.  Any result but FINDER_MORE ends the search; FINDER_FOUND sets
 * *out.  Not the observer. */
enum finder_result finder_step(struct finder *f,
    const struct sockaddr_storage *address, pid_t root, struct family *out);

/* True if the sockets of an address are others than in the last search.  Some
 * tens of microseconds. */
bool
finder_changed(const struct finder *f, const struct sockaddr_storage *address);

/* True if a process holds a socket that listens on an address, in our network
 * namespace or its own.  Some tens of microseconds, and one for each of its
 * descriptors. */
bool finder_holds(pid_t pid, const struct sockaddr_storage *address);

/* True if any socket listens on an address, in our network namespace or that of
 * pid.  Some tens of microseconds. */
bool finder_listens(pid_t pid, const struct sockaddr_storage *address);

/* True if processes that a process forks are no part of the server: Tailor is
 * one of its descendants, too. */
bool finder_alone(pid_t pid);

/* Match a line of /proc/net/tcp or tcp6 with an address.  Returns 2 for a
 * listener on exactly this address, 1 for one on a wildcard, 0 for neither; -1:
 * no listeners follow.  For finder_step and tests. */
int finder_match(const char *line, const struct sockaddr_storage *address,
    uint64_t *inode, uid_t *uid);
