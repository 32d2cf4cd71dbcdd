/*
 * Goal: while events are paused, what a server's thread did between receiving a
 * request and sending is written as sums, which agree with the kernel's own
 * accounts of that thread.
 *
 * Long: on a busy machine the sums and the accounts differ by what each switch
 * takes, a lock may be free again before it is waited for, and a thread may
 * lose its CPU instead of going to sleep.
 */
#include "sums.h"

#define EDGE_NS NS_PER_MS /* between our stamps and the kernel's */
#define TRIES 20

static void
assert_near(int64_t value, int64_t wanted, int64_t edge)
{
	assert_in_range(value + edge, wanted, wanted + 2 * edge);
}

/* The only epoch, whose sums add up. */
static struct summed
sums_of(struct rig *g, char order, struct measure *m)
{
	struct summed t = {0}, more;
	int64_t sum = 0, edge;

	/* Some kernels do not report each switch: then a part is in no sum; nor
	 * each end. */
	for (unsigned i = 0; i < TRIES; i++) {
		*m = ask(g, order);
		if (!epoch_find(g, 0, &t)) {
			print_message("its end was not seen\n");
			continue;
		}
		assert_false(epoch_find(g, 1, &more));
		sum = t.ran + t.ready + t.preempted + t.slept + t.lock +
		      t.disk + t.blocked;
		assert_true(sum <= t.length);
		if (sum >= t.length - EDGE_NS)
			break;
		print_message(
		    "a switch was not seen: %lld of %lld us are in sums\n",
		    (long long)sum / 1000, (long long)t.length / 1000);
	}
	assert_true(t.length > 0);
	print_message(
	    "%c: %lld us: ran %lld, ready %lld, preempted %lld, slept %lld, "
	    "lock %lld, disk %lld, blocked %lld; stolen %lld, handled %lld, "
	    "fault %lld; way %lld; %u switches, %u faults; marks %u\n"
	    "   itself: %lld us, ran %lld, ready %lld, %lld faults\n",
	    order, (long long)t.length / 1000, (long long)t.ran / 1000,
	    (long long)t.ready / 1000, (long long)t.preempted / 1000,
	    (long long)t.slept / 1000, (long long)t.lock / 1000,
	    (long long)t.disk / 1000, (long long)t.blocked / 1000,
	    (long long)t.stolen / 1000, (long long)t.handled / 1000,
	    (long long)t.fault / 1000, (long long)t.way / 1000, t.switches,
	    t.faults, t.marks, (long long)m->wall_ns / 1000,
	    (long long)m->cpu_ns / 1000, (long long)m->ready_ns / 1000,
	    (long long)m->faults);
	assert_in_range(sum + EDGE_NS, t.length, t.length + EDGE_NS);
	assert_true(t.stolen <= t.ran && t.handled <= t.ran);
	assert_true(t.fault <= t.ran);
	assert_true(t.way > 0);
	assert_true(t.length >= m->wall_ns);
	edge = t.length - m->wall_ns + m->wall_ns / 20 + EDGE_NS;
	assert_near(t.ran - t.stolen, m->cpu_ns, edge);
	assert_near(t.ready + t.preempted, m->ready_ns, edge);
	assert_in_range(t.faults, m->faults, m->faults + 20);
	return t;
}

/* Goal: sums of known work agree with the kernel's account of the thread. */
TEST(test_sums)
{
	struct measure m;
	struct summed t;
	struct rig g;

	rig_open(&g);
	ask(&g, 's'); /* Tailor's end of the connection is known from now on */
	assert_false(epoch_find(&g, 0, &t)); /* full events are there */
	pause_events(&g);
	ask(&g, 's');
	t = sums_of(&g, 's', &m);
	assert_true(t.slept >= SUMS_LENGTH_NS - EDGE_NS);
	assert_int_equal(t.lock, 0);
	assert_int_equal(t.marks, 0);
	t = sums_of(&g, 'c', &m);
	assert_true(t.ran >= SUMS_LENGTH_NS - EDGE_NS);
	t = sums_of(&g, 'l', &m);
	/* The lock is held for so long, also while the thread has no CPU. */
	assert_true(t.lock > 0);
	assert_true(
	    t.lock + t.ready + t.preempted + t.ran >= SUMS_LENGTH_NS - EDGE_NS);
	t = sums_of(&g, 'f', &m);
	assert_true(t.faults >= SUMS_PAGES);
	assert_true(t.fault > 100 * NS_PER_US);
	sums_of(&g, 'd', &m);
	kernel_gate(g.r.kernel, INSTANT_NONE);
	ask(&g, 'c');
	assert_false(epoch_find(&g, 0, &t));
	rig_close(&g);
}
