/*
 * layer.h: system calls and allocations that fail on demand.
 *
 * Linked into a program with ld's --wrap, the layer stands between its objects
 * (and libevent's, which are then linked statically) and the C library.  The
 * objects are those of any other build: nothing in the sources knows of it,
 * and a program without it pays nothing.  It is not for measuring.
 *
 * What is to fail is said in a page of memory: the file that the environment
 * variable TAILOR_FAULTS names, mapped by the tests (layer.py) and by the
 * program, or, without that, one of the program's own (fault_arm).  Calls are
 * distinguished by their kind and by the path to them, a hash of the innermost
 * return addresses, so that each path can be made to fail once rather than
 * each of a hundred thousand calls.
 *
 *	fault_page (little endian)
 *	  0  kinds    u64  bits of the kinds that may fail
 *	  8  path     u64  only the calls of this path; 0: of any
 *	 16  skip     u64  as many matching calls go well first
 *	 24  left     u64  and as many then fail
 *	 32  failed   u64  so many have, ever
 *	 40  record   u64  not 0: note paths in the table
 *	 48  calls    u64 x 8, by kind
 *	112  overflow u64  calls whose path found no place in the table
 *	120  paths    120 bytes each, FAULT_PATHS of them:
 *	      0 key u64, 8 kind u32, 12 unused, 16 calls u64, 24 failed u64,
 *	     32 what u8 x 16 (the function called), 48 at u64 x 9 (return
 *	     addresses, innermost first, from the program's beginning)
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAULT_PATHS 8192
#define FAULT_DEPTH 9

enum fault_kind {
	FAULT_ALLOC,
	FAULT_ACCEPT,
	FAULT_CONNECT,
	FAULT_WRITE,
	FAULT_READ,
	FAULT_EVENT, /* eventfd, epoll and what belongs to them */
	FAULT_OPEN,  /* files, mappings, threads, processes */
};

struct fault_path {
	_Atomic uint64_t key;
	uint32_t kind, unused;
	_Atomic uint64_t calls, failed;
	char what[16];
	uint64_t at[FAULT_DEPTH];
};

struct fault_page {
	_Atomic uint64_t kinds, path, skip, left, failed, record, calls[8],
	    overflow;
	struct fault_path paths[FAULT_PATHS];
};

_Static_assert(sizeof(struct fault_path) == 120, "rig.py reads it");
_Static_assert(offsetof(struct fault_page, paths) == 120, "rig.py reads it");

/* In this process: of calls of these kinds (1 << enum fault_kind), skip go
 * well and the next `left` fail.  0 left: none does. */
void fault_arm(uint64_t kinds, uint64_t skip, uint64_t left);

/* How many have failed in this process, ever. */
uint64_t fault_failed(void);
