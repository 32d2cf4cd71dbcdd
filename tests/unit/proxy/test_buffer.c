/* Goal: chains keep every byte, in order, whatever is done to them. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/net/buffer.h"

#define MODEL_MAX (1 << 20)

static size_t
chain_read(const struct chain *c, char *out)
{
	size_t n = 0;

	for (const struct block *b = c->head; b != NULL; b = b->next) {
		memcpy(out + n, b->data + b->begin, block_bytes(b));
		n += block_bytes(b);
	}
	return n;
}

static void
fill(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text[i] = (char)unit_draw(256);
}

/* Goal: random adds, merges and consumes agree with a plain string. */
TEST(test_chain_against_model)
{
	struct block_pool pool;
	struct chain c = {0};
	char *model = malloc(MODEL_MAX), *got = malloc(MODEL_MAX);
	size_t length = 0;
	static char piece[50000];

	block_pool_init(&pool, 200);
	for (int step = 0; step < 20000; step++) {
		struct chain more = {0};
		size_t n = unit_draw(unit_draw(8) ? 600 : 50000);

		if (unit_draw(2) && length + n < 500000) {
			fill(piece, n);
			if (unit_draw(2)) {
				assert_int_equal(
				    chain_add(&c, &pool, piece, n), 0);
			} else {
				assert_int_equal(
				    chain_add(&more, &pool, piece, n), 0);
				chain_merge(&c, &more, &pool);
			}
			memcpy(model + length, piece, n);
			length += n;
		} else {
			n = unit_draw(length + 1);
			chain_consume(&c, &pool, n);
			memmove(model, model + n, length - n);
			length -= n;
		}
		assert_int_equal(c.bytes, length);
	}
	assert_int_equal(chain_read(&c, got), length);
	assert_memory_equal(got, model, length);
	chain_clear(&c, &pool);
	assert_int_equal(pool.available, pool.blocks);
	block_pool_fini(&pool);
	free(model);
	free(got);
}

/* Goal: a cursor walks the same bytes while more are appended behind it. */
TEST(test_cursor)
{
	struct block_pool pool;
	struct chain c = {0};
	struct chain_cursor at = {0};
	static char all[200000], piece[3000];
	size_t length = 0, seen = 0;
	struct iovec iov[CHAIN_IOV];

	block_pool_init(&pool, 100);
	while (length < 150000 || seen < length) {
		if (length < 150000 && unit_draw(2)) {
			size_t n = unit_draw(3000);

			fill(piece, n);
			chain_add(&c, &pool, piece, n);
			memcpy(all + length, piece, n);
			length += n;
		}
		int n = cursor_iov(&c, &at, iov, CHAIN_IOV);
		size_t take = 0;

		if (n == 0)
			continue;
		take = 1 + unit_draw(iov[0].iov_len);
		assert_memory_equal(iov[0].iov_base, all + seen, take);
		cursor_advance(&c, &at, take);
		seen += take;
	}
	assert_int_equal(seen, length);
	assert_int_equal(c.bytes, length);
	chain_clear(&c, &pool);
	block_pool_fini(&pool);
}

/* Goal: a pool at its limit refuses, counts, and leaves the chain whole. */
TEST(test_pool_limit)
{
	struct block_pool pool;
	struct chain c = {0};
	static char big[100000];

	block_pool_init(&pool, 2);
	assert_int_equal(chain_add(&c, &pool, "abc", 3), 0);
	assert_int_equal(chain_add(&c, &pool, big, sizeof(big)), -12);
	assert_int_equal(c.bytes, 3);
	assert_int_equal(pool.refused, 1);
	assert_int_equal(pool.blocks, 2);
	chain_clear(&c, &pool);
	assert_int_equal(pool.available, 2);
	block_pool_fini(&pool);
}

/* Goal: framing in place is undone by the decoder: chunks there and back. */
TEST(test_frame_and_pull)
{
	struct block_pool pool;
	static char body[120000], got[120000];
	char *wire;

	block_pool_init(&pool, 100);
	wire = malloc(200000);
	for (int round = 0; round < 200; round++) {
		struct chain c = {0}, out = {0};
		struct http_body decoder;
		struct http_refusal refusal = {0};
		struct block *in = NULL;
		size_t n = unit_draw(120000), sent = 0, total;
		enum http_body_event e = HTTP_BODY_MORE;

		fill(body, n);
		chain_add(&c, &pool, body, n);
		chain_frame(&c);
		assert_int_equal(chain_frame_end(&c, &pool), 0);
		chain_add(&c, &pool, "NEXT", 4);
		total = chain_read(&c, wire);
		chain_clear(&c, &pool);
		http_body_init(&decoder, HTTP_FRAMING_CHUNKED, 0, UINT64_MAX);
		while (e == HTTP_BODY_MORE) {
			struct chain data = {0};
			size_t part;

			if (in == NULL)
				in = block_take(&pool);
			part = 1 + unit_draw(block_room(in));
			if (part > total - sent)
				part = total - sent;
			memcpy(in->data + in->end, wire + sent, part);
			in->end += (uint32_t)part;
			sent += part;
			e = body_pull(&decoder, &in, &data, &pool, &refusal);
			chain_merge(&out, &data, &pool);
		}
		assert_int_equal(e, HTTP_BODY_DONE);
		assert_int_equal(out.bytes, n);
		assert_int_equal(chain_read(&out, got), n);
		assert_memory_equal(got, body, n);
		if (sent == total) {
			assert_non_null(in);
			assert_int_equal(block_bytes(in), 4);
			assert_memory_equal(in->data + in->begin, "NEXT", 4);
		}
		block_give(&pool, in);
		chain_clear(&out, &pool);
		assert_int_equal(pool.available, pool.blocks);
	}
	free(wire);
	block_pool_fini(&pool);
}
