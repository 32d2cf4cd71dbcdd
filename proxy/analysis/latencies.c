/* latencies.c: counters that only grow, and blocks with their growth. */
#include "proxy/analysis/latencies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "proxy/analysis/accounts.h"

#define MINUTE_NS (60 * NS_PER_S)

#define LOOK_NS (10 * NS_PER_S) /* between two, for tails */
#define SUMS_SEEN 512		/* entries to find the busiest routes */

/* The counts of a place that are in blocks already. */
struct latency_taken {
	uint64_t unnamed;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

size_t
latencies_bytes(void)
{
	return ROUTE_PLACES * (sizeof(struct latency_counts) +
				  sizeof(struct latency_taken)) +
	       sizeof(struct latency_block) + LATENCIES_HELD;
}

int
latencies_init(struct latencies *l, struct routes *routes, int64_t now_wall_ns)
{
	memset(l, 0, sizeof(*l));
	l->routes = routes;
	l->from_wall_ns = now_wall_ns;
	/* Pages that are not used yet take no memory. */
	l->counts = calloc(ROUTE_PLACES, sizeof(*l->counts));
	l->taken = calloc(ROUTE_PLACES, sizeof(*l->taken));
	l->block = calloc(1, sizeof(*l->block));
	return l->counts == NULL || l->taken == NULL || l->block == NULL
		   ? -ENOMEM
		   : 0;
}

/* --- counting ------------------------------------------------------------- */

/* Add one without an atomic addition: only this thread writes the counter. */
static void
add_one(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter,
	    atomic_load_explicit(counter, memory_order_relaxed) + 1,
	    memory_order_relaxed);
}

/* Hash the parts of a request that its route depends on.  Not keyed: a client
 * could find a collision and be counted under another route, but it may request
 * any path anyway. */
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
	char route[ACCOUNT_ROUTE];

	if (l->changes != l->routes->changes)
		latencies_forget(l);
	l->changes = l->routes->changes;
	if (memo->hash == hash)
		return memo;
	account_class(key->class, key->n, key->method, key->target, route);
	memo->hash = hash;
	memo->route = hash_text(route) | 1;
	memo->place = (uint8_t)routes_find(l->routes, route);
	memo->unnamed = strcmp(l->routes->place[memo->place].name, route) != 0;
	return memo;
}

/* True if a request proves that its route exists: the operator defines classes,
 * but a client may request any path. */
static bool
is_evidence(const struct latency_key *key)
{
	return key->n > 0 || (key->status >= 100 && key->status / 100 != 4);
}

/* Count the request for its route's place, or give the route a place if it may
 * have one. */
static const struct latency_memo *
memo_placed(struct latencies *l, const struct latency_key *key)
{
	const struct latency_memo *memo = memo_of(l, key);
	char route[ACCOUNT_ROUTE];

	if (!is_evidence(key))
		return memo;
	if (!memo->unnamed) {
		routes_count(l->routes, memo->place, key->now);
		return memo;
	}
	if (!routes_bid(l->routes, memo->route, key->now))
		return memo;
	account_class(key->class, key->n, key->method, key->target, route);
	routes_take(l->routes, memo->route, route);
	return memo_of(l, key);
}

const char *
latencies_count(struct latencies *l, const struct latency_key *key,
    int64_t total_ns, int64_t *tail_ns)
{
	const struct latency_memo *memo = memo_placed(l, key);
	struct latency_counts *c = &l->counts[memo->place];
	uint64_t ns = total_ns > 0 ? (uint64_t)total_ns : 0;

	add_one(&c->bucket[histogram_bucket(ns)]);
	if (memo->unnamed) {
		add_one(&c->unnamed);
		add_one(&l->unnamed);
	}
	*tail_ns = atomic_load_explicit(
	    &l->tail_ns[memo->place], memory_order_relaxed);
	return l->routes->place[memo->place].name;
}

void
latencies_forget(struct latencies *l)
{
	memset(l->memo, 0, sizeof(l->memo));
}

/* --- blocks --------------------------------------------------------------- */

/* Fill in l->block with the counts of a place that are in no block yet; false:
 * there are none. */
static bool
block_make(struct latencies *l, unsigned place, int64_t now_wall_ns)
{
	struct latency_counts *c = &l->counts[place];
	struct latency_taken *was = &l->taken[place];
	struct latency_block *b = l->block;

	if (routes_state(l->routes, place) == ROUTE_FREE)
		return false;
	memset(b, 0, sizeof(*b));
	memcpy(b->route, l->routes->place[place].name, sizeof(b->route));
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
	/* The counters are not ordered: unnamed may be seen before bucket. */
	if (b->unnamed > b->count)
		b->unnamed = b->count;
	return b->count > 0;
}

