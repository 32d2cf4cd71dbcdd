/*
 * Goal: which CPUs lend and which borrow is as was said or as the machine is,
 * and what cannot be is refused with what to do.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/topology.h"
#include "lanes/lanes.h"

/* "0,2 > 1,3; 1: 1, 3: 3": who lends to whom, and the core of each borrower. */
static void
check(const struct lanes_pairs *p, const char *lends, const char *borrows)
{
	char text[64];

	assert_string_equal(
	    topology_format_cpus(&p->lends, text, sizeof(text)), lends);
	assert_string_equal(
	    topology_format_cpus(&p->borrows, text, sizeof(text)), borrows);
}

TEST(test_pairs_that_are_given)
{
	static const struct {
		const char *text, *lends, *borrows;
		int core[6]; /* of CPUs 0 to 5 */
	} row[] = {
	    {"0:1", "0", "1", {1, 1, 2, 3, 4, 5}},
	    {"0:1,2:3", "0,2", "1,3", {1, 1, 3, 3, 4, 5}},
	    {"0:3,0:1,0:2", "0", "1-3", {1, 1, 1, 1, 4, 5}},
	    {"0:2,1:3,1:2,4:5", "0-1,4", "2-3,5", {2, 2, 2, 2, 5, 5}},
	    {"1:0", "1", "0", {0, 0, 2, 3, 4, 5}},
	};
	static struct lanes_pairs p;
	char why[LANES_WHY];

	for (unsigned i = 0; i < COUNT(row); i++) {
		assert_int_equal(lanes_pairs_parse(&p, row[i].text, why), 0);
		check(&p, row[i].lends, row[i].borrows);
		for (unsigned k = 0; k < COUNT(row[i].core); k++)
			assert_int_equal(p.core[k], row[i].core[k]);
	}
}

TEST(test_pairs_that_cannot_be)
{
	static const char *const malformed[] = {"", "0", "0:", ":1", "0:1,",
	    "0:1;2:3", "0-1:2", "0:1024", "99999999999999999999:1", "a:b"};
	static struct lanes_pairs p;
	char why[LANES_WHY];

	for (unsigned i = 0; i < COUNT(malformed); i++) {
		assert_int_equal(
		    lanes_pairs_parse(&p, malformed[i], why), -EINVAL);
		assert_non_null(strstr(why, "give one like 0:1,2:3"));
	}
	assert_int_equal(lanes_pairs_parse(&p, "0:1,1:2", why), -EINVAL);
	assert_non_null(strstr(why, "CPU 1 cannot both lend and borrow"));
	assert_int_equal(lanes_pairs_parse(&p, "3:3", why), -EINVAL);
}

/* Goal: of each core with a CPU of the service, the other hyperthreads. */
TEST(test_hyperthreads_beside)
{
	static const struct {
		const char *machine, *service, *lends, *borrows;
		int core;	 /* of the last borrower */
		const char *why; /* NULL: it is accepted */
	} row[] = {
	    {"core:2 pu:2", "0,2", "0,2", "1,3", 3, NULL},
	    {"core:2 pu:2", "0-2", "2", "3", 3, NULL},
	    {"core:2 pu:4", "0,4-5", "0,4-5", "1-3,6-7", 6, NULL},
	    {"core:2 pu:2", "0-3", "", "", 0, "taskset -apc"},
	    {"core:4 pu:1", "0", "", "", 0, "no hyperthread beside CPU 0"},
	};
	static struct lanes_pairs p;
	struct topology *t;
	char why[LANES_WHY];
	cpu_set_t service;
	int err, last;

	for (unsigned i = 0; i < COUNT(row); i++) {
		assert_int_equal(topology_open(&t, row[i].machine), 0);
		assert_int_equal(
		    topology_parse_cpus(row[i].service, &service), 0);
		err = lanes_pairs_beside(&p, t, &service, why);
		assert_int_equal(err, row[i].why == NULL ? 0 : -EINVAL);
		if (err < 0)
			assert_non_null(strstr(why, row[i].why));
		check(&p, row[i].lends, row[i].borrows);
		topology_close(&t);
		last = -1;
		for (int k = 0; k < TALECHAIN_LANES; k++)
			if (CPU_ISSET((size_t)k, &p.borrows))
				last = k;
		if (err == 0)
			assert_int_equal(p.core[last], row[i].core);
	}
}
