/* chrome_tracks.h: a story as tracks, slices and hops of flows.  Private.
 *
 * The result meets the demands of a trace viewer: two slices of a track do not
 * overlap, or one contains the other; slices and hops are in order of time, and
 * every hop lies strictly inside the innermost slice of its track at its
 * moment. */
#pragma once

#include "talechain/claims/story.h"

enum chrome_process {
	CHROME_CLIENT = 1,
	CHROME_CPUS = 2,
	CHROME_REQUEST = 3,
};

struct chrome_track {
	enum chrome_process process;
	unsigned thread;  /* number in the trace, which orders the tracks */
	size_t lane;	  /* a lane of the story, or of chrome_tracks.c */
	const char *name; /* borrowed from the story, or static */
	bool further;	  /* a further track of its lane */
};

struct chrome_slice {
	int64_t begin_ns, end_ns;
	size_t lane, track;
	const char *name, *category;	     /* borrowed, or static */
	const struct story_bar *bar;	     /* borrowed, or NULL */
	const struct story_segment *segment; /* borrowed, or NULL */
	bool root;			     /* the request itself */
};

enum chrome_phase { CHROME_START, CHROME_STEP, CHROME_END };

struct chrome_hop {
	int64_t at_ns;
	size_t slice; /* index of the slice that contains it */
	enum chrome_phase phase;
	unsigned id;
	bool wakeup;
};

struct chrome {
	const struct story *story;  /* borrowed */
	struct chrome_track *track; /* owned */
	struct chrome_slice *slice; /* owned, by begin, longer first */
	struct chrome_hop *hop;	    /* owned, by time */
	size_t tracks, slices, hops;
};

/* 0 or -ENOMEM; release with chrome_fini. */
int chrome_init(struct chrome *c, const struct story *s);
void chrome_fini(struct chrome *c);
