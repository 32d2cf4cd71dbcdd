/* Goal: generated code has the name that it had during the request, or one that
 * is marked as doubtful, or none; never another's. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#include "talechain/symbols/sources.h"

#define AT 0x7f0000001000
#define BEFORE ((struct instant){1000 * NS_PER_MS})
#define BEGIN ((struct instant){2000 * NS_PER_MS})
#define END ((struct instant){2100 * NS_PER_MS})
#define AFTER ((struct instant){3000 * NS_PER_MS})

static struct code_maps maps;

static int
teardown(void **state)
{
	(void)state;
	code_maps_fini(&maps);
	memset(&maps, 0, sizeof(maps));
	return 0;
}

/* The name of AT after a map was read that was written at that instant. */
static const char *
name_by(enum symbols_runtime runtime, struct instant written, const char *map)
{
	static struct symbol of;
	char text[800];

	of = (struct symbol){
	    .pid = 500, .began = 7, .at = AT, .generated = true};
	snprintf(text, sizeof(text), "%s", map);
	code_maps_read(
	    &maps, runtime, BEGIN, END, written, text, strlen(text), &of, 1);
	return of.name;
}

static const char *
java_by(struct instant written, const char *map)
{
	return name_by(RUNTIME_HOTSPOT, written, map);
}

#define RUN "0x00007f0000000f00 0x0000000000000200 void A.run(int)\n"
#define OTHER "0x00007f0000000f80 0x0000000000000200 void A.other()\n"
#define ELSEWHERE "0x00007f0000009000 0x0000000000000200 int A.far()\n"

TEST_WITH(test_java_of_one_map, NULL, teardown)
{
	/* What was compiled or removed meanwhile, one map does not say. */
	assert_string_equal(java_by(AFTER, ELSEWHERE RUN), "A.run (?)");
	teardown(NULL);
	assert_string_equal(java_by(BEFORE, RUN), "A.run (?)");
	teardown(NULL);
	/* Within the request. */
	assert_string_equal(
	    java_by((struct instant){2050 * NS_PER_MS}, RUN), "A.run (?)");
	teardown(NULL);
	assert_string_equal(java_by(AFTER, ELSEWHERE), "");
}

TEST_WITH(test_java_of_two_maps, NULL, teardown)
{
	assert_string_equal(java_by(BEFORE, ELSEWHERE RUN), "A.run (?)");
	assert_string_equal(java_by(AFTER, RUN ELSEWHERE), "A.run");
	/* The same map again: it is not the one before. */
	assert_string_equal(java_by(AFTER, RUN ELSEWHERE), "A.run");
}

TEST_WITH(test_java_changed, NULL, teardown)
{
	java_by(BEFORE, OTHER);
	assert_string_equal(java_by(AFTER, RUN), "");
	teardown(NULL);
	/* Nothing was there: whatever ran may have been removed since. */
	java_by(BEFORE, ELSEWHERE);
	assert_string_equal(java_by(AFTER, RUN), "A.run (?)");
	teardown(NULL);
	/* A file's time may be a little early: this is not before. */
	java_by((struct instant){BEGIN.ns - 5 * NS_PER_MS}, RUN);
	assert_string_equal(java_by(AFTER, RUN), "A.run (?)");
}

TEST_WITH(test_java_other_process, NULL, teardown)
{
	struct symbol of = {
	    .pid = 500, .began = 8, .at = AT, .generated = true};
	char text[] = RUN;

	java_by(BEFORE, RUN);
	code_maps_read(&maps, RUNTIME_HOTSPOT, BEGIN, END, AFTER, text,
	    strlen(text), &of, 1);
	assert_string_equal(of.name, "A.run (?)");
}

TEST_WITH(test_java_names, NULL, teardown)
{
	static const char lead[] = "0x00007f0000001000 0x40 ";
	static const struct {
		const char *is, *shown;
	} rows[] = {
	    {"Interpreter", "Interpreter"},
	    {"java.util.List org.example.A$B.get(java.lang.String, int[])",
		"org.example.A$B.get (?)"},
	    {"void A.lambda$main$0()", "A.lambda$main$0 (?)"},
	    {"StubRoutines (1)", "StubRoutines (1) (?)"},
	    {"(", "( (?)"},
	    {"a(", "a (?)"},
	    {"org.springframework.web.servlet.mvc.method.annotation."
	     "RequestMappingHandlerAdapter.invokeHandlerMethod",
		"..annotation.RequestMappingHandlerAdapter."
		"invokeHandlerMethod (?)"},
	    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	     "a"
	     "aaaaaaaaaaaaaa",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaa (?)"},
	};
	char line[400];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(line, sizeof(line), "%s%s\n", lead, rows[i].is);
		assert_string_equal(java_by(AFTER, line), rows[i].shown);
		teardown(NULL);
	}
}

/* Node and CPython add lines; the map is whole at any time. */
TEST(test_lines_added)
{
	assert_string_equal(name_by(RUNTIME_V8, AFTER,
				"7f0000000f00 200 LazyCompile:*f /a.js:1\n"),
	    "LazyCompile:*f /a.js:1");
	assert_string_equal(
	    name_by(RUNTIME_CPYTHON, AFTER,
		"7f0000000f00 200 py::f:/a.py\n7f0000009000 10 py::g:/a.py\n"
		"7f0000000f80 200 py::f:/a.py\n"),
	    "py::f:/a.py");
	assert_string_equal(name_by(RUNTIME_V8, BEFORE,
				"7f0000000f00 200 f\n7f0000000f80 200 g\n"),
	    "g (?)");
}

TEST(test_damaged_lines)
{
	assert_string_equal(name_by(RUNTIME_V8, AFTER,
				"\n 7f\n7f0000000f00 200\n7f0000000f00 200 \n"
				"7f0000000f00 0 f\n7f0000000f00 fffffffff f\n"
				"x y z\n7f0000000f00 200 not complete"),
	    "");
	assert_string_equal(
	    name_by(RUNTIME_V8, AFTER, "ffffffffffffffff ffffffff f\n"), "");
}
