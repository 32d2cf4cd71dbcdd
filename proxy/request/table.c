/* table.c: requests in flight, and a ring of finished ones with a hash index by
 * id.  Each bucket is a chain through the ring's places, from new to old.
 * Nothing is removed from a chain: it ends at the first number that the ring
 * has overwritten. */
#include "proxy/request/table.h"

#include <assert.h>
#include <sys/random.h>

#include "base/hash.h"
#include "proxy/analysis/analysis.h"

/* Hashes of ids that left the history, in sets of a few: a new one replaces the
 * oldest of its set, after some tens of thousands of other ids. */
#define EXPIRED_SETS 8192
#define EXPIRED_WAYS 8

#define CACHE_LINE 64

int
table_init(struct request_table *t, unsigned history_max)
{
	unsigned buckets = 1;

	*t = (struct request_table){.history_max = history_max};
	TAILQ_INIT(&t->inflight);
	TAILQ_INIT(&t->unused);
	while (buckets < 2 * history_max)
		buckets *= 2;
	t->bucket_mask = buckets - 1;
	t->history = calloc(history_max, sizeof(*t->history));
	t->bucket = calloc(buckets, sizeof(*t->bucket));
	t->chain = calloc(history_max, sizeof(*t->chain));
	t->hash = calloc(history_max, sizeof(*t->hash));
	t->expired =
	    calloc((size_t)EXPIRED_SETS * EXPIRED_WAYS, sizeof(*t->expired));
	if (t->history == NULL || t->bucket == NULL || t->chain == NULL ||
	    t->hash == NULL || t->expired == NULL) {
		table_fini(t);
		return -ENOMEM;
	}
	return 0;
}

void
table_fini(struct request_table *t)
{
	struct request *r;

	while ((r = TAILQ_FIRST(&t->unused)) != NULL) {
		TAILQ_REMOVE(&t->unused, r, link);
		free(r);
	}
	free(t->history);
	free(t->bucket);
	free(t->chain);
	free(t->hash);
	free(t->expired);
	t->history = NULL;
	t->bucket = t->chain = t->hash = t->expired = NULL;
}

/* getrandom(2) costs a microsecond, so it gets 32 ids at once, which are few
 * enough to be returned whole always. */
uint64_t
table_id(struct request_table *t)
{
	uint64_t id;

	do {
		if (t->ids == 0) {
			ssize_t n = getrandom(t->id, sizeof(t->id), 0);

			assert(n == sizeof(t->id));
			t->ids = TABLE_IDS;
		}
		id = t->id[--t->ids];
	} while (id == 0);
	return id;
}

struct request *
table_add(struct request_table *t, unsigned inflight_max)
{
	struct request *r = TAILQ_FIRST(&t->unused);

	if (t->inflight_count >= inflight_max)
		return NULL;
	if (r != NULL) {
		TAILQ_REMOVE(&t->unused, r, link);
	} else {
		r = malloc(sizeof(*r));
		if (r == NULL)
			return NULL;
		t->requests++;
	}
	memset(r, 0, sizeof(*r));
	r->id = table_id(t);
	TAILQ_INSERT_TAIL(&t->inflight, r, link);
	t->inflight_count++;
	return r;
}

void
table_remove(struct request_table *t, struct request *r)
{
	TAILQ_REMOVE(&t->inflight, r, link);
	TAILQ_INSERT_HEAD(&t->unused, r, link);
	t->inflight_count--;
}

static uint64_t *
expired_set(const struct request_table *t, uint64_t hash)
{
	return &t->expired[hash % EXPIRED_SETS * EXPIRED_WAYS];
}

static bool
expired_has(const struct request_table *t, uint64_t hash)
{
	const uint64_t *set = expired_set(t, hash);

	for (int i = 0; i < EXPIRED_WAYS; i++)
		if (set[i] == hash)
			return true;
	return false;
}

/* Remember an id that leaves the history. */
static void
expire(struct request_table *t, uint64_t hash)
{
	uint64_t *set = expired_set(t, hash);

	memmove(set + 1, set, (EXPIRED_WAYS - 1) * sizeof(*set));
	set[0] = hash;
}

/* Set *at to the place of the number-th finished request; false if it has been
 * overwritten. */
static bool
kept(const struct request_table *t, uint64_t number, unsigned *at)
{
	if (number == 0 || number + t->history_max <= t->finished)
		return false;
	*at = (unsigned)((number - 1) % t->history_max);
	return true;
}

struct tale_request *
table_slot(struct request_table *t)
{
	unsigned at = (unsigned)(t->finished % t->history_max);

	if (t->finished >= t->history_max)
		expire(t, t->hash[at]);
	return &t->history[at];
}

/* The history is far larger than the caches: prefetch the place that the next
 * request overwrites. */
static void
table_expect(const struct request_table *t)
{
	unsigned at = (unsigned)(t->finished % t->history_max);
	const char *slot = (const char *)&t->history[at];

	for (size_t i = 0; i < sizeof(t->history[at]); i += CACHE_LINE)
		__builtin_prefetch(slot + i, 1);
	__builtin_prefetch(expired_set(t, t->hash[at]), 1);
}

void
table_file(struct request_table *t)
{
	unsigned at = (unsigned)(t->finished % t->history_max);
	uint64_t h = hash_text(t->history[at].external_id);
	uint64_t *newest = &t->bucket[h & t->bucket_mask];

	t->hash[at] = h;
	t->chain[at] = *newest;
	*newest = ++t->finished;
	table_expect(t);
}

enum table_found
table_find(const struct request_table *t, const char *external_id,
    const struct tale_request **out)
{
	uint64_t h = hash_text(external_id);
	const struct request *r;
	unsigned at;

	for (uint64_t n = t->bucket[h & t->bucket_mask]; kept(t, n, &at);
	     n = t->chain[at]) {
		*out = &t->history[at];
		if (strcmp((*out)->external_id, external_id) == 0)
			return TABLE_FOUND;
	}
	TAILQ_FOREACH(r, &t->inflight, link)
	if (strcmp(r->external_id, external_id) == 0)
		return TABLE_IN_FLIGHT;
	return expired_has(t, h) ? TABLE_EXPIRED : TABLE_UNKNOWN;
}

static void
name_fill(struct analysis_name *out, uint64_t id, const char *external_id,
    const char *method, const char *target)
{
	out->id = id;
	snprintf(out->external_id, sizeof(out->external_id), "%s", external_id);
	snprintf(out->method, sizeof(out->method), "%s", method);
	snprintf(out->target, sizeof(out->target), "%s", target);
}

unsigned
table_about(const struct request_table *t, const struct tale_request *found,
    struct analysis_name *out, unsigned room)
{
	unsigned count = 0, index = (unsigned)(found - t->history), at;
	uint64_t last = (t->finished - 1) % t->history_max;
	/* The found request's number, from 1. */
	uint64_t number =
	    t->finished - (last + t->history_max - index) % t->history_max;
	const struct request *r;

	TAILQ_FOREACH(r, &t->inflight, link)
	if (count < room / 2)
		name_fill(&out[count++], r->id, r->external_id, r->method_text,
		    r->target);
	for (uint64_t d = 1; d < t->history_max && count < room; d++) {
		const struct tale_request *h;

		if (number + d > t->finished && number <= d)
			break;
		for (int side = 0; side < 2 && count < room; side++) {
			uint64_t n = side == 0 ? number + d : number - d;

			if (n > t->finished || !kept(t, n, &at))
				continue;
			h = &t->history[at];
			name_fill(&out[count++], h->id, h->external_id,
			    h->method, h->target);
		}
	}
	return count;
}
