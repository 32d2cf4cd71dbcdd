/* Goal: accounts stand for all requests of their second and stratum, whatever
 * was left out; the table has what was put in, and no more than there is room
 * for. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/analysis/accounts.h"
#include "talechain/timeline/timeline.h"

static struct timeline *stream;
static struct timeline_reader *reader;
static struct accounts *a;
static struct routes routes;

/* For files, if a test has some kept there. */
static char directory[] = "/dev/shm/tailor-accounts-XXXXXX";

static int
setup(void **state)
{
	(void)state;
	memcpy(strchr(directory, '\0') - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(directory));
	assert_int_equal(timeline_new(&stream, NULL, 10), 0);
	assert_int_equal(timeline_reader_from(&reader, stream), 0);
	a = calloc(1, sizeof(*a));
	assert_non_null(a);
	routes_init(&routes);
	assert_int_equal(accounts_init(a, &routes, 10), 0);
	return 0;
}

static int
teardown(void **state)
{
	char path[sizeof(directory) + 12];

	(void)state;
	accounts_fini(a);
	free(a);
	timeline_reader_close(&reader);
	timeline_free(&stream);
	snprintf(path, sizeof(path), "%s/accounts.db", directory);
	unlink(path);
	return rmdir(directory);
}

/* Some requests finished in a second; an account is made of the last one, which
 * stands for so many; 0: none is made. */
static void
request_of(unsigned second, enum account_stratum stratum, uint32_t offered,
    const char *target, uint32_t stands)
{
	struct tale_request r = {.id = 7,
	    .external_id = "x7",
	    .method = "GET",
	    .status = 200,
	    .attempt = {{.server = 1, .server_name = "b"}, {.server = -1}}};
	uint32_t n[ACCOUNT_STRATA] = {0};
	struct tale *t;
	struct story s = {.total_ns = 1000};
	char route[ACCOUNT_ROUTE];

	snprintf(r.target, sizeof(r.target), "%s", target);
	n[stratum] = offered;
	accounts_offered(
	    a, (struct instant){second * (uint64_t)NS_PER_S + 1}, n);
	if (stands == 0)
		return;
	tale_slice(&t, reader, &r, NULL, 0);
	assert_non_null(t);
	s.tale = t;
	s.cause_ns[TALE_CAUSE_GC] = 600;
	s.cause_ns[TALE_CAUSE_WORK] = 390;
	s.cause_ns[TALE_CAUSE_UNKNOWN] = 10;
	accounts_add(a, &s, account_route("GET", target, route), stratum,
	    stands, second);
	tale_free(&t);
}

static void
request(unsigned second, enum account_stratum stratum, uint32_t offered,
    const char *target, bool made)
{
	request_of(second, stratum, offered, target, made);
}

static double
weight(unsigned i)
{
	return a->account[i].weight;
}

TEST_WITH(accounts_weigh_as_much_as_there_were_requests, setup, teardown)
{
	request(1, ACCOUNT_OTHER, 60, "/a", true);
	request(1, ACCOUNT_OTHER, 40, "/a", true);
	request(1, ACCOUNT_SLOW, 3, "/a", true);
	assert_true(weight(0) == 0);
	request(2, ACCOUNT_OTHER, 1, "/a", true);
	assert_true(weight(0) == 50 && weight(1) == 50 && weight(2) == 3);
	/* None was made of 7 slow ones: the next second's stand for them. */
	request(2, ACCOUNT_SLOW, 7, "/a", false);
	request(3, ACCOUNT_SLOW, 1, "/a", true);
	request(4, ACCOUNT_OTHER, 0, "/a", false);
	assert_true(weight(3) == 1 && weight(4) == 8);
	assert_int_equal(
	    atomic_load(&a->cause_ns[0][TALE_CAUSE_GC]), 600 * 112);
}

/* Each stands for those that it was chosen from; those of a turn whose account
 * was left out are shared among the others. */
TEST_WITH(a_sample_stands_for_its_turns, setup, teardown)
{
	request_of(1, ACCOUNT_OTHER, 30, "/a", 30);
	request_of(1, ACCOUNT_OTHER, 10, "/a", 10);
	request(2, ACCOUNT_OTHER, 20, "/a", false);
	assert_true(weight(0) == 30 && weight(1) == 10);
	request_of(2, ACCOUNT_OTHER, 30, "/a", 30);
	request_of(2, ACCOUNT_OTHER, 10, "/a", 10);
	request(3, ACCOUNT_OTHER, 0, "/a", false);
	assert_true(weight(2) == 45 && weight(3) == 15);
}

/* What is counted at a place is of the route that has it when a second ends;
 * after it was lost that is all of "other". */
