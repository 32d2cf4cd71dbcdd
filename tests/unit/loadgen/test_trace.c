/* Goal: arrivals come from a file as written there, or not at all. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/send/plan.h"

static char path[] = "/tmp/tailor-trace-XXXXXX";
static int64_t *offset_ns;
static size_t n;
static char why[128];

static int
read_text(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	free(offset_ns);
	offset_ns = NULL;
	return trace_read(path, &offset_ns, &n, why, sizeof(why));
}

/* Goal: numbers, comments, paths behind a tab, line ends of either kind. */
TEST(test_good)
{
	assert_int_equal(
	    read_text("# ms\n0\n0.5\t/a\n\n0.5\r\n12.000001\n1000"), 0);
	assert_int_equal(n, 5);
	assert_int_equal(offset_ns[0], 0);
	assert_int_equal(offset_ns[1], 500000);
	assert_int_equal(offset_ns[2], 500000);
	assert_int_equal(offset_ns[3], 12000001);
	assert_int_equal(offset_ns[4], 1000000000);
}

/* Goal: a wrong line is named, and nothing is returned. */
TEST(test_wrong)
{
	static const char *const wrong[] = {"", "# nothing\n", "1\nx\n",
	    "2\n1\n", "-1\n", "1 /a\n", "1e3\n", "99999999999\n", "1\n\n2,5\n"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(read_text(wrong[i]), -EINVAL);
		assert_null(offset_ns);
		assert_non_null(strstr(why, path));
	}
	assert_non_null(strstr(why, ":3: "));
}

static int
set_up(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int
tear_down(void **state)
{
	(void)state;
	free(offset_ns);
	return unlink(path);
}

int
main(void)
{
	return unit_run(set_up, tear_down);
}