/* Find where the tail of the requests in l->block begins, if there are enough;
 * if lower, only where that is earlier than so far. */
static void
tail_find(struct latencies *l, unsigned place, bool lower)
{
	int64_t was_ns = atomic_load(&l->tail_ns[place]), now_ns;
	const struct latency_block *b = l->block;
	unsigned i = HISTOGRAM_BUCKETS - 1;
	uint64_t above = 0;

	if (b->count < LATENCY_TAIL_LEAST)
		return;
	while (i > 0 && (double)(above + b->bucket[i]) <=
			    (1 - LATENCY_TAIL) * (double)b->count)
		above += b->bucket[i--];
	now_ns = (int64_t)histogram_bucket_edge(i);
	if (!lower || was_ns == 0 || now_ns < was_ns)
		atomic_store(&l->tail_ns[place], now_ns);
}

/* Record that the counts in l->block are stored. */
static void
block_taken(struct latencies *l, unsigned place)
{
	struct latency_taken *was = &l->taken[place];

	was->unnamed += l->block->unnamed;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (l->block->bucket[i] > 0)
			was->bucket[i] += l->block->bucket[i];
}

/* Publish and return how many blocks were dropped in memory. */
static uint64_t
dropped_publish(struct latencies *l)
{
	struct account_store_stats s = {.latencies_dropped = 0};

	if (l->spare != NULL)
		account_store_stats(l->spare, &s);
	atomic_store(&l->dropped, l->lost + s.latencies_dropped);
	return l->lost + s.latencies_dropped;
}

/* Write l->block to the store, or keep it in memory if that fails. */
static void
block_keep(struct latencies *l, struct account_store *store)
{
	if (store != NULL && latency_store_add(store, l->block) == 0)
		return;
	if (l->spare == NULL)
		(void)account_store_open(&l->spare, NULL, LATENCIES_HELD);
	if (l->spare == NULL || latency_store_add(l->spare, l->block) < 0)
		l->lost++;
	dropped_publish(l);
}

/* Write the blocks kept in memory to the store, oldest first. */
static void
spare_write(struct latencies *l, struct account_store *store)
{
	if (l->spare == NULL || latency_store_move(l->spare, store) < 0)
		return;
	l->lost = dropped_publish(l);
	account_store_close(&l->spare);
}

void
latencies_end(struct latencies *l, struct account_store *store, unsigned place,
    int64_t now_wall_ns)
{
	if (routes_state(l->routes, place) == ROUTE_LOST)
		atomic_store(&l->tail_ns[place], 0);
	if (!block_make(l, place, now_wall_ns))
		return;
	if (routes_state(l->routes, place) == ROUTE_TAKEN)
		tail_find(l, place, false);
	block_keep(l, store);
	block_taken(l, place);
}

/* Make a block of each place. */
static void
minute_close(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	/* The clock may have been set back. */
	if (now_wall_ns < l->from_wall_ns)
		l->from_wall_ns = now_wall_ns;
	if (store != NULL)
		spare_write(l, store);
	for (unsigned i = 0; i < ROUTE_PLACES; i++)
		latencies_end(l, store, i, now_wall_ns);
	l->from_wall_ns = now_wall_ns;
}

/* A new route need not wait for the end of the minute, and pauses in a short
 * time, which hit more than a twentieth of its requests, hide no tail. */
static void
tails_look(struct latencies *l, int64_t now_wall_ns)
{
	l->looked_wall_ns = now_wall_ns;
	for (unsigned i = 0; i < ROUTE_PLACES; i++)
		if (routes_state(l->routes, i) == ROUTE_TAKEN &&
		    block_make(l, i, now_wall_ns))
			tail_find(l, i, true);
}

void
latencies_tick(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	if (now_wall_ns / MINUTE_NS != l->from_wall_ns / MINUTE_NS)
		minute_close(l, store, now_wall_ns);
	if (llabs(now_wall_ns - l->looked_wall_ns) >= LOOK_NS)
		tails_look(l, now_wall_ns);
}

void
latencies_fini(
    struct latencies *l, struct account_store *store, int64_t now_wall_ns)
{
	if (l->block != NULL && l->counts != NULL && l->taken != NULL &&
	    store != NULL)
		minute_close(l, store, now_wall_ns);
	account_store_close(&l->spare);
	free(l->counts);
	free(l->taken);
	free(l->block);
	*l = (struct latencies){.counts = NULL};
}