TEST_WITH(sums_are_by_place, setup, teardown)
{
	routes_take(&routes, 1, "GET /a");
	request(1, ACCOUNT_OTHER, 4, "/a", true);
	request(2, ACCOUNT_OTHER, 2, "/b", true);
	request(3, ACCOUNT_OTHER, 3, "/a", true);
	assert_int_equal(atomic_load(&a->cause_ns[1][TALE_CAUSE_GC]), 2400);
	assert_int_equal(atomic_load(&a->cause_ns[0][TALE_CAUSE_GC]), 1200);
	atomic_store(&routes.place[1].state, ROUTE_LOST);
	request(4, ACCOUNT_OTHER, 0, "/a", false);
	accounts_end(a, 1);
	assert_int_equal(atomic_load(&a->ended_ns[1][TALE_CAUSE_GC]), 2400);
	assert_int_equal(atomic_load(&a->cause_ns[0][TALE_CAUSE_GC]), 3000);
}

/* The table as it is answered; owned by the caller. */
static char *
table(int64_t since_ns)
{
	struct text t = {0};
	char *text;
	size_t length;

	accounts_write(a, since_ns, 0, ACCOUNTS_ANSWER, &t);
	assert_int_equal(text_take(&t, &text, &length), 0);
	return text;
}

/* The next request has been offered, and its question is put off while the
 * table is asked for, which ends the second. */
TEST_WITH(a_question_that_is_put_off_weighs_nothing, setup, teardown)
{
	uint32_t slow[ACCOUNT_STRATA] = {[ACCOUNT_SLOW] = 1};

	request(1, ACCOUNT_SLOW, 1, "/a", true);
	request(1, ACCOUNT_SLOW, 1, "/a", false);
	accounts_put_off(a, slow);
	free(table(7));
	request(1, ACCOUNT_SLOW, 1, "/a", true);
	request(2, ACCOUNT_SLOW, 0, "/a", false);
	assert_true(weight(0) == 1 && weight(1) == 1);
}

TEST_WITH(the_table_has_what_there_is_room_for, setup, teardown)
{
	char *text, *line;
	unsigned n = 0;

	for (unsigned i = 0; i < 25; i++)
		request(i, ACCOUNT_OTHER, 1, "/a/b?c", true);
	text = table(7);
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (n++ == 1)
			assert_int_equal(strncmp(line,
					     "7,x7,17,1000,1,GET /a,b,0,200,1,"
					     "0,0,0,10,",
					     41),
			    0);
	assert_int_equal(n, 1 + 8);
	free(text);
}

/* A clock that was ahead for one of them does not hide the others. */
TEST_WITH(a_time_to_come_is_not_the_latest, setup, teardown)
{
	unsigned now = (unsigned)(instant_wall_now_ns() / NS_PER_S);
	char *text;

	request(1, ACCOUNT_OTHER, 1, "/past", true);
	request(2, ACCOUNT_OTHER, 1, "/future", true);
	a->account[0].end_wall_ns = (now - 10) * NS_PER_S;
	a->account[1].end_wall_ns = (now + 86400) * NS_PER_S;
	text = table(3600 * NS_PER_S);
	assert_non_null(strstr(text, "GET /past"));
	assert_null(strstr(text, "GET /future"));
	free(text);
}

TEST(routes_are_plain)
{
	char out[ACCOUNT_ROUTE];

	assert_string_equal(account_route("GET", "/a/b", out), "GET /a");
	assert_string_equal(account_route("GET", "/", out), "GET /");
	assert_string_equal(account_route("GET", "/?a,b", out), "GET /");
	assert_string_equal(account_route("PUT", "*", out), "PUT /");
	assert_string_equal(
	    account_route("GET", "/a,\"b\n%", out), "GET /a__b__");
}

/* Accounts in memory keep their route's name, however many there were. */
TEST_WITH(names_are_those_of_the_ring, setup, teardown)
{
	char target[20], *text;

	for (unsigned i = 0; i < 1000; i++) {
		snprintf(target, sizeof(target), "/%u", i);
		request(i, ACCOUNT_OTHER, 1, target, true);
	}
	text = table(0);
	for (unsigned i = 990; i < 1000; i++) {
		snprintf(target, sizeof(target), ",GET /%u,", i);
		assert_non_null(strstr(text, target));
	}
	free(text);
}

/* Rows of the whole table. */
static unsigned
rows(void)
{
	char *text = table(0);
	unsigned n = 0;

	for (const char *c = text; (c = strchr(c, '\n')) != NULL; c++)
		n++;
	free(text);
	return n - 1;
}

