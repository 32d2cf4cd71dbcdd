/* follow.h: the timeline stream in shared memory, for log and top.
 *
 * Read without the observer's help: a reader that is too slow is overtaken,
 * counts the lost events, and cannot delay the observer. */
#pragma once

#include "tailorctl/options.h"
#include "tailorctl/stream_request.h"

struct follow {
	const struct ctl_options *options; /* borrowed */
	char *path;			   /* owned */
	struct timeline_reader *reader;	   /* owned */
	int64_t wall_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t end;	 /* --dump: stop here */
	uint64_t lost;
	unsigned idle;
};

/* Find the stream and open it: at its end, or with --dump at its beginning.
 * Signals INT and TERM then end follow_next.  0, or -1 after a message. */
int follow_open(struct follow *f, const struct ctl_options *options);
void follow_close(struct follow *f);

enum follow_event {
	FOLLOW_SLOT, /* *out is the next event */
	FOLLOW_LOST, /* *lost were overwritten unread */
	FOLLOW_IDLE, /* no new event for some milliseconds */
	FOLLOW_END,  /* --dump is done, or a signal came */
	FOLLOW_GONE, /* the tailor has stopped; printed */
};
enum follow_event
follow_next(struct follow *f, struct timeline_slot *out, uint64_t *lost);

/* Get the servers' names from the running tailor, if there is one. */
void follow_names(const struct ctl_options *options, struct stream_requests *s);

/* "15:04:05.123456789" of a stamp; out is returned. */
#define FOLLOW_CLOCK 32
char *follow_clock(const struct follow *f, uint64_t ns, char out[FOLLOW_CLOCK]);
