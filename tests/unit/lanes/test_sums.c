/*
 * Goal: busy time counts once for each borrowing lane of a core, what still
 * runs is a part of it, and words that are torn give no time that was not.
 */
#include "tests/unit/unit.h"

#include "lanes/lanes.h"

static struct talechain_lane words[TALECHAIN_LANES];
static struct talechain_asker askers[TALECHAIN_LANES];

static void
check(uint64_t now, int64_t busy, int64_t beside)
{
	struct lanes_sums s = lanes_sums(words, askers, 1, now);

	assert_int_equal(s.busy_ns, busy);
	assert_int_equal(s.beside_ns, beside);
	assert_int_equal(s.napped_ns, 7);
}

TEST(test_sums)
{
	words[0] = (struct talechain_lane){.role = TALECHAIN_LENDS, .core = 1};
	words[1] =
	    (struct talechain_lane){.role = TALECHAIN_BORROWS, .core = 1};
	words[2] = words[1];
	words[3] =
	    (struct talechain_lane){.role = TALECHAIN_BORROWS, .core = 3};
	askers[1].napped_ns = 7;
	words[1].busy_ns = 100;
	words[1].overlap_ns = 10;
	words[2].overlap_ns = 5;
	words[3].overlap_ns = 1000;
	check(50, 200, 15);
	/* Busy since 200, and batch work on one lane since 210. */
	words[1].hold = 2;
	words[1].changed_ns = 200;
	words[2].since_ns = 210;
	words[2].before_ns = 110;
	check(230, 260, 35);
	/* Never more than it has run. */
	words[2].before_ns = 0;
	check(230, 260, 35);
	/* The clock of another CPU is ahead. */
	check(205, 210, 15);
	check(190, 200, 15);
}