TEST_WITH(what_cannot_be_written_is_tried_again, setup, teardown)
{
	struct rlimit was, none = {.rlim_cur = 0};
	unsigned n;

	accounts_keep(a, directory, 1 << 20);
	getrlimit(RLIMIT_FSIZE, &was);
	none.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (unsigned i = 0; i < 9; i++)
		request(i * 20, ACCOUNT_OTHER, 1, "/a", true);
	assert_int_equal(rows(), 9);
	assert_int_equal(atomic_load(&a->kept), 0);
	assert_int_equal(atomic_load(&a->lost), 0);
	/* The ring has room for ten. */
	for (unsigned i = 9; i < 15; i++)
		request(i * 20, ACCOUNT_OTHER, 1, "/a", true);
	assert_int_equal(rows(), 10);
	assert_true(a->failed);
	assert_int_equal(atomic_load(&a->failures), 1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	request(400, ACCOUNT_OTHER, 1, "/a", true);
	request(420, ACCOUNT_OTHER, 1, "/a", true);
	assert_int_equal(atomic_load(&a->lost) + atomic_load(&a->kept), 16);
	assert_true(atomic_load(&a->kept) >= 9);
	assert_false(a->failed);
	assert_int_equal(atomic_load(&a->failures), 1);
	n = rows();
	assert_int_equal(n, atomic_load(&a->kept) + a->made - a->stored);
}

TEST_WITH(a_directory_that_can_be_used_later, setup, teardown)
{
	/* goal: it is, with the accounts that are in memory */
	assert_int_equal(rmdir(directory), 0);
	for (unsigned i = 0; i < 2; i++)
		accounts_keep(a, directory, 1 << 20);
	assert_int_equal(atomic_load(&a->failures), 1);
	request(0, ACCOUNT_OTHER, 1, "/a", true);
	request(20, ACCOUNT_OTHER, 1, "/a", true);
	assert_int_equal(mkdir(directory, 0700), 0);
	accounts_keep(a, directory, 1 << 20);
	assert_false(a->failed);
	request(40, ACCOUNT_OTHER, 1, "/a", true);
	assert_int_equal(atomic_load(&a->kept), 2);
	assert_int_equal(rows(), 3);
}

/* Of 30,000 accounts in files, every tenth slow: how many of which are written,
 * and what they weigh together. */
static void
thinned(size_t room, unsigned written[2], double *weight)
{
	struct text t = {0};
	char *text, *line, *at, *field;
	size_t length;

	written[0] = written[1] = 0;
	*weight = 0;
	accounts_write(a, 0, 0, room, &t);
	assert_int_equal(text_take(&t, &text, &length), 0);
	strtok_r(text, "\n", &at);
	while ((line = strtok_r(NULL, "\n", &at)) != NULL) {
		for (unsigned i = 0; i < 12; i++) {
			field = strsep(&line, ",");
			if (i == 4)
				*weight += strtod(field, NULL);
		}
		written[strcmp(field, "1") == 0]++;
	}
	free(text);
}

TEST_WITH(an_answer_has_a_share_that_weighs_as_much, setup, teardown)
{
	static struct account_named block[1000];
	unsigned written[2];
	double weight;

	accounts_keep(a, directory, 64 << 20);
	for (unsigned i = 0; i < 30000; i++) {
		struct account *one = &block[i % 1000].account;

		*one = (struct account){.id = i + 1,
		    .end_wall_ns = 1 + i,
		    .stratum = i % 10 == 0 ? ACCOUNT_SLOW : ACCOUNT_OTHER,
		    .weight = i % 10 == 0 ? 1 : 9};
		if (i % 1000 == 999)
			assert_int_equal(
			    account_store_add(a->store, block, 1000), 0);
	}
	thinned(40000, written, &weight);
	assert_true(written[0] == 27000 && written[1] == 3000);
	assert_true(weight == 27000 * 9 + 3000);
	/* All slow ones, as long as they are three quarters. */
	thinned(10000, written, &weight);
	assert_int_equal(written[1], 3000);
	assert_in_range(written[0], 6700, 7300);
	assert_true(weight > 0.97 * 246000 && weight < 1.03 * 246000);
	thinned(2000, written, &weight);
	assert_in_range(written[1], 1400, 1600);
	assert_in_range(written[0], 400, 600);
	assert_true(weight > 0.85 * 246000 && weight < 1.15 * 246000);
}

TEST(the_first_class_that_matches_counts)
{
	char out[ACCOUNT_ROUTE];
	char *class[] = {(char *)(uintptr_t) "GET /search/**",
	    (char *)(uintptr_t) "* /search/*", (char *)(uintptr_t) "* /*/a"};

#define CLASS(method, target) account_class(class, 3, method, target, out)
	assert_string_equal(CLASS("GET", "/search/a?q=1"), "GET /search/**");
	assert_string_equal(CLASS("PUT", "/search/a"), "* /search/*");
	assert_string_equal(CLASS("PUT", "/x/a"), "* /*/a");
	assert_string_equal(CLASS("GE", "/x/b"), "other");
	assert_string_equal(CLASS("GET", "/../search"), "other");
	assert_string_equal(
	    account_class(class, 0, "GET", "/search/a", out), "GET /search");
}
