/* Goal: whatever is written is one valid JSON text that reads back exactly. */
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"

/* cJSON also takes control characters in strings. */
static void
check_valid(const char *text)
{
	cJSON *tree = cJSON_ParseWithOpts(text, NULL, true);

	assert_non_null(tree);
	cJSON_Delete(tree);
	for (; *text != '\0'; text++)
		assert_true(*text == '\n' || (unsigned char)*text >= ' ');
}

static void
expect(struct json *j, const char *expected)
{
	char *text;
	size_t length;

	assert_int_equal(json_take(j, &text, &length), 0);
	assert_string_equal(text, expected);
	assert_int_equal(length, strlen(expected));
	check_valid(text);
	free(text);
}

TEST(test_nesting_and_commas)
{
	struct json j;

	json_init(&j, false);
	json_object_begin(&j);
	json_key_uint(&j, "a", 1);
	json_key(&j, "b");
	json_array_begin(&j);
	json_bool(&j, true);
	json_array_begin(&j);
	json_array_end(&j);
	json_object_begin(&j);
	json_object_end(&j);
	json_int(&j, -5);
	json_array_end(&j);
	json_key_string(&j, "c", "x");
	json_key_bool(&j, "d", false);
	json_object_end(&j);
	expect(&j, "{\"a\":1,\"b\":[true,[],{},-5],\"c\":\"x\",\"d\":false}");
	/* Taken means empty: the same writer serves the next document. */
	json_uint(&j, 7);
	expect(&j, "7");
	json_fini(&j);
}

TEST(test_pretty)
{
	struct json j;

	json_init(&j, true);
	json_object_begin(&j);
	json_key_uint(&j, "a", 1);
	json_key(&j, "b");
	json_array_begin(&j);
	json_uint(&j, 2);
	json_uint(&j, 3);
	json_array_end(&j);
	json_key(&j, "c");
	json_object_begin(&j);
	json_object_end(&j);
	json_object_end(&j);
	expect(&j,
	    "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ],\n  \"c\": {}\n}");
}

TEST(test_integers_are_exact)
{
	struct json j;

	json_init(&j, false);
	json_array_begin(&j);
	json_uint(&j, UINT64_MAX);
	json_int(&j, INT64_MIN);
	json_uint(&j, (UINT64_C(1) << 53) + 1);
	json_thousandths(&j, 2310000);
	json_thousandths(&j, -5);
	json_thousandths(&j, INT64_MIN);
	json_array_end(&j);
	expect(&j,
	    "[18446744073709551615,-9223372036854775808,9007199254740993,"
	    "2310.000,-0.005,-9223372036854775.808]");
}

TEST(test_strings_are_escaped)
{
	static const struct {
		const char *in;
		const char *out;
	} cases[] = {
	    {"plain", "\"plain\""},
	    {"\"\\/", "\"\\\"\\\\/\""},
	    {"\n\r\t\b\x01\x7f", "\"\\n\\r\\t\\u0008\\u0001\\u007f\""},
	    {"</script>&", "\"\\u003c/script\\u003e\\u0026\""},
	    {"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7",
		"\"\\u2028\\u2029\xe2\x80\xa7\""},
	    /* controls of terminals; marks that reorder; their neighbours */
	    {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0",
		"\"\\u0080\\u009b\\u009f\xc2\xa0\""},
	    {"\xd8\x9c\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f",
		"\"\\u061c\xe2\x80\x8d\\u200e\\u200f\""},
	    {"\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf",
		"\"\\u202a\\u202e\xe2\x80\xaf\""},
	    {"\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa",
		"\"\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa\""},
	    {"\xc3\xa9 \xf0\x9f\x98\x80", "\"\xc3\xa9 \xf0\x9f\x98\x80\""},
	    /* not UTF-8: stray, overlong, surrogate, too large, cut off */
	    {"a\xff"
	     "b\x80",
		"\"a\xef\xbf\xbd"
		"b\xef\xbf\xbd\""},
	    {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xe0\x9f\xbf", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xf4\x90\x80\x80",
		"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
	    {"\xe2\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
	    /* a byte that is wrong must not swallow the quote after it */
	    {"\xe2\"", "\"\xef\xbf\xbd\\\"\""},
	};
	struct json j;

	json_init(&j, false);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_string(&j, cases[i].in);
		expect(&j, cases[i].out);
	}
	json_string_n(&j, "a\0b", 3);
	expect(&j, "\"a\\u0000b\"");
	json_string_n(&j, "", 0);
	expect(&j, "\"\"");
}

TEST(test_doubles_read_back_equal)
{
	uint64_t seed = 1;
	struct json j;

	json_init(&j, false);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t bits = splitmix64(&seed);
		char *text;
		size_t length;
		double v;

		memcpy(&v, &bits, sizeof(v));
		json_double(&j, v);
		assert_int_equal(json_take(&j, &text, &length), 0);
		check_valid(text);
		if (isfinite(v))
			assert_true(strtod(text, NULL) == v);
		else
			assert_string_equal(text, "null");
		free(text);
	}
	json_double(&j, 0.1);
	expect(&j, "0.1");
	json_double(&j, 3);
	expect(&j, "3");
	json_double(&j, 1.0 / 3);
	expect(&j, "0.3333333333333333");
	json_double(&j, (double)INFINITY);
	expect(&j, "null");
}

/* A random value; how deep is bounded by the writer's own limit. */
static void
write_random(struct json *j, uint64_t *seed, unsigned depth)
{
	char bytes[24];
	unsigned kind = (unsigned)(splitmix64(seed) % 6);
	unsigned n = (unsigned)(splitmix64(seed) % 5);

	if (depth == 0)
		kind = kind % 4;
	switch (kind) {
	case 0:
		json_uint(j, splitmix64(seed));
		break;
	case 1:
		json_double(j, (double)splitmix64(seed) / 1e9);
		break;
	case 2:
	case 3:
		for (unsigned i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)splitmix64(seed);
		json_string_n(j, bytes, splitmix64(seed) % sizeof(bytes));
		break;
	case 4:
		json_array_begin(j);
		for (unsigned i = 0; i < n; i++)
			write_random(j, seed, depth - 1);
		json_array_end(j);
		break;
	default:
		json_object_begin(j);
		for (unsigned i = 0; i < n; i++) {
			json_key(j, "k");
			write_random(j, seed, depth - 1);
		}
		json_object_end(j);
	}
}

TEST(test_random_documents_are_valid)
{
	uint64_t seed = 7;
	struct json j;

	for (unsigned i = 0; i < 3000; i++) {
		char *text;
		size_t length;

		json_init(&j, i % 2 == 1);
		write_random(&j, &seed, JSON_DEPTH_MAX);
		assert_int_equal(json_take(&j, &text, &length), 0);
		assert_int_equal(strlen(text), length);
		check_valid(text);
		free(text);
	}
}
