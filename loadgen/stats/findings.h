/* findings.h: the slowest requests, and TaleChain's explanations of them.
 *
 * There is one finding for each request that was explained.  Grouped by code,
 * findings make the table of causes.  Their texts come from a server: their
 * length is bounded, and they are escaped when written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/instant.h"

/* One of the slowest requests. */
struct slow {
	unsigned iteration;
	uint32_t number; /* from 1 */
	struct instant scheduled;
	int64_t latency_ns;
	int64_t lag_ns;
	int64_t server_ns; /* -1: not reported */
	bool unpinned;	   /* used by analyzer.c: still to be pinned */
};

struct slow_list {
	struct slow *slowest; /* owned; slowest first */
	size_t count;
	size_t capacity;
};

/* Make an empty list with room for capacity entries, possibly 0.  Returns 0 or
 * -ENOMEM. */
int slow_list_init(struct slow_list *l, size_t capacity);
void slow_list_fini(struct slow_list *l);

/* Add a copy of *candidate if it is among the slowest so far; of equals the
   first counts.  Returns true if it was added. */
bool slow_list_offer(struct slow_list *l, const struct slow *candidate);

#define FINDING_CODE_MAX 32
#define FINDING_TEXT_MAX 400
#define FINDING_PAGE_MAX 64

struct finding {
	unsigned iteration;
	uint32_t number;
	int64_t share_ns; /* part of the latency; -1: not given */
	char code[FINDING_CODE_MAX];
	char text[FINDING_TEXT_MAX];
	char page[FINDING_PAGE_MAX]; /* file below the output, or "" */
};

struct findings {
	struct finding *all; /* owned */
	size_t count;
	size_t capacity;
	size_t pinned;	/* requests whose events are kept */
	size_t missing; /* requests whose events were gone */
	size_t failed;	/* exchanges with the Tailor */
	char why[128];	/* why analysis was given up, or "" */
};

/* The findings with one code. */
struct slow_cause {
	const char *code; /* borrowed from the first finding */
	const char *text; /* likewise */
	size_t count;
	int64_t median_ns; /* of the shares; -1: none given */
};

/* Add a copy of *one.  Returns 0 or -ENOMEM. */
int findings_add(struct findings *f, const struct finding *one);
void findings_fini(struct findings *f);

/* Return the finding of a request, or NULL. */
const struct finding *
findings_of(const struct findings *f, unsigned iteration, uint32_t number);

/* Group the findings by code, the most frequent first; at most max groups.
 * Returns the number of groups, or -ENOMEM. */
int findings_causes(const struct findings *f, struct slow_cause *out, int max);
