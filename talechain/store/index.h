/* index.h: which tales the store has: by id, and in order of time.
 * Private to this room.
 *
 * Cost: about 900 bytes a tale; finding one by id is a hash, walking by time
 * is a loop over pointers. */
#pragma once

#include "talechain/store/store.h"

struct store_entry {
	struct store_entry *next; /* in its bucket, newer first */
	uint64_t file;		  /* number of the file it is in */
	uint64_t offset;	  /* of the packed tale in it */
	uint32_t packed;
	struct tale_summary summary;
};

struct store_index {
	struct store_entry **entry; /* owned; oldest first, NULLs between */
	unsigned first, last;	    /* used: [first, last) */
	unsigned capacity;	    /* of entry: twice the most there may be */
	unsigned count;
	struct store_entry **bucket; /* borrowed */
	unsigned mask;
};

/* Room for keep entries.  0 or -ENOMEM. */
int store_index_init(struct store_index *x, unsigned keep);
void store_index_fini(struct store_index *x);

/* File an entry (taken over) as the newest.  There must be room. */
void store_index_add(struct store_index *x, struct store_entry *e);
/* Take an entry out; the caller owns it. */
void store_index_remove(struct store_index *x, struct store_entry *e);

/* The newest entry with that id, or NULL. */
struct store_entry *
store_index_find(const struct store_index *x, const char *external_id);
/* The entry of the same request, or NULL. */
struct store_entry *
store_index_same(const struct store_index *x, const struct tale_summary *s);
/* The oldest entry, or NULL. */
struct store_entry *store_index_oldest(const struct store_index *x);
