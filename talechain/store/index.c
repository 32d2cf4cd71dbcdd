#include "talechain/store/index.h"

#include <assert.h>

#include "base/hash.h"

static struct store_entry **
bucket_of(const struct store_index *x, const char *external_id)
{
	return &x->bucket[hash_text(external_id) & x->mask];
}

int
store_index_init(struct store_index *x, unsigned keep)
{
	struct store_entry **entry, **bucket;
	unsigned capacity = 2 * keep + 2, buckets = 16;

	while (buckets < 2 * keep)
		buckets *= 2;
	*x = (struct store_index){0};
	entry = calloc(capacity, sizeof(struct store_entry *));
	bucket = calloc(buckets, sizeof(struct store_entry *));
	if (entry == NULL || bucket == NULL) {
		free(entry);
		free(bucket);
		return -ENOMEM;
	}
	*x = (struct store_index){.entry = entry,
	    .capacity = capacity,
	    .bucket = bucket,
	    .mask = buckets - 1};
	return 0;
}

void
store_index_fini(struct store_index *x)
{
	for (unsigned i = x->first; i < x->last; i++)
		free(x->entry[i]);
	free(x->entry);
	free(x->bucket);
	*x = (struct store_index){0};
}

/* Close the gaps. */
static void
squeeze(struct store_index *x)
{
	unsigned n = 0;

	for (unsigned i = x->first; i < x->last; i++)
		if (x->entry[i] != NULL)
			x->entry[n++] = x->entry[i];
	x->first = 0;
	x->last = n;
}

void
store_index_add(struct store_index *x, struct store_entry *e)
{
	struct store_entry **bucket = bucket_of(x, e->summary.external_id);

	if (x->last == x->capacity)
		squeeze(x);
	assert(x->last < x->capacity);
	x->entry[x->last++] = e;
	e->next = *bucket;
	*bucket = e;
	x->count++;
}

void
store_index_remove(struct store_index *x, struct store_entry *e)
{
	struct store_entry **at = bucket_of(x, e->summary.external_id);
	unsigned low = x->first, i;

	for (; *at != e; at = &(*at)->next)
		assert(*at != NULL);
	*at = e->next;
	for (i = low; x->entry[i] != e; i++)
		assert(i + 1 < x->last);
	x->entry[i] = NULL;
	while (x->first < x->last && x->entry[x->first] == NULL)
		x->first++;
	x->count--;
}

struct store_entry *
store_index_find(const struct store_index *x, const char *external_id)
{
	struct store_entry *e = *bucket_of(x, external_id);

	while (e != NULL && strcmp(e->summary.external_id, external_id) != 0)
		e = e->next;
	return e;
}

struct store_entry *
store_index_same(const struct store_index *x, const struct tale_summary *s)
{
	struct store_entry *e = *bucket_of(x, s->external_id);

	while (e != NULL &&
	       (e->summary.request != s->request ||
		   strcmp(e->summary.external_id, s->external_id) != 0))
		e = e->next;
	return e;
}

struct store_entry *
store_index_oldest(const struct store_index *x)
{
	return x->first < x->last ? x->entry[x->first] : NULL;
}
