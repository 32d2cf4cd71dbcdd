/*
 * Goal: while events are paused, what a server's thread did between receiving a
 * request and sending is written as sums; without a pause no sums are written;
 * a request that goes on in another thread has one account.  Whether the sums
 * are right: long_kernel_sums.c.
 */
#include "sums.h"

#define TRIES 200

/* Ask until the end of its epoch has been seen: some kernels do not report each
 * one.  Whatever they report, no sum may be more than there was. */
static struct summed
sums_of(struct rig *g, char order)
{
	struct summed t = {0};
	unsigned tries = 0;

	do {
		assert_int_not_equal(++tries, TRIES);
		ask(g, order);
	} while (!epoch_find(g, 0, &t));
	assert_true(t.length > 0);
	assert_true(t.ran + t.ready + t.preempted + t.slept + t.lock + t.disk +
			t.blocked <=
		    t.length);
	assert_true(t.stolen <= t.ran && t.handled <= t.ran);
	assert_true(t.fault <= t.ran);
	return t;
}

TEST(test_in_a_pause)
{
	struct summed t;
	struct rig g;

	rig_open(&g);
	ask(&g, 's'); /* Tailor's end of the connection is known from now on */
	assert_false(epoch_find(&g, 0, &t)); /* full events are there */
	pause_events(&g);
	ask(&g, 's');
	t = sums_of(&g, 's');
	assert_true(t.length >= SUMS_LENGTH_NS);
	assert_int_equal(t.marks, 0);
	assert_false(epoch_find(&g, 1, &t));
	t = sums_of(&g, 'f');
	assert_true(t.faults >= SUMS_PAGES && t.fault > 0);
	kernel_gate(g.r.kernel, INSTANT_NONE);
	ask(&g, 'c');
	assert_false(epoch_find(&g, 0, &t));
	rig_close(&g);
}

/* Goal: what another thread goes on with is one account; what is sent in pieces
 * is counted from each to the next. */
TEST(test_parts)
{
	struct summed t;
	struct rig g;

	rig_open(&g);
	pause_events(&g);
	ask(&g, 's');
	t = sums_of(&g, 'h');
	assert_int_equal(t.marks, TALECHAIN_EPOCH_HEIR);
	assert_false(epoch_find(&g, 1, &t));
	t = sums_of(&g, 'c');
	assert_int_equal(t.marks, 0);
	do
		t = sums_of(&g, 'm');
	while (!epoch_find(&g, 1, &t));
	assert_int_equal(t.marks, TALECHAIN_EPOCH_MORE);
	rig_close(&g);
}
