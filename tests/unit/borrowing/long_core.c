/* Goal: of ten million requests none is late under debt, with one worker and
 * with seven. */
#include "core.h"
#include "tests/unit/unit.h"

TEST(test_ten_million)
{
	for (unsigned cores = 1; cores <= 7; cores += 6) {
		struct core_setup s = core_usual(cores * 90.0);
		struct core_result r;

		s.policy = BORROWING_DEBT;
		s.cores = cores;
		s.budget_ms = 20;
		s.slowdown = 1.7;
		s.loss = 1 - 1 / s.slowdown + 1e-9;
		s.requests = 10000000;
		r = core_run(&s);
		print_message("%u cores: %.2f lanes, at most %.6f ms late\n",
		    cores, r.request + r.batch, r.worst_ms);
		assert_true(r.late == 0 && r.worst_ms > 19.9);
	}
}
