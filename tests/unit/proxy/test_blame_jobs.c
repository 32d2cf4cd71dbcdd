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
static void
fill(struct blame_job *job, unsigned number)
{
	blame_job_begin(job, 0);
	for (unsigned i = 1; i <= ROWS; i++) {
		int64_t gc_ns = i % 10 ? 0 : 30000000;
		struct account_named one = {
		    .account = {.end_wall_ns = i * 1000000,
			.total_ns = 1000000 + gc_ns,
			.in_flight = 1,
			.attempts = 1,
			.kernel = true,
			.parts = 2,
			.cause = {TALE_CAUSE_WORK, TALE_CAUSE_GC},
			.part_ns = {1000000, gc_ns}},
		    .server = "a"};

		snprintf(one.route, sizeof(one.route), "GET /%u", number);
		blame_job_take(job, &one, 1);
	}
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
	struct blame_job *job = blame_jobs_new(&b, &q);

	if (job == NULL)
		return false;
	fill(job, number);
	blame_jobs_start(&b);
	return true;
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

/* Causes that do not add up. */
TEST_WITH(nonsense, setup, teardown)
{
	struct analysis_question q = {.format = TALE_FORMAT_JSON};
	struct account_named one = {.account = {.total_ns = 1}};
	struct analysis_answer answer;

	blame_job_take(blame_jobs_new(&b, &q), &one, 1);
	blame_jobs_start(&b);
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