/* --- the table ------------------------------------------------------------ */

/* The sums of the blocks of a period, made in two passes: the first finds the
 * busiest names, the second adds up their blocks. */
struct latency_sums {
	struct busiest *seen;	   /* owned, SUMS_SEEN */
	bool chosen;		   /* second pass: seen is complete */
	struct latency_block *sum; /* owned, LATENCY_NAMES; first "other" */
	unsigned n;
};

static uint64_t
name_hash(const char *name)
{
	return hash_text(name) | 1;
}

static struct latency_block *
sum_find(struct latency_sums *s, const char *name)
{
	unsigned i = 0;

	while (i < s->n && strcmp(s->sum[i].route, name) != 0)
		i++;
	if (i < s->n)
		return &s->sum[i];
	/* No room is left if names in files have the same hash. */
	if (s->n == LATENCY_NAMES ||
	    busiest_find(s->seen, LATENCY_NAMES - 1, name_hash(name)) == NULL)
		return &s->sum[0];
	s->n++;
	snprintf(s->sum[i].route, sizeof(s->sum[i].route), "%s", name);
	s->sum[i].from_wall_ns = INT64_MAX;
	return &s->sum[i];
}

static void
block_add(void *user, const struct latency_block *b)
{
	struct latency_sums *s = user;
	struct latency_block *sum;

	if (!s->chosen) {
		busiest_add(s->seen, SUMS_SEEN, name_hash(b->route),
		    b->count < LATENCY_COUNT_MAX / SUMS_SEEN
			? b->count
			: LATENCY_COUNT_MAX / SUMS_SEEN);
		return;
	}
	sum = sum_find(s, b->route);
	/* Files are not trusted: skip a count that would overflow. */
	if (b->count > LATENCY_COUNT_MAX - sum->count)
		return;
	if (b->from_wall_ns < sum->from_wall_ns)
		sum->from_wall_ns = b->from_wall_ns;
	if (b->to_wall_ns > sum->to_wall_ns)
		sum->to_wall_ns = b->to_wall_ns;
	sum->unnamed +=
	    strcmp(sum->route, b->route) == 0 ? b->unnamed : b->count;
	sum->count += b->count;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum->bucket[i] += b->bucket[i];
}

/* Add each block of the period to s. */
static int
blocks_take(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    struct latency_sums *s)
{
	int err = 0;

	if (store != NULL)
		err = latency_store_read(
		    store, from_wall_ns, to_wall_ns, block_add, s);
	if (err == 0 && l->spare != NULL)
		err = latency_store_read(
		    l->spare, from_wall_ns, to_wall_ns, block_add, s);
	for (unsigned i = 0; i < ROUTE_PLACES; i++)
		if (l->from_wall_ns >= from_wall_ns &&
		    now_wall_ns <= to_wall_ns && block_make(l, i, now_wall_ns))
			block_add(s, l->block);
	return err;
}

int
latencies_read(struct latencies *l, struct account_store *store,
    int64_t from_wall_ns, int64_t to_wall_ns, int64_t now_wall_ns,
    void (*take)(void *user, const struct latency_block *sum), void *user)
{
	struct latency_sums s = {.seen = calloc(SUMS_SEEN, sizeof(*s.seen)),
	    .sum = calloc(LATENCY_NAMES, sizeof(*s.sum))};
	int err = -ENOMEM;

	if (s.seen == NULL || s.sum == NULL)
		goto done;
	(void)blocks_take(l, store, from_wall_ns, to_wall_ns, now_wall_ns, &s);
	busiest_keep(s.seen, SUMS_SEEN, LATENCY_NAMES - 1);
	s.chosen = true;
	s.n = 1;
	snprintf(s.sum[0].route, sizeof(s.sum[0].route), ROUTE_OTHER_NAME);
	s.sum[0].from_wall_ns = INT64_MAX;
	err = blocks_take(l, store, from_wall_ns, to_wall_ns, now_wall_ns, &s);
	for (unsigned i = 0; i < s.n; i++)
		if (s.sum[i].count > 0)
			take(user, &s.sum[i]);
done:
	free(s.seen);
	free(s.sum);
	return err;
}

/* Append the lines of a route. */
static void
sum_write(void *user, const struct latency_block *b)
{
	struct text *t = user;

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
	text_puts(t, "route,from_ns,to_ns,unnamed,le_ns,requests\n");
	return latencies_read(
	    l, store, from_wall_ns, to_wall_ns, now_wall_ns, sum_write, t);
}
