/* Goal: whom the observer is beside is told for machines of every shape. */
#include "tests/unit/unit.h"

#include <string.h>

#include "base/topology.h"
#include "tailorctl/probe.h"

TEST(test_neighbour)
{
	static const struct {
		const char *machine;
		int cpu;
		const char *says;
	} row[] = {
	    {"core:2 pu:1", 1, "none: no core here has an SMT sibling"},
	    {"core:4 pu:2", 6, "CPU 7, on the same core"},
	    {"core:4 pu:2", 7, "bench_shim 30 plots 6 7`"},
	    /* numbered as most firmware does: siblings n and n + 4 */
	    {"core:4 pu:2(indexes=core:pu)", 7, "bench_shim 30 plots 3 7`"},
	    {"core:4 pu:2", -1, "the observer is not pinned"},
	    {"core:4 pu:2", 9, "the SMT siblings of CPU 9"},
	    {"core:2 pu:4", 6, "CPU 4, on the same core"},
	};
	char text[PROBE_TEXT];
	struct topology *t;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(topology_open(&t, row[i].machine), 0);
		probe_neighbour(t, row[i].cpu, text, sizeof(text));
		if (strstr(text, row[i].says) == NULL)
			assert_string_equal(text, row[i].says);
		topology_close(&t);
	}
}
