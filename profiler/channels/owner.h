/* owner.h: which server a kernel event belongs to.
 *
 * The BPF programs keep a table of the watched processes (kernel/abi.h), which
 * is mapped and looked up here.  The programs include this header, too. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "talechain/talechain.h"

#define KERNEL_CPUS 512	     /* CPUs with a number below this are seen */
#define KERNEL_SERVERS 2     /* as PROFILER_SERVERS */
#define KERNEL_PROCESSES 256 /* watched in a server, at most */

/* Content of a process's byte in the table: 0, or the process's server and how
 * the process is watched.  The byte outlives the process, whose events may be
 * unread still; a fork that uses the process's number again sets the byte. */
enum kernel_mark {
	KERNEL_MARK_SELF = 1,
	KERNEL_MARK_SERVER, /* of the first server; the others follow */
	/* of no server, and one that a server waited for (abi.h) */
	KERNEL_MARK_PEER = KERNEL_MARK_SERVER + KERNEL_SERVERS,
	KERNEL_MARK_WHOSE = 0x0f,
	KERNEL_MARK_ALONE = 0x40, /* processes it forks are not its server's */
};

/* Maps events to servers.  The programs write the borrowed tables while any
 * thread reads: relaxed. */
struct kernel_owners {
	const uint8_t *mark; /* borrowed; enum kernel_mark of each process */
	size_t marks;
	/* borrowed; the processes of each server, 0: a free place */
	const uint32_t (*member)[KERNEL_PROCESSES];
	uint16_t port[KERNEL_SERVERS]; /* where servers listen; 0: not TCP */
};

/* The server that a kernel event belongs to; -1: none.  Found by the task in
 * the event's arguments, by the task that ran or, for segments, by the port.
 * Any thread. */
int kernel_owner(
    const struct kernel_owners *owners, const struct talechain_event *e);

/* The server of a process, -1: none.  Any thread. */
int kernel_owner_of(const struct kernel_owners *owners, uint32_t tgid);

/* True if the programs know one process only of a server (below
 * KERNEL_SERVERS).  Any thread; no system call. */
bool kernel_is_alone(const struct kernel_owners *owners, unsigned server);
