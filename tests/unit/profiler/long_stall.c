/*
 * Goal: quotas that were used up are as many and as long as in the kernel's own
 * account, and their ends are known before.
 *
 * Long: on a busy machine the kernel lets a server with no quota run for
 * longer, tasks of its own divide a stall, and ends are seen late.
 */
#include "stalled.h"

/* The sum of a kind's hazards, by their stamps, ms. */
static double
lengths_ms(const struct fixture *f, enum hazard_kind kind)
{
	double sum_ms = 0;

	for (unsigned i = 0; i < f->hazards; i++) {
		const struct hazard *h = &f->hazard[i];

		if (h->kind == kind)
			sum_ms += (h->begin ? -1.0 : 1.0) *
				  (double)(h->at.ns % 1000000000000) / 1e6;
	}
	return sum_ms;
}

/* How many of the quotas that have ended did so at or after their known end,
 * but for a millisecond; *known: whose end was known. */
static unsigned
ends_kept(const struct fixture *f, unsigned *known)
{
	struct instant until = INSTANT_NONE;
	unsigned kept = 0;

	*known = 0;
	for (unsigned i = 0; i < f->hazards; i++) {
		const struct hazard *h = &f->hazard[i];

		if (h->kind != HAZARD_QUOTA)
			continue;
		if (h->begin) {
			assert_true(h->left_us <= 100000);
			until = instant_plus(
			    h->at, (int64_t)h->left_us * NS_PER_US);
			*known += h->left_us > 0;
		} else {
			kept += instant_since(h->at, until) > -NS_PER_MS;
		}
	}
	return kept;
}

/*
 * Goal: a quota that is used up is one, and they are as many and as long as in
 * the kernel's own account.  Each ends when the server has a CPU again, which
 * on a busy machine is later than when it may have one; that was known.
 */
TEST(test_quota)
{
	pid_t pid = server_start(true), client;
	struct fixture *f = follow(pid);
	struct cgroup g;
	bool made = group_of(&g, "cpu", pid);
	double seen_ms, account_ms;
	unsigned stalls, known, kept = 0;

	client = client_start();
	made = made && cgroup_quota(&g, 20000);
	if (made) {
		/* A busy machine lets a reader run for longer than a visit. */
		for (unsigned ends = 5; ends <= 15 && kept < 4; ends += 5) {
			fixture_wait_hazards(f, HAZARD_QUOTA, false, ends);
			kept = ends_kept(f, &known);
			assert_true(known >= ends);
		}
		print_message("%u ends known, %u kept\n", known, kept);
		assert_true(kept >= 4);
		assert_true(cgroup_quota(&g, -1));
		spin_ms(20);
		fixture_wait_sweeps(f);
		fixture_drain(f);
		stalls = fixture_count(f, HAZARD_QUOTA, true);
		seen_ms = lengths_ms(f, HAZARD_QUOTA);
		account_ms =
		    g.old ? (double)cgroup_stat(&g, "throttled_time") / 1e6
			  : (double)cgroup_stat(&g, "throttled_usec") / 1e3;
		print_message(
		    "%u stalls of %.1f ms, the kernel's %llu of %.1f\n", stalls,
		    seen_ms, cgroup_stat(&g, "nr_throttled"), account_ms);
		/* A task of the kernel's may divide one; not each of the
		 * readers, which run until their call would return.  One that
		 * runs for longer than a visit (a sanitizer's, on a busy
		 * machine) ends it: the others are whole. */
		assert_true(stalls <= 2 * cgroup_stat(&g, "nr_throttled"));
		assert_true(seen_ms > 0.9 * account_ms * kept / known - 5);
		assert_int_equal(fixture_count(f, HAZARD_STOPPED, true), 0);
	}
	server_end(client);
	unfollow(f, pid);
	cgroup_remove(&g);
	if (!made)
		skip();
}
