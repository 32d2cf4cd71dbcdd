/* Goal: the request table finds what it knows and says what it forgot. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proxy/analysis/analysis.h"
#include "proxy/request/table.h"

static void
file(struct request_table *t, const char *id)
{
	struct tale_request *r = table_slot(t);

	memset(r, 0, sizeof(*r));
	snprintf(r->external_id, sizeof(r->external_id), "%s", id);
	table_file(t);
}

/* Goal: the last N are found, older ones are expired, others unknown. */
TEST(test_history)
{
	struct request_table t;
	const struct tale_request *found;
	char id[32];

	assert_int_equal(table_init(&t, 100), 0);
	for (int i = 0; i < 1000; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		file(&t, id);
		for (int back = 0; back <= i; back += 1 + back / 3) {
			snprintf(id, sizeof(id), "id-%d", i - back);
			assert_int_equal(table_find(&t, id, &found),
			    back < 100 ? TABLE_FOUND : TABLE_EXPIRED);
			if (back < 100)
				assert_string_equal(found->external_id, id);
		}
	}
	assert_int_equal(table_find(&t, "id-1000", &found), TABLE_UNKNOWN);
	assert_int_equal(table_find(&t, "", &found), TABLE_UNKNOWN);
	table_fini(&t);
}

/* Goal: one id used twice names the newer request, then the older is no
 * trap when both leave. */
TEST(test_same_id_twice)
{
	struct request_table t;
	const struct tale_request *found, *newer;

	assert_int_equal(table_init(&t, 4), 0);
	file(&t, "same");
	newer = table_slot(&t);
	file(&t, "same");
	assert_int_equal(table_find(&t, "same", &found), TABLE_FOUND);
	assert_ptr_equal(found, newer);
	for (int i = 0; i < 4; i++)
		file(&t, "other");
	assert_int_equal(table_find(&t, "same", &found), TABLE_EXPIRED);
	table_fini(&t);
}

/* Goal: requests in flight are oldest first, limited, and reused. */
TEST(test_inflight)
{
	struct request_table t;
	struct request *a, *b;
	const struct tale_request *found;

	assert_int_equal(table_init(&t, 4), 0);
	a = table_add(&t, 2);
	b = table_add(&t, 2);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_not_equal(a->id, b->id);
	assert_null(table_add(&t, 2));
	assert_ptr_equal(TAILQ_FIRST(&t.inflight), a);
	snprintf(b->external_id, sizeof(b->external_id), "b");
	assert_int_equal(table_find(&t, "b", &found), TABLE_IN_FLIGHT);
	table_remove(&t, a);
	assert_ptr_equal(table_add(&t, 2), a);
	assert_ptr_equal(TAILQ_FIRST(&t.inflight), b);
	assert_int_equal(t.requests, 2);
	table_remove(&t, a);
	table_remove(&t, b);
	assert_int_equal(t.inflight_count, 0);
	table_fini(&t);
}

/* Goal: a chain ends where it meets a place that has been taken again, by a
 * request of the same bucket, too. */
TEST(test_chain_ends)
{
	struct request_table t;
	const struct tale_request *found;
	char id[32];

	assert_int_equal(table_init(&t, 4), 0);
	for (int i = 0; i < 12; i++)
		file(&t, i % 4 == 0 ? "same" : "other");
	alarm(120); /* instead of for ever */
	for (int i = 0; i < 100; i++) {
		snprintf(id, sizeof(id), "unknown-%d", i);
		assert_int_equal(table_find(&t, id, &found), TABLE_UNKNOWN);
	}
	alarm(0);
	table_fini(&t);
}

/* Goal: ids are distinct and not 0, and neither the next one nor those of
 * another run follow from those seen: about half of the bits differ. */
TEST(test_ids_are_unpredictable)
{
	enum { IDS = 4000 };
	static uint64_t seen[2][IDS];
	struct request_table t;
	unsigned bits[2] = {0, 0};

	for (int run = 0; run < 2; run++) {
		assert_int_equal(table_init(&t, 4), 0);
		for (int i = 0; i < IDS; i++) {
			struct request *r = table_add(&t, 1);

			seen[run][i] = r->id;
			assert_true(r->id != 0);
			for (int j = 0; j < i; j++)
				assert_true(seen[run][j] != r->id);
			table_remove(&t, r);
		}
		table_fini(&t);
	}
	for (int i = 1; i < IDS; i++) {
		bits[0] +=
		    (unsigned)__builtin_popcountll(seen[0][i] ^ seen[0][i - 1]);
		bits[1] +=
		    (unsigned)__builtin_popcountll(seen[0][i] ^ seen[1][i]);
	}
	for (int i = 0; i < 2; i++)
		assert_in_range(bits[i], IDS * 31, IDS * 33);
}

/* Goal: what finished next to a request is named, the nearest first, as far as
 * the history has it; nothing twice, and not the request itself. */
TEST(test_about)
{
	struct request_table t;
	const struct tale_request *found;
	struct analysis_name name[16];
	char id[32];
	unsigned n;

	assert_int_equal(table_init(&t, 10), 0);
	for (int i = 0; i < 23; i++) {
		snprintf(id, sizeof(id), "id-%d", i);
		file(&t, id);
		assert_int_equal(table_find(&t, id, &found), TABLE_FOUND);
		n = table_about(&t, found, name, 16);
		assert_int_equal(n, i < 10 ? i : 9);
		for (unsigned k = 0; k < n; k++) {
			snprintf(id, sizeof(id), "id-%d", i - 1 - (int)k);
			assert_string_equal(name[k].external_id, id);
		}
	}
	/* 13 to 22 are there. */
	assert_int_equal(table_find(&t, "id-15", &found), TABLE_FOUND);
	assert_int_equal(table_about(&t, found, name, 5), 5);
	assert_string_equal(name[0].external_id, "id-16");
	assert_string_equal(name[1].external_id, "id-14");
	assert_string_equal(name[2].external_id, "id-17");
	assert_string_equal(name[3].external_id, "id-13");
	assert_string_equal(name[4].external_id, "id-18");
	assert_int_equal(table_about(&t, found, name, 16), 9);
	table_fini(&t);
}
