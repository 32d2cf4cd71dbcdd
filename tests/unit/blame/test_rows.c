/* Goal: accounts come out of CSV exactly; what is no account is refused, and
 * what a terminal would obey is gone. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "blame/report/rows.h"

#define HEAD                                               \
	"id,end_ns,total_ns,weight,route,server,in_flight" \
	",attempts,new_connection,kernel,work,gc\n"

static struct blame_rows rows;

static int
read_rows(const char *text)
{
	static char copy[20000];

	snprintf(copy, sizeof(copy), "%s", text);
	return blame_rows_read(&rows, copy, 0, 0);
}

/* That one is alone on its arrival is known, and no value that is missing. */
TEST(an_empty_server_is_a_value)
{
	struct blame_impact i[3];

	assert_int_equal(read_rows(HEAD "a,9,5,1,r,s,1,1,0,1,5,0\n"
					"b,9,5,1,r,s,2,1,0,1,5,0\n"
					"c,9,5,1,r,s,0,1,0,1,5,0\n"
					"d,9,5,1,r,s,,1,0,1,5,0\n"
					"e,9,5,1,r,s,1,1,0,1,5,0\n"),
	    0);
	assert_int_equal(rows.routes, 1);
	assert_int_equal(blame_impacts(rows.route[0].set, 0.99, i), 0);
	assert_true(i[0].recorded > 0.59 && i[0].recorded < 0.61);
	blame_rows_fini(&rows);
}

TEST(lines_may_be_empty_or_end_as_on_windows)
{
	assert_int_equal(read_rows("\n" HEAD "a,9,5,1,r,s,1,1,0,1,5,0\r\n\r\n\n"
				   "b,9,5,1,r,s,1,1,0,1,5,0\n\n"),
	    0);
	assert_int_equal(rows.lines, 2);
	assert_string_equal(rows.id[1], "b");
	blame_rows_fini(&rows);
}

TEST(long_names_are_one_route)
{
	char text[20000] = HEAD;
	size_t n = strlen(text);

	for (unsigned i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "a,9,5,1,%0100d,%040d,1,1,0,1,5,0\n", 7, 7);
	assert_int_equal(read_rows(text), 0);
	assert_int_equal(rows.routes, 1);
	blame_rows_fini(&rows);
}

/* More routes than places: the busiest have a name, wherever they come. */
TEST(the_busiest_have_a_name)
{
	char text[20000] = HEAD;
	size_t n = strlen(text);

	for (unsigned i = 0; i < 400; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "a,9,5,%u,r%u,s,1,1,0,1,5,0\n", i < 340 ? 1U : 10U, i);
	assert_int_equal(read_rows(text), 0);
	assert_int_equal(rows.routes, BLAME_ROUTES);
	assert_string_equal(rows.route[0].name, "other");
	assert_true(rows.route[0].weight == 340 - 3);
	assert_true(rows.route[60].weight == 10);
	blame_rows_fini(&rows);
}

TEST(names_do_nothing_to_a_terminal)
{
	assert_int_equal(
	    read_rows("id,end_ns,total_ns,weight,route,server,in_flight,"
		      "attempts,new_connection,kernel,\33[2J\n"
		      "a,9,5,1,GET /\33]0;x\a\xc3\xa4,s,1,1,0,1,5\n"),
	    0);
	assert_string_equal(rows.cause[0].code, "?[2J");
	assert_string_equal(rows.cause[0].label, "?[2J");
	assert_string_equal(rows.route[0].name, "GET /?]0;x???");
	blame_rows_fini(&rows);
}

/* Five lines, a second apart, in some order: which are of a period that is
 * counted back from the latest. */
static const char *
period(int64_t length_s, int64_t until_s)
{
	char text[] = HEAD "c,3000000000,5,1,r,s,1,1,0,1,5,0\n"
			   "a,1000000000,5,1,r,s,1,1,0,1,5,0\n"
			   "e,5000000000,5,1,r,s,1,1,0,1,5,0\n"
			   "b,2000000000,5,1,r,s,1,1,0,1,5,0\n"
			   "d,4000000000,5,1,r,s,1,1,0,1,5,0\n";
	static char found[6];

	assert_int_equal(blame_rows_read(&rows, text, length_s * 1000000000,
			     until_s * 1000000000),
	    0);
	memset(found, 0, sizeof(found));
	for (size_t i = 0; i < rows.lines; i++)
		found[i] = rows.id[i][0];
	blame_rows_fini(&rows);
	return found;
}

TEST(periods_count_back_from_the_latest)
{
	assert_string_equal(period(0, 0), "caebd");
	assert_string_equal(period(1, 0), "ed");
	assert_string_equal(period(2, 1), "cb");
	assert_string_equal(period(0, 2), "ab");
	assert_string_equal(period(1, 7), "");
}

/* Computing is computing also on a slow clock: it does not go as a whole. */
TEST(what_can_go_is_known)
{
	assert_int_equal(
	    read_rows("id,end_ns,total_ns,weight,route,server,in_flight,"
		      "attempts,new_connection,kernel,work,low_ipc,slow_clock,"
		      "gc,backend_queue,not_observed,accept_queue,runq,"
		      "preempted,lock\n"),
	    0);
	for (unsigned c = 0; c < 3; c++)
		assert_int_equal(rows.cause[c].kind, BLAME_BASE);
	assert_int_equal(rows.cause[3].kind, BLAME_HAZARD);
	assert_int_equal(rows.cause[4].kind, BLAME_QUEUE);
	assert_int_equal(rows.cause[5].kind, BLAME_UNEXPLAINED);
	assert_int_equal(rows.cause[6].kind, BLAME_QUEUE);
	assert_int_equal(rows.cause[7].kind, BLAME_CPU);
	assert_int_equal(rows.cause[8].kind, BLAME_CPU);
	assert_int_equal(rows.cause[9].kind, BLAME_HAZARD);
	assert_true(blame_rows_needs_kernel(&rows, 1));
	assert_false(blame_rows_needs_kernel(&rows, 3));
	assert_true(blame_rows_needs_kernel(&rows, 9));
	blame_rows_fini(&rows);
}

TEST(what_is_no_account_is_refused)
{
	static const char *const bad[] = {
	    "a,x,5,1,r,s,1,1,0,1,5,0\n",
	    "a,-9,5,1,r,s,1,1,0,1,5,0\n",
	    "a,9223372036854775807,5,1,r,s,1,1,0,1,5,0\n",
	    "a,9,9223372036854775807,1,r,s,1,1,0,1,9223372036854775807,0\n",
	    "a,9,5,nan,r,s,1,1,0,1,5,0\n",
	    "a,9,5,inf,r,s,1,1,0,1,5,0\n",
	    "a,9,5,1e300,r,s,1,1,0,1,5,0\n",
	    "a,9,5,0,r,s,1,1,0,1,5,0\n",
	    "a,9,5,1x,r,s,1,1,0,1,5,0\n",
	    "a,9,5,1,r,s,1,1,0,1,-5,10\n",
	    "a,9,5,1,r,s,1,1,0,1,5\n",
	    "a,9,5,1,r,s,1,1,0,1,5,0,0\n",
	};
	char text[1000];

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), HEAD "%s", bad[i]);
		if (read_rows(text) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		blame_rows_fini(&rows);
	}
	assert_int_equal(read_rows(""), -EINVAL);
	blame_rows_fini(&rows);
}
