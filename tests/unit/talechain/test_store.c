/*
 * Goal: the store keeps what it is given, and drops the oldest at its bounds.
 * What happens to its file: test_store_damage.c.
 */
#include <errno.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/unit/unit.h"

#include "talechain/tale/tale_struct.h"
#include "talechain/store/pack.h"
#include "talechain/store/store.h"
#include "tests/unit/talechain/depot.h"
#include "tests/unit/talechain/scene.h"

#define TALES_MAX 4096

/* --- model: what should be there ------------------------------------------ */

struct model {
	struct {
		unsigned number, version, events;
	} tale[TALES_MAX];
	unsigned count; /* oldest first */
};

static void
model_add(struct model *m, unsigned number, unsigned version, unsigned events)
{
	for (unsigned i = 0; i < m->count; i++)
		if (m->tale[i].number == number) {
			memmove(&m->tale[i], &m->tale[i + 1],
			    (m->count - i - 1) * sizeof(m->tale[0]));
			m->count--;
			break;
		}
	m->tale[m->count].number = number;
	m->tale[m->count].version = version;
	m->tale[m->count++].events = events;
}

static void
model_drop_oldest(struct model *m, unsigned n)
{
	assert_true(n <= m->count);
	m->count -= n;
	memmove(&m->tale[0], &m->tale[n], m->count * sizeof(m->tale[0]));
}

struct walk {
	struct tale_store *s;
	const struct model *m;
	unsigned left;
};

static bool
compare(void *user, const struct tale_summary *said)
{
	struct walk *w = user;

	assert_true(w->left > 0);
	w->left--;
	assert_int_equal(
	    said->request, 0x5eed0000 + w->m->tale[w->left].number);
	depot_assert_whole(w->s, w->m->tale[w->left].number,
	    w->m->tale[w->left].version, w->m->tale[w->left].events);
	return true;
}

/* The store holds exactly the model's newest, in its order, whole. */
static void
assert_same(struct tale_store *s, struct model *m)
{
	struct walk w = {s, m, m->count};

	assert_int_equal(
	    tale_store_each(s, &(struct tale_filter){.cause = -1}, compare, &w),
	    0);
	assert_int_equal(w.left, 0);
}

TEST_WITH(test_against_model, depot_setup, depot_teardown)
{
	const unsigned keep = 40;
	struct model m = {0};
	struct tale_store *s = depot_open(1 << 20, keep);
	struct tale_store_stats before, after;

	for (unsigned turn = 0; turn < 1500; turn++) {
		unsigned number = (unsigned)unit_draw(60);
		unsigned events = (unsigned)unit_draw(60);

		/* Some are so large that the bytes are the bound. */
		if (turn % 500 > 400)
			events *= 50;
		if (unit_draw(25) == 0) {
			tale_store_close(&s);
			s = depot_open(1 << 20, keep);
			assert_same(s, &m);
		}
		tale_store_stats(s, &before);
		assert_int_equal(depot_add(s, number, turn, events), 0);
		tale_store_stats(s, &after);
		assert_true(after.bytes <= 1 << 20);
		model_add(&m, number, turn, events);
		/* Which go is by sixteenths: but always the oldest, and
		 * counted. */
		assert_true(
		    m.count - depot_count(s) <= after.dropped - before.dropped);
		model_drop_oldest(&m, m.count - depot_count(s));
		assert_true(m.count > 0 && m.count <= keep);
	}
	assert_same(s, &m);
	tale_store_close(&s);
}

TEST_WITH(test_memory_only, depot_setup, depot_teardown)
{
	struct tale_store_options o = {
	    .boot_id = BOOT, .bytes_max = 1 << 20, .keep = 10};
	struct tale_summary found;
	struct tale_store *s;

	assert_int_equal(tale_store_open(&s, &o), 0);
	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(depot_add(s, i, 0, 20), 0);
	assert_int_equal(depot_count(s), 10);
	depot_assert_whole(s, 199, 0, 20);
	assert_int_equal(tale_store_find(s, "id-189", &found), -ENOENT);
	tale_store_close(&s);
}

/* Goal: the largest tale, with the names that were added to it, comes back. */
TEST_WITH(test_largest, depot_setup, depot_teardown)
{
	const unsigned entries = (unsigned)TALE_ENTRIES_MAX;
	struct tale_store *s = depot_open(64 << 20, 10);

	assert_int_equal(depot_add(s, 1, 0, entries), 0);
	depot_assert_whole(s, 1, 0, entries);
	tale_store_close(&s);
}

TEST_WITH(test_move, depot_setup, depot_teardown)
{
	/* goal: each tale is in one of both stores, also when the second one's
	 * disk takes some and no more; counters together never fall */
	struct tale_store_options o = {
	    .boot_id = BOOT, .bytes_max = 1 << 20, .keep = 100};
	struct tale_store *disk = depot_open(1 << 20, 100), *memory;
	struct rlimit was, few;
	struct tale_store_stats a, b;
	struct model m = {0};

	assert_int_equal(tale_store_open(&memory, &o), 0);
	for (unsigned i = 0; i < 20; i++) {
		assert_int_equal(
		    depot_add(i < 5 ? disk : memory, i, 0, 400), 0);
		model_add(&m, i, 0, 400);
	}
	getrlimit(RLIMIT_FSIZE, &was);
	few = was;
	few.rlim_cur = 160 << 10;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &few);
	assert_true(tale_store_move(memory, disk) < 0);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_in_range(depot_count(disk), 6, 19);
	assert_int_equal(depot_count(disk) + depot_count(memory), 20);
	tale_store_stats(disk, &a);
	tale_store_stats(memory, &b);
	assert_int_equal(a.added + b.added, 20);
	assert_int_equal(tale_store_move(memory, disk), 0);
	assert_int_equal(depot_count(memory), 0);
	assert_same(disk, &m);
	tale_store_close(&memory);
	tale_store_close(&disk);
}

