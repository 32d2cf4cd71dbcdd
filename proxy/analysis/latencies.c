/* latencies.c: counters that only grow, and blocks of what they grew by. */
#include "proxy/analysis/latencies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "proxy/analysis/accounts.h"

#define OTHER "other"
#define MINUTE_NS (60 * NS_PER_S)

/* What of a class is in blocks. */
struct latency_taken {
	uint64_t unnamed;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* Buckets that are not empty. */
struct latency_cell {
	uint32_t bucket, count;
};

struct latency_held {
	struct latency_held *next;
	char route[ACCOUNT_ROUTE];
	int64_t from_wall_ns, to_wall_ns;
	uint64_t unnamed;
	unsigned cells;
	struct latency_cell cell[];
};

size_t
latencies_bytes(void)
{
	return LATENCY_CLASSES * (sizeof(struct latency_class) +
				     sizeof(struct latency_taken)) +
	       sizeof(struct latency_block) + LATENCIES_HELD;
}

int
latencies_init(struct latencies *l, int64_t now_wall_ns)
{
	memset(l, 0, sizeof(*l));
	l->from_wall_ns = now_wall_ns;
	/* Pages that are not used yet take no memory. */
	l->class = calloc(LATENCY_CLASSES, sizeof(*l->class));
	l->taken = calloc(LATENCY_CLASSES, sizeof(*l->taken));
	l->block = calloc(1, sizeof(*l->block));
	return l->class == NULL || l->taken == NULL || l->block == NULL
		   ? -ENOMEM
		   : 0;
}

/* --- counting ------------------------------------------------------------- */

/* The only writer: no other thread's addition is lost. */
static void
add_one(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

/* The place of a class; a new one's if there is room, else that of "other". */
static unsigned
class_find(struct latencies *l, const char *name)
{
	unsigned n = atomic_load_explicit(&l->classes, memory_order_relaxed);
	unsigned i = 0;

	while (i < n && strcmp(l->class[i].name, name) != 0)
		i++;
	if (i == n && n >= LATENCY_CLASSES - 1 && strcmp(name, OTHER) != 0)
		return class_find(l, OTHER);
	if (i == n) {
		snprintf(l->class[i].name, ACCOUNT_ROUTE, "%s", name);
		/* The name is whole before it is counted. */
		atomic_store_explicit(&l->classes, n + 1, memory_order_release);
	}
	return i;
}

/* What the class of a request depends on.  Not keyed: a client could give its
 * requests another class by chosen paths, which it may name as it likes in any
 * case. */
static uint64_t
hash_of(const struct latency_key *key)
{
	uint64_t hash = hash_text(key->method) ^
			hash_bytes(key->target, strcspn(key->target, "?#"));

	return hash != 0 ? hash : 1;
}

static const struct latency_memo *
memo_of(struct latencies *l, const struct latency_key *key)
{
	uint64_t hash = hash_of(key);
	struct latency_memo *memo = &l->memo[hash % LATENCY_MEMOS];
	char class[ACCOUNT_ROUTE];

	if (memo->hash == hash)
		return memo;
	account_class(key->class, key->n, key->method, key->target, class);
	memo->hash = hash;
	memo->class = (uint8_t)class_find(l, class);
	memo->unnamed = strcmp(l->class[memo->class].name, class) != 0;
	return memo;
}

const char *
latencies_count(
    struct latencies *l, const struct latency_key *key, int64_t total_ns)
{
	const struct latency_memo *memo = memo_of(l, key);
	struct latency_class *c = &l->class[memo->class];
	uint64_t ns = total_ns > 0 ? (uint64_t)total_ns : 0;

	add_one(&c->bucket[histogram_bucket(ns)]);
	if (memo->unnamed) {
		add_one(&c->unnamed);
		add_one(&l->unnamed);
	}
	return c->name;
}

void
latencies_forget(struct latencies *l)
{
	memset(l->memo, 0, sizeof(l->memo));
}

/* --- blocks --------------------------------------------------------------- */

/* What a class has counted that is in no block; true if there is some. */
static bool
block_make(struct latencies *l, unsigned class, int64_t now_wall_ns)
{
	struct latency_class *c = &l->class[class];
	struct latency_taken *was = &l->taken[class];
	struct latency_block *b = l->block;

	memset(b, 0, sizeof(*b));
	memcpy(b->route, c->name, sizeof(b->route));
	b->from_wall_ns = l->from_wall_ns;
	b->to_wall_ns = now_wall_ns;
	b->unnamed = atomic_load_explicit(&c->unnamed, memory_order_relaxed) -
		     was->unnamed;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		b->bucket[i] =
		    atomic_load_explicit(&c->bucket[i], memory_order_relaxed) -
		    was->bucket[i];
		b->count += b->bucket[i];
	}
	/* Without an order between them one may be seen before its bucket. */
	if (b->unnamed > b->count)
		b->unnamed = b->count;
	return b->count > 0;
}

/* It is in a block now. */
static void
block_taken(struct latencies *l, unsigned class)
{
	struct latency_taken *was = &l->taken[class];

	was->unnamed += l->block->unnamed;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (l->block->bucket[i] > 0)
			was->bucket[i] += l->block->bucket[i];
}

static size_t
held_bytes(unsigned cells)
{
	return sizeof(struct latency_held) +
	       cells * sizeof(struct latency_cell);
}

static void
held_drop(struct latencies *l)
{
	struct latency_held *h = l->first;

	l->first = h->next;
	l->held -= held_bytes(h->cells);
	free(h);
}

/* Keep the block in memory; the oldest makes room. */
static void
block_hold(struct latencies *l)
{
	const struct latency_block *b = l->block;
	struct latency_held *h;
	unsigned n = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += b->bucket[i] > 0;
	h = malloc(held_bytes(n));
	if (h == NULL) {
		atomic_fetch_add(&l->dropped, 1);
		return;
	}
	*h = (struct latency_held){.from_wall_ns = b->from_wall_ns,
	    .to_wall_ns = b->to_wall_ns,
	    .unnamed = b->unnamed};
	memcpy(h->route, b->route, sizeof(h->route));
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (b->bucket[i] > 0)
			h->cell[h->cells++] =
			    (struct latency_cell){i, (uint32_t)b->bucket[i]};
	if (l->first == NULL)
		l->first = h;
	else
		l->last->next = h;
	l->last = h;
	l->held += held_bytes(n);
	while (l->held > LATENCIES_HELD) {
		held_drop(l);
		atomic_fetch_add(&l->dropped, 1);
	}
}

/* Write what was kept in memory, oldest first. */
static void
held_write(struct latencies *l, struct account_store *store)
{
	while (l->first != NULL) {
		const struct latency_held *h = l->first;
		struct latency_block *b = l->block;

		memset(b, 0, sizeof(*b));
		memcpy(b->route, h->route, sizeof(b->route));
		b->from_wall_ns = h->from_wall_ns;
		b->to_wall_ns = h->to_wall_ns;
		b->unnamed = h->unnamed;
		for (unsigned i = 0; i < h->cells; i++) {
			b->bucket[h->cell[i].bucket] = h->cell[i].count;
			b->count += h->cell[i].count;
		}
		if (latency_store_add(store, b) < 0)
			return;
		held_drop(l);
	}
}

/* Make a block of each class. */
static void
minute_close(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	unsigned n = atomic_load_explicit(&l->classes, memory_order_acquire);

	/* The clock may have been set back. */
	if (now_wall_ns < l->from_wall_ns)
		l->from_wall_ns = now_wall_ns;
	if (store != NULL)
		held_write(l, store);
	for (unsigned c = 0; c < n; c++) {
		if (!block_make(l, c, now_wall_ns))
			continue;
		if (store == NULL || latency_store_add(store, l->block) < 0)
			block_hold(l);
		block_taken(l, c);
	}
	l->from_wall_ns = now_wall_ns;
}

void
latencies_tick(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	if (now_wall_ns / MINUTE_NS != l->from_wall_ns / MINUTE_NS)
		minute_close(l, store, now_wall_ns);
}

void
latencies_fini(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	if (l->block != NULL && l->class != NULL && l->taken != NULL &&
	    store != NULL)
		minute_close(l, store, now_wall_ns);
	while (l->first != NULL)
		held_drop(l);
	free(l->class);
	free(l->taken);
	free(l->block);
	*l = (struct latencies){.class = NULL};
}

/* --- the table ------------------------------------------------------------ */

/* Blocks of some time, added up by name. */
struct sums {
	struct latency_block *sum; /* owned, LATENCY_NAMES */
	unsigned n;
};

static struct latency_block *
sum_find(struct sums *s, const char *name)
{
	unsigned i = 0;

	while (i < s->n && strcmp(s->sum[i].route, name) != 0)
		i++;
	if (i < s->n)
		return &s->sum[i];
	if (s->n >= LATENCY_NAMES - 1 && strcmp(name, OTHER) != 0)
		return sum_find(s, OTHER);
	s->n++;
	snprintf(s->sum[i].route, sizeof(s->sum[i].route), "%s", name);
	s->sum[i].from_wall_ns = INT64_MAX;
	return &s->sum[i];
}

/* The sum that a block of these requests is added to. */
static struct latency_block *
sum_of(struct sums *s, const char *route, int64_t from_wall_ns,
    int64_t to_wall_ns, uint64_t unnamed, uint64_t count)
{
	struct latency_block *sum = sum_find(s, route);

	if (from_wall_ns < sum->from_wall_ns)
		sum->from_wall_ns = from_wall_ns;
	if (to_wall_ns > sum->to_wall_ns)
		sum->to_wall_ns = to_wall_ns;
	sum->unnamed += strcmp(sum->route, route) == 0 ? unnamed : count;
	return sum;
}

static void
block_add(void *user, const struct latency_block *b)
{
	struct latency_block *sum = sum_find(user, b->route);

	/* Files are hostile: what cannot be a number of requests is not
	 * added. */
	if (b->count > LATENCY_COUNT_MAX - sum->count)
		return;
	sum_of(user, b->route, b->from_wall_ns, b->to_wall_ns, b->unnamed,
	    b->count);
	sum->count += b->count;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum->bucket[i] += b->bucket[i];
}

static void
held_add(struct sums *s, const struct latency_held *h)
{
	uint64_t count = 0;
	struct latency_block *sum;

	for (unsigned i = 0; i < h->cells; i++)
		count += h->cell[i].count;
	sum = sum_of(
	    s, h->route, h->from_wall_ns, h->to_wall_ns, h->unnamed, count);
	sum->count += count;
	for (unsigned i = 0; i < h->cells; i++)
		sum->bucket[h->cell[i].bucket] += h->cell[i].count;
}

static void
sum_write(const struct latency_block *b, struct text *t)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (b->bucket[i] > 0)
			text_add(t, "%s,%lld,%lld,%llu,%llu,%llu\n", b->route,
			    (long long)b->from_wall_ns,
			    (long long)b->to_wall_ns,
			    (unsigned long long)b->unnamed,
			    (unsigned long long)histogram_bucket_edge(i),
			    (unsigned long long)b->bucket[i]);
}

int
latencies_write(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    struct text *t)
{
	unsigned n = atomic_load_explicit(&l->classes, memory_order_acquire);
	struct sums s = {.sum = calloc(LATENCY_NAMES, sizeof(*s.sum))};
	int err = 0;

	if (s.sum == NULL)
		return -ENOMEM;
	if (store != NULL)
		err = latency_store_read(
		    store, from_wall_ns, to_wall_ns, block_add, &s);
	for (const struct latency_held *h = l->first; h != NULL; h = h->next)
		if (h->from_wall_ns >= from_wall_ns &&
		    h->to_wall_ns <= to_wall_ns)
			held_add(&s, h);
	for (unsigned c = 0; c < n; c++)
		if (l->from_wall_ns >= from_wall_ns &&
		    now_wall_ns <= to_wall_ns && block_make(l, c, now_wall_ns))
			block_add(&s, l->block);
	text_puts(t, "route,from_ns,to_ns,unnamed,le_ns,requests\n");
	for (unsigned i = 0; i < s.n; i++)
		sum_write(&s.sum[i], t);
	free(s.sum);
	return err;
}
