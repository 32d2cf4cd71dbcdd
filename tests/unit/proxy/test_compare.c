/*
 * test_compare.c: two responses read in random pieces, compared.
 */
#include "proxy/upstream/response_diff.h"

#include <string.h>

#include "tests/unit/unit.h"

#define BODY 4000
#define LIMIT 3000

static struct block_pool pool;
static struct metrics metrics;

/* n bytes in pieces of random length, as they are read. */
static void
feed(struct response_diff *c, unsigned side, const char *body, size_t n)
{
	while (n > 0) {
		size_t piece = 1 + unit_draw(unit_draw(2) == 0 ? 9 : 700);
		struct chain data = {0};

		if (piece > n)
			piece = n;
		assert_int_equal(chain_add(&data, &pool, body, piece), 0);
		compare_data(c, side, &data);
		chain_clear(&data, &pool);
		body += piece;
		n -= piece;
	}
}

/* Both sides whole, parties leaving in random order. */
static void
race(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	struct response_diff *party[3];
	unsigned left = 3;

	party[0] = compare_new(&metrics, 1, LIMIT);
	assert_non_null(party[0]);
	party[1] = compare_join(party[0], 0);
	party[2] = compare_join(party[0], 1);
	compare_status(party[0], 0, 200);
	compare_status(party[0], 1, 200);
	compare_won(party[0]);
	feed(party[1], 0, a, a_bytes);
	feed(party[2], 1, b, b_bytes);
	compare_whole(party[1], 0);
	compare_whole(party[2], 1);
	while (left > 0) {
		unsigned i = (unsigned)unit_draw(left);

		compare_leave(&party[i]);
		assert_null(party[i]);
		party[i] = party[--left];
	}
}

TEST(test_differences)
{
	/* goal: equal bodies are equal however they are cut; one byte less or
	 * another one is seen; what is over the limit is not compared */
	static char a[BODY], b[BODY];

	for (unsigned i = 0; i < 20000; i++) {
		size_t n = unit_draw(2) == 0 ? unit_draw(40) : unit_draw(BODY);
		bool compared = n <= LIMIT;
		struct metrics before = metrics;

		for (size_t k = 0; k < n; k++)
			a[k] = (char)unit_draw(256);
		memcpy(b, a, n);
		race(a, n, b, n);
		assert_int_equal(
		    metrics.hedges_compared - before.hedges_compared, compared);
		if (n == 0)
			continue;
		b[unit_draw(n)] ^= (char)(1 << unit_draw(8));
		race(a, n, b, n);
		assert_int_equal(
		    metrics.differ_body - before.differ_body, compared);
		race(a, n, b, n - 1);
		assert_int_equal(
		    metrics.differ_length - before.differ_length, compared);
	}
	assert_int_equal(metrics.differ_status, 0);
}

TEST(test_parties)
{
	/* goal: not compared without a winner, or if one is not whole; a side
	 * that begins anew is as new */
	struct response_diff *request, *first, *second;

	memset(&metrics, 0, sizeof(metrics));
	for (unsigned missing = 0; missing < 4; missing++) {
		request = compare_new(&metrics, 1, LIMIT);
		first = compare_join(request, 0);
		second = compare_join(request, 1);
		compare_status(first, 0, 200);
		feed(second, 1, "junk", 4);
		compare_leave(&second); /* undone, and made again */
		second = compare_join(request, 1);
		compare_status(second, 1, missing == 3 ? 404 : 200);
		if (missing != 0)
			compare_won(request);
		if (missing != 1)
			compare_whole(first, 0);
		if (missing != 2)
			compare_whole(second, 1);
		compare_leave(&request);
		compare_leave(&second);
		compare_leave(&first);
		assert_int_equal(metrics.hedges_compared, missing == 3);
	}
	assert_int_equal(metrics.differ_status, 1);
	assert_int_equal(metrics.differ_length + metrics.differ_body, 0);
}

static int
set_up(void **state)
{
	(void)state;
	block_pool_init(&pool, 16);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	block_pool_fini(&pool);
	return 0;
}

int
main(void)
{
	return unit_run(set_up, tear_down);
}