/* --- what else it promises ------------------------------------------------ */

TEST_WITH(test_earlier_boot, depot_setup, depot_teardown)
{
	struct tale_store_options o = {.directory = depot_directory,
	    .boot_id = OTHER_BOOT,
	    .bytes_max = 1 << 20,
	    .keep = 100};
	struct tale_summary found;
	struct tale_store *s;

	assert_int_equal(tale_store_open(&s, &o), 0);
	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	assert_int_equal(tale_store_find(s, "id-1", &found), 0);
	assert_false(found.earlier_boot);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	assert_int_equal(tale_store_find(s, "id-1", &found), 0);
	assert_true(found.earlier_boot);
	assert_int_equal(depot_add(s, 2, 0, 3), 0);
	assert_int_equal(tale_store_find_request(s, 0x5eed0002, &found), 0);
	assert_false(found.earlier_boot);
	depot_assert_whole(s, 1, 0, 3);
	tale_store_close(&s);
}

TEST_WITH(test_same_external_id, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);
	struct tale *t = depot_tale(1, 7, 2);
	struct tale_summary said;

	assert_int_equal(depot_add(s, 1, 0, 3), 0);
	/* Another request of the same name: both are kept, the newer found. */
	t->request.id++;
	depot_summary(&said, 1);
	assert_int_equal(tale_store_add(s, t, &said), 0);
	assert_int_equal(depot_count(s), 2);
	assert_int_equal(tale_store_find(s, "id-1", &said), 0);
	assert_string_equal(said.target, "/p1?v=7");
	tale_free(&t);
	tale_store_close(&s);
}

static unsigned taken;

static bool
take(void *user, const struct tale_summary *said)
{
	const struct tale_filter *w = user;

	assert_true(w->cause < 0 || (int)said->cause == w->cause);
	return ++taken < 50;
}

static unsigned
wanted(struct tale_store *s, struct tale_filter w)
{
	taken = 0;
	assert_int_equal(tale_store_each(s, &w, take, &w), 0);
	return taken;
}

TEST_WITH(test_wanted, depot_setup, depot_teardown)
{
	struct tale_store *s = depot_open(1 << 20, 100);

	for (unsigned i = 0; i < 90; i++)
		assert_int_equal(depot_add(s, i, 0, 0), 0);
	assert_int_equal(wanted(s, (struct tale_filter){.cause = 3}),
	    (90 - 3 + TALE_CAUSE_COUNT - 1) / TALE_CAUSE_COUNT);
	assert_int_equal(wanted(s, (struct tale_filter){.cause = -1,
				       .path = "/p1",
				       .since_wall_ns = 60 * 1000000000LL}),
	    10);
	assert_int_equal(
	    wanted(s, (struct tale_filter){.cause = -1, .path = "/p"}), 0);
	/* And no more than are taken. */
	assert_int_equal(wanted(s, (struct tale_filter){.cause = -1}), 50);
	tale_store_close(&s);
}

TEST_WITH(test_bounds_and_modes, depot_setup, depot_teardown)
{
	struct tale_store_options o = {.directory = depot_directory,
	    .boot_id = BOOT,
	    .bytes_max = 1 << 20,
	    .keep = 5};
	struct tale_store *s, *second = NULL;
	struct stat st;

	assert_int_equal(chmod(depot_directory, 0755), 0);
	assert_int_equal(tale_store_open(&s, &o), 0);
	assert_int_equal(stat(depot_directory, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(tale_store_open(&second, &o), -EBUSY);
	assert_int_equal(depot_add(s, 1, 0, 16000), -EFBIG);
	assert_int_equal(depot_add(s, 1, 0, 1), 0);
	assert_int_equal(stat(depot_path("tales.db"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(depot_path("tales.db-wal"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	tale_store_close(&s);
	o.keep = 0;
	assert_int_equal(tale_store_open(&s, &o), -EINVAL);
	o.keep = 1;
	o.bytes_max--;
	assert_int_equal(tale_store_open(&s, &o), -EINVAL);
	o.bytes_max++;
	o.directory = "/proc/none/such";
	assert_int_equal(tale_store_open(&s, &o), -ENOENT);
}

TEST_WITH(test_a_smaller_bound, depot_setup, depot_teardown)
{
	/* goal: the oldest go when it is opened; the file becomes smaller */
	struct tale_store *s = depot_open(8 << 20, 100);
	struct tale_store_stats stats;

	for (unsigned i = 0; i < 60; i++)
		assert_int_equal(depot_add(s, i, 0, 2000), 0);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	tale_store_stats(s, &stats);
	assert_in_range(stats.tales, 5, 59);
	assert_int_equal(stats.dropped, 60 - stats.tales);
	depot_assert_whole(s, 59, 0, 2000);
	assert_int_equal(depot_add(s, 80, 0, 2000), 0);
	tale_store_close(&s);
	s = depot_open(1 << 20, 100);
	tale_store_stats(s, &stats);
	assert_true(stats.bytes <= 1 << 20);
	depot_assert_whole(s, 80, 0, 2000);
	tale_store_close(&s);
}
