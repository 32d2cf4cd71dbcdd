/* chrome_tracks.h: a story as tracks, slices and hops of flows.  Private.
 *
 * They meet what a trace viewer demands: slices of a track are apart or hold
 * each other, slices and hops are in order of time, and every hop lies strictly
 * inside the innermost slice of its track at its moment. */
#pragma once

#include "talechain/claims/story.h"

enum chrome_process {
	CHROME_CLIENT = 1,
	CHROME_CPUS = 2,
	CHROME_REQUEST = 3,
};

struct chrome_track {
	enum chrome_process process;
	unsigned thread; /* its number in the trace, and its place */
	size_t lane;	 /* index, or beyond the story's: see chrome_tracks.c */
	const char *name; /* borrowed from the story, or static */
	bool further;	  /* of a lane whose first track was taken */
};

struct chrome_slice {
	int64_t begin_ns, end_ns;
	size_t lane, track;
	const char *name, *category;	     /* borrowed, or static */
	const struct story_bar *bar;	     /* at most one of these, */
	const struct story_segment *segment; /* borrowed */
	bool root;			     /* the request itself */
};

enum chrome_phase { CHROME_START, CHROME_STEP, CHROME_END };

struct chrome_hop {
	int64_t at_ns;
	size_t slice; /* index of the one it lies in */
	enum chrome_phase phase;
	unsigned id;
	bool wakeup;
};

struct chrome {
	const struct story *story;  /* borrowed */
	struct chrome_track *track; /* owned, all of them */
	struct chrome_slice *slice; /* in order of begin, longer first */
	struct chrome_hop *hop;	    /* in order of time */
	size_t tracks, slices, hops;
};

/* 0 or -ENOMEM; release with chrome_fini. */
int chrome_init(struct chrome *c, const struct story *s);
void chrome_fini(struct chrome *c);
