/*
 * Goal: the query language says what its grammar says, and what is wrong with
 * a query is said with its column; no text crashes it.
 */
#include <errno.h>
#include <string.h>

#include "tests/unit/unit.h"

#include "tailorctl/query.h"

static struct query_value
lookup(const char *field, void *user)
{
	struct query_value v = {QUERY_NUMBER, 0, NULL, false};

	(void)user;
	if (strcmp(field, "total") == 0)
		v.number = 25000000;
	else if (strcmp(field, "status") == 0)
		v.number = 200;
	else if (strcmp(field, "huge") == 0)
		v.number = UINT64_MAX;
	else if (strcmp(field, "zero") == 0)
		v.number = 0;
	else if (strcmp(field, "server") == 0)
		v = (struct query_value){QUERY_TEXT, 0, "a", false};
	else if (strcmp(field, "number_name") == 0)
		v = (struct query_value){QUERY_TEXT, 0, "0", false};
	else if (strcmp(field, "path") == 0)
		v = (struct query_value){QUERY_TEXT, 0, "/search", false};
	else if (strcmp(field, "empty") == 0)
		v = (struct query_value){QUERY_TEXT, 0, "", false};
	else if (strcmp(field, "bad") == 0)
		v = (struct query_value){
		    QUERY_UNKNOWN, 0, "events have", false};
	else
		v.kind = QUERY_MISSING;
	return v;
}

static const struct {
	const char *text;
	bool wanted;
} good[] = {
    {"total > 20ms and server == \"a\"", true},
    {"total > 20ms and server == 'b'", false},
    {"total>20ms", true},
    {"total > 25ms", false},
    {"total >= 25ms", true},
    {"total == 25000000", true},
    {"total == 25000us", true},
    {"total == 0.025s", true},
    {"total < 1m", true},
    {"total <= 24.9999ms", false},
    {"status == 200 or total > 1s", true},
    {"status == 404 or total > 1s", false},
    {"not status == 404", true},
    {"not (status == 200 and server == a)", false},
    /* and binds closer than or. */
    {"status == 200 or status == 1 and status == 2", true},
    {"(status == 200 or status == 1) and status == 2", false},
    {"not not status", true},
    {"status", true},
    {"zero", false},
    {"empty", false},
    {"server", true},
    {"path ~ search", true},
    {"path ~ /search and path !~ index", true},
    {"path == /search", true},
    {"path < /z", true},
    {"status ~ 20", true},
    {"huge == 18446744073709551615", true},
    {"huge == 18446744073709551614", false},
    {"number_name == 0", true},
    {"nothing == 1", false},
    {"nothing != 1", false},
    {"not nothing", true},
    {"status == abc", false},
    {"status != abc", true},
    {"  total\t>\n1k ", true},
    {"server=='a'and(status==200)", true},
};

TEST(test_meaning)
{
	struct query_error e;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (query_match(good[i].text, lookup, NULL, &e) !=
		    good[i].wanted)
			fail_msg("%s is not %d", good[i].text, good[i].wanted);
}

static const struct {
	const char *text;
	unsigned column;
	const char *says;
} bad[] = {
    {"", 1, "expected a field here, not the end"},
    {"total >", 8, "expected a value here, not the end"},
    {"total = 3", 7, "=="},
    {"total > 20 xs", 12, "expected and, or, or the end here, not \"xs\""},
    {"total > 20xs", 9, "\"20xs\" is not a number"},
    {"total > 1e9", 9, "not a number"},
    {"total > 99999999999999999999", 9, "not a number"},
    {"server == \"a", 11, "not closed"},
    {"(status == 2", 1, "not closed"},
    {"(status and (total", 13, "not closed"},
    {"status == 2)", 12, "not \")\""},
    {"status && total", 8, "joined by"},
    {"5 == total", 1, "expected a field here, not \"5\""},
    {"status == 2 or", 15, "expected a field"},
    {"not", 4, "expected a field"},
    {"\x1b[31m", 1, "\"?\""},
};

TEST(test_errors)
{
	struct query_error e;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
		    query_match(bad[i].text, lookup, NULL, &e), -EINVAL);
		if (e.column != bad[i].column ||
		    strstr(e.text, bad[i].says) == NULL)
			fail_msg(
			    "%s: column %u: %s", bad[i].text, e.column, e.text);
	}
}

TEST(test_limits)
{
	static char text[20000];
	struct query_error e;

	memset(text, '(', 5000);
	assert_int_equal(query_match(text, lookup, NULL, &e), -EINVAL);
	memset(text, '(', 100);
	text[100] = '\0';
	assert_int_equal(query_match(text, lookup, NULL, &e), -EINVAL);
	assert_int_equal(e.column, QUERY_DEPTH_MAX + 1);
	memset(text, 'x', 70);
	text[70] = '\0';
	assert_int_equal(query_match(text, lookup, NULL, &e), -EINVAL);
}

/* Goal: a field that does not exist is an error wherever it stands. */
TEST(test_unknown_field)
{
	struct query_error e;

	assert_int_equal(query_match("status == 200 or not (zero and bad < 3)",
			     lookup, NULL, &e),
	    -EINVAL);
	assert_int_equal(e.column, 32);
	assert_string_equal(e.text, "events have no field \"bad\"");
}
