/* latency_pack.c: a block of latencies: a head of no accounts, then the class
 * and the buckets that are not empty, each as its distance to the one before.
 *
 * Counts that are read are bounded, and so is their sum. */
#include <errno.h>
#include <string.h>

#include "talechain/store/account_pack.h"
#include "talechain/store/codec.h"

#define FORMAT 1 /* another one is passed over */
#define END_MAX (INT64_MAX / 4)

static void
code_constant(struct codec *c, unsigned value)
{
	unsigned coded = value;

	code_unsigned(c, &coded, UINT32_MAX);
	if (c->err == 0 && coded != value)
		c->err = -EPROTO;
}

static unsigned
buckets_used(const struct latency_block *b)
{
	unsigned used = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		used += b->bucket[i] > 0;
	return used;
}

/* The next bucket that is not empty. */
static void
code_bucket(struct codec *c, struct latency_block *b, unsigned *next)
{
	unsigned skip = 0;

	if (c->packing)
		while (b->bucket[*next + skip] == 0)
			skip++;
	code_unsigned(c, &skip, HISTOGRAM_BUCKETS);
	if (c->err == 0 && skip >= HISTOGRAM_BUCKETS - *next)
		c->err = -EPROTO;
	if (c->err < 0)
		return;
	*next += skip;
	code_u64(c, &b->bucket[*next]);
	if (!c->packing && c->err == 0) {
		if (b->bucket[*next] == 0 ||
		    b->bucket[*next] > LATENCY_COUNT_MAX - b->count)
			c->err = -EPROTO;
		else
			b->count += b->bucket[*next];
	}
	++*next;
}

static void
code_block(struct codec *c, struct latency_block *b)
{
	struct account_head head = {
	    .first_ns = b->from_wall_ns, .last_ns = b->to_wall_ns};
	unsigned used = c->packing ? buckets_used(b) : 0, next = 0;

	code_account_head(c, &head);
	if (c->err == 0 &&
	    (head.n > 0 || head.first_ns < 0 || head.last_ns > END_MAX))
		c->err = -EPROTO;
	if (!c->packing) {
		b->from_wall_ns = head.first_ns;
		b->to_wall_ns = head.last_ns;
	}
	code_constant(c, FORMAT);
	code_constant(c, HISTOGRAM_SUB_BITS);
	code_text(c, b->route, sizeof(b->route));
	code_u64(c, &b->unnamed);
	code_unsigned(c, &used, HISTOGRAM_BUCKETS);
	for (unsigned i = 0; i < used && c->err == 0; i++)
		code_bucket(c, b, &next);
}

int
latency_pack(struct packed *out, const struct latency_block *block)
{
	struct codec c = {.packing = true,
	    .out = out->at,
	    .at = out->length,
	    .length = out->length};

	/* It is only read: packing changes nothing. */
	code_block(&c, (struct latency_block *)(uintptr_t)block);
	out->at = c.out;
	if (c.err < 0)
		return c.err;
	out->length = c.at;
	return 0;
}

int
latency_unpack(const uint8_t *bytes, size_t length, struct latency_block *b)
{
	struct codec c = {.in = bytes, .length = length};

	memset(b, 0, sizeof(*b));
	code_block(&c, b);
	if (c.err == 0 &&
	    (c.at != length || b->unnamed > b->count || b->count == 0))
		c.err = -EPROTO;
	account_name_plain(b->route);
	return c.err;
}
