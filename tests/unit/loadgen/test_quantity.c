/* Goal: quantities, percentile lists and --fail expressions are read
 * strictly. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/quantity.h"
#include "loadgen/stats/criteria.h"

static int
check(enum quantity q, const char *text, uint64_t wanted)
{
	uint64_t n = 0;
	int err = quantity_parse(q, text, q == QUANTITY_THOUSANDS, &n);

	assert_true(err != 0 || n == wanted);
	return err;
}

/* Goal: durations and counts with their units, and nothing else. */
TEST(test_units)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"0s", 0}, {"7ns", 7}, {"200us", 200000},
	    {"500ms", 500000000}, {"1.5s", 1500000000}, {"2m", 120000000000},
	    {"1h", 3600000000000}};
	static const char *const wrong[] = {"", "5", "ms", "-1s", "+1s", "1e3s",
	    "0x1s", "1 s", "1s ", "1d", "inf", "nans", "1.s", ".5s", "1,5s",
	    "1S", "9999999999999m"};
	static const char *const no_count[] = {
	    "", "1.5", "-1", "1K", "1G", "1e3", "k", "100000000000000000000"};

	for (size_t i = 0; i < COUNT(good); i++)
		assert_int_equal(
		    check(QUANTITY_DURATION, good[i].text, good[i].ns), 0);
	for (size_t i = 0; i < COUNT(wrong); i++)
		assert_true(check(QUANTITY_DURATION, wrong[i], 0) < 0);
	assert_int_equal(check(QUANTITY_THOUSANDS, "1.5k", 1500), 0);
	assert_int_equal(check(QUANTITY_THOUSANDS, "2M", 2000000), 0);
	assert_int_equal(check(QUANTITY_THOUSANDS, "0", 0), 0);
	for (size_t i = 0; i < COUNT(no_count); i++)
		assert_true(check(QUANTITY_THOUSANDS, no_count[i], 0) < 0);
}

/* Goal: durations are written with the digits a person wants. */
TEST(test_format)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {{0, "0ns"}, {67, "67ns"}, {-999, "-999ns"},
	    {4040, "4.04us"}, {9994, "9.99us"}, {9995, "10.0us"},
	    {39000, "39.0us"}, {813400, "813us"}, {999499, "999us"},
	    {999500, "1.00ms"}, {1210000, "1.21ms"}, {41240000, "41.2ms"},
	    {999499999, "999ms"}, {999500000, "1.00s"}, {90000000000, "90.0s"},
	    {-1210000, "-1.21ms"}};
	char text[QUANTITY_TEXT_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
		    quantity_format_ns(cases[i].ns, text), cases[i].text);
}

/* Goal: a list is sorted, without repetition, and its keys are unambiguous. */
TEST(test_percentiles)
{
	struct percentiles p = {0};
	char key[PERCENTILE_KEY_MAX];

	assert_int_equal(percentiles_parse(&p, "99.9,50,5,90,99.90"), 0);
	assert_int_equal(p.count, 4);
	assert_string_equal(percentile_key(p.at[0], key), "p5");
	assert_string_equal(percentile_key(p.at[1], key), "p50");
	assert_string_equal(percentile_key(p.at[2], key), "p90");
	assert_string_equal(percentile_key(p.at[3], key), "p999");
	assert_int_equal(percentiles_index(&p, 90), 2);
	assert_int_equal(percentiles_parse(&p, "9.99"), -EINVAL);
	assert_int_equal(percentiles_parse(&p, "0"), -EINVAL);
	assert_int_equal(percentiles_parse(&p, "100"), -EINVAL);
	assert_int_equal(percentiles_parse(&p, "50,"), -EINVAL);
	assert_int_equal(percentiles_parse(&p, "50;90"), -EINVAL);
	assert_int_equal(
	    percentiles_parse(&p, "11,12,13,14,15,16,17,18,19,20,21,22,23"),
	    -ENOSPC);
	assert_int_equal(p.count, PERCENTILES_MAX);
}

static struct expectation
parsed(const char *text)
{
	struct expectation e;

	assert_int_equal(expectation_parse(&e, text), 0);
	return e;
}

/* Goal: every form of expression, and what it compares. */
TEST(test_expectations)
{
	struct expectation e = parsed("p99<20ms");

	assert_int_equal(e.series, SERIES_LATENCY);
	assert_int_equal(e.scope, SCOPE_DEFAULT);
	assert_int_equal(e.statistic, STATISTIC_PERCENTILE);
	assert_true(expectation_holds(&e, 19999999));
	assert_false(expectation_holds(&e, 20000000));
	e = parsed("worst.service.p99.9<=1s");
	assert_int_equal(e.series, SERIES_SERVICE);
	assert_int_equal(e.scope, SCOPE_WORST);
	assert_true(fabs(e.percent - 99.9) < 1e-9);
	assert_true(expectation_holds(&e, 1e9));
	e = parsed("pooled.max<50ms");
	assert_int_equal(e.statistic, STATISTIC_MAX);
	assert_int_equal(e.scope, SCOPE_POOLED);
	e = parsed("lag.p99<200us");
	assert_int_equal(e.series, SERIES_LAG);
	e = parsed("server.mean>1us");
	assert_int_equal(e.series, SERIES_SERVER);
	assert_true(expectation_holds(&e, 1001));
	assert_false(expectation_holds(&e, 1000));
	e = parsed("gap.min>=0");
	assert_true(expectation_holds(&e, 0));
	e = parsed("errors<0.1%");
	assert_int_equal(e.statistic, STATISTIC_ERRORS_PERCENT);
	assert_true(expectation_holds(&e, 0.09));
	e = parsed("errors<=0");
	assert_int_equal(e.statistic, STATISTIC_ERRORS);
	e = parsed("rate>900");
	assert_int_equal(e.statistic, STATISTIC_RATE);
}

/* Goal: what is not an expression is refused, not guessed at. */
TEST(test_expectations_refused)
{
	static const char *const wrong[] = {"", "p99", "p99<", "p99<20",
	    "p99=20ms", "p99<20ms ", " p99<20ms", "p0<1ms", "p100<1ms", "p<1ms",
	    "foo<1ms", "server.errors<1", "worst.rate>1", "errors<1ms",
	    "latency<1ms", "lag.<1ms", "p99<<1ms", "p99<-1ms", "max<50%"};
	struct expectation e;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(expectation_parse(&e, wrong[i]), -EINVAL);
}
