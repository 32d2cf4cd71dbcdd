/* Goal: what is asked of tables of accounts is answered in the order it came,
 * too many are refused, and an end in the middle loses no memory. */
#include "tests/unit/unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "proxy/analysis/blame_jobs.h"

#define ROWS 500

static struct blame_jobs b;

/* Requests of one route, every tenth with a collection. */
static char *
table(unsigned number)
{
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	assert_non_null(out);
	fprintf(out, "id,end_ns,total_ns,weight,route,server,in_flight,"
		     "attempts,new_connection,kernel,work,gc\n");
	for (unsigned i = 1; i <= ROWS; i++)
		fprintf(out, "%u,%u000000,%u,1,GET /%u,a,1,1,0,1,1000000,%u\n",
		    i, i, i % 10 ? 1000000 : 31000000, number,
		    i % 10 ? 0 : 30000000);
	assert_int_equal(fclose(out), 0);
	return text;
}

static int
setup(void **state)
{
	(void)state;
	b = (struct blame_jobs){.wake_fd = eventfd(0, EFD_CLOEXEC)};
	assert_true(b.wake_fd >= 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	blame_jobs_fini(&b);
	return close(b.wake_fd);
}

static bool
put(unsigned number, enum tale_format format)
{
	struct analysis_question q = {
	    .cookie = number, .kind = ANALYSIS_BLAME, .format = format};
	char *text = table(number);

	if (blame_jobs_put(&b, &q, text, NULL))
		return true;
	free(text);
	return false;
}

static struct analysis_answer
take(void)
{
	struct pollfd p = {.fd = b.wake_fd, .events = POLLIN};
	struct analysis_answer answer;
	eventfd_t wakes;

	while (!blame_jobs_take(&b, &answer)) {
		assert_int_equal(poll(&p, 1, 60000), 1);
		assert_int_equal(eventfd_read(b.wake_fd, &wakes), 0);
	}
	return answer;
}

TEST_WITH(each_in_its_order, setup, teardown)
{
	struct analysis_answer answer;
	char route[16];

	for (unsigned i = 1; i <= BLAME_JOBS; i++)
		assert_true(
		    put(i, i % 2 ? TALE_FORMAT_JSON : TALE_FORMAT_HTML));
	assert_false(put(9, TALE_FORMAT_JSON));
	for (unsigned i = 1; i <= BLAME_JOBS; i++) {
		answer = take();
		assert_int_equal(answer.cookie, i);
		assert_int_equal(answer.status, 200);
		snprintf(route, sizeof(route), "GET /%u", i);
		assert_non_null(memmem(answer.text, answer.length, route, 6));
		assert_int_equal(answer.text[0], i % 2 ? '{' : '<');
		free(answer.text);
	}
	assert_true(put(9, TALE_FORMAT_JSON));
	answer = take();
	assert_int_equal(answer.cookie, 9);
	free(answer.text);
	assert_false(blame_jobs_take(&b, &answer));
}

/* Not a table at all. */
TEST_WITH(nonsense, setup, teardown)
{
	struct analysis_question q = {.format = TALE_FORMAT_JSON};
	struct analysis_answer answer;

	assert_true(blame_jobs_put(&b, &q, strdup("id\nx\n"), NULL));
	answer = take();
	assert_int_equal(answer.status, 500);
	assert_null(answer.text);
}

/* The teardown ends them. */
TEST_WITH(an_end_in_the_middle, setup, teardown)
{
	for (unsigned i = 1; i <= BLAME_JOBS; i++)
		assert_true(put(i, TALE_FORMAT_HTML));
}
