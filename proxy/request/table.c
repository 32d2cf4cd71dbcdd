/* table.c: requests in flight, and a ring of the finished ones with an index by
 * id: buckets of chains threaded through the ring's places, from new to old.
 * Nothing is taken out of a chain: it ends where the ring has gone on. */
#include "base/hash.h"
#include "proxy/request/table.h"

#include <sys/random.h>

/* Ids remembered after they left: sets of a few, the oldest of a set goes
 * first, so an id is remembered for tens of thousands of others. */
#define EXPIRED_SETS 8192
#define EXPIRED_WAYS 8

#define CACHE_LINE 64

int
table_init(struct table *t, unsigned history_max)
{
	unsigned buckets = 1;
	uint32_t key[4];

	*t = (struct table){.history_max = history_max};
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
	if (getrandom(key, sizeof(key), 0) != sizeof(key)) {
		table_fini(t);
		return -EIO;
	}
	permutation_init(&t->id_order, key);
	return 0;
}

void
table_fini(struct table *t)
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

static uint64_t
id_next(struct table *t)
{
	uint64_t id;

	do
		id = permutation_of(&t->id_order, t->ids++);
	while (id == 0);
	return id;
}

struct request *
table_add(struct table *t, unsigned inflight_max)
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
	r->id = id_next(t);
	TAILQ_INSERT_TAIL(&t->inflight, r, link);
	t->inflight_count++;
	return r;
}

void
table_remove(struct table *t, struct request *r)
{
	TAILQ_REMOVE(&t->inflight, r, link);
	TAILQ_INSERT_HEAD(&t->unused, r, link);
	t->inflight_count--;
}

static uint64_t *
expired_set(const struct table *t, uint64_t hash)
{
	return &t->expired[hash % EXPIRED_SETS * EXPIRED_WAYS];
}

static bool
expired_has(const struct table *t, uint64_t hash)
{
	const uint64_t *set = expired_set(t, hash);

	for (int i = 0; i < EXPIRED_WAYS; i++)
		if (set[i] == hash)
			return true;
	return false;
}

/* An id leaves the history. */
static void
expire(struct table *t, uint64_t hash)
{
	uint64_t *set = expired_set(t, hash);

	memmove(set + 1, set, (EXPIRED_WAYS - 1) * sizeof(*set));
	set[0] = hash;
}

/* Where the number-th request that finished is, if it is there still. */
static bool
kept(const struct table *t, uint64_t number, unsigned *at)
{
	if (number == 0 || number + t->history_max <= t->finished)
		return false;
	*at = (unsigned)((number - 1) % t->history_max);
	return true;
}

struct tale_request *
table_slot(struct table *t)
{
	unsigned at = (unsigned)(t->finished % t->history_max);

	if (t->finished >= t->history_max)
		expire(t, t->hash[at]);
	return &t->history[at];
}

/* The history is far larger than the caches: fetch what the next request will
 * overwrite, while this one is being written. */
static void
table_expect(const struct table *t)
{
	unsigned at = (unsigned)(t->finished % t->history_max);
	const char *slot = (const char *)&t->history[at];

	for (size_t i = 0; i < sizeof(t->history[at]); i += CACHE_LINE)
		__builtin_prefetch(slot + i, 1);
	__builtin_prefetch(expired_set(t, t->hash[at]), 1);
}

void
table_file(struct table *t)
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
table_find(const struct table *t, const char *external_id,
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
