/* Goal: no table of accounts, or of latencies, crashes tailorctl blame or takes
 * long; what is read adds up and can be analyzed. */
#include <string.h>

#include "base/array.h"
#include "blame/report/exact.h"
#include "tests/fuzz/check.h"

static void
analyze(struct blame_set *s, unsigned causes, unsigned values)
{
	static const double p[] = {0.5, 0.99, 1};
	struct blame_options o = {.p = 0.99, .resamples = 2, .seed = 1};
	struct blame_impact impact[BLAME_VALUES];
	struct blame_change change[BLAME_CAUSES];
	static struct blame_report r;
	int64_t excess = 0, out[COUNT(p)];
	unsigned n;

	check(blame_analyze(s, &o, &r) == 0, "it cannot be analyzed");
	for (unsigned i = 0; i < r.lines; i++)
		excess += r.line[i].excess_ns;
	/* A double has 53 bits. */
	if (r.q_ns < (int64_t)1 << 50)
		check(excess == r.q_ns - r.p50_ns, "excesses do not add up");
	check(r.explained >= 0 && r.explained <= 1, "more than all");
	check(blame_against(s, s, &o, change, &n) == 0 && n <= causes,
	    "it cannot be compared");
	check(blame_without(s, r.causes, true, p, COUNT(p), out) == 0 &&
		  out[0] >= 0 && out[0] <= out[1] && out[1] <= out[2],
	    "percentiles do not ascend");
	check(blame_impacts(s, 0.99, impact) == 0, "no impacts");
	for (unsigned i = 0; i < values; i++)
		check(impact[i].recorded >= 0 &&
			  impact[i].recorded < 1.000001 &&
			  impact[i].high <= impact[i].seconds,
		    "a value's figures");
	for (unsigned c = 0; c < causes; c++)
		check(blame_cause_impact(s, 0.99, c, impact) == 0, "no impact");
}

/* The same bytes as a table of latencies. */
static void
check_exact(const char *text)
{
	char *copy = strdup(text);
	struct blame_exact e;
	int err = blame_exact_read(&e, copy);

	check(err == 0 || e.routes == 0, "some of what is refused");
	for (unsigned i = 0; i < e.routes; i++) {
		const struct blame_latency *l = &e.route[i];

		check(blame_exact_quantile(l, 0.5) >= 0 &&
			  blame_exact_quantile(l, 0.5) <=
			      blame_exact_quantile(l, 1),
		    "percentiles do not ascend");
	}
	blame_exact_fini(&e);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct blame_rows rows;
	int err;

	memcpy(text, data, size);
	text[size] = '\0';
	check_exact(text);
	err = blame_rows_read(&rows, text, 0, 0);
	for (unsigned i = 0; err == 0 && i < rows.routes; i++)
		analyze(rows.route[i].set, rows.causes, rows.values);
	blame_rows_fini(&rows);
	free(text);
	return 0;
}
