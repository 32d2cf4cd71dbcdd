/*
 * Goal: talechain.h gets its ring from a Tailor, is a no-op without one,
 * refuses whatever is not a channel, and compiles cleanly for its users.
 */
#include "tests/unit/unit.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "talechain/timeline/cursor.h"
#include "tests/unit/talechain/stub.h"

struct opening {
	const char *path;
	struct talechain tc;
	int result;
};

static void *
open_thread(void *arg)
{
	struct opening *o = arg;

	o->result = talechain_open(&o->tc, o->path, "worker-1", 8);
	return NULL;
}

/* Open against a stub that gives the reply. */
static void
open_with(struct stub *s, struct opening *o, struct stub_client *c,
    enum stub_reply reply)
{
	pthread_t thread;

	o->path = s->path;
	assert_int_equal(pthread_create(&thread, NULL, open_thread, o), 0);
	stub_accept(s, c, reply);
	pthread_join(thread, NULL);
}

static unsigned
descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

TEST(test_granted)
{
	struct opening o;
	struct stub stub;
	struct stub_client c;
	struct talechain_cursor cursor;
	struct talechain_event e;
	uint64_t lost, before;
	char byte;

	stub_open(&stub);
	open_with(&stub, &o, &c, STUB_GRANT);
	assert_int_equal(o.result, 0);
	assert_int_equal(c.kind, TALECHAIN_KIND_APP);
	assert_string_equal(c.name, "worker-1");
	assert_int_equal(c.tid, o.tc.tid);
	assert_int_equal(talechain_cursor_init(&cursor, c.channel, c.bytes), 0);
	before = talechain_now();
	talechain_emit(&o.tc, TALECHAIN_APP_START, 1, 2, 3, 4);
	assert_int_equal(talechain_take(&cursor, &e, &lost, instant_now()),
	    TALECHAIN_TAKE_OK);
	assert_in_range(e.ts, before, talechain_now());
	assert_int_equal(e.type, TALECHAIN_APP_START);
	assert_int_equal(e.arg[3], 4);
	talechain_word_set(&o.tc, TALECHAIN_WORD_QUEUE, 5);
	talechain_word_set(&o.tc, TALECHAIN_WORD_STATE, 6);
	assert_int_equal(c.channel->word[TALECHAIN_WORD_QUEUE], 5);
	assert_int_equal(c.channel->state, 6);
	talechain_close(&o.tc);
	talechain_close(&o.tc);
	assert_int_equal(read(c.socket, &byte, 1), 0); /* it hung up */
	talechain_emit(&o.tc, TALECHAIN_APP_START, 1, 2, 3, 4);
	assert_int_equal(c.channel->head, 1);
	stub_release(&c);
	stub_close(&stub);
}

TEST(test_refused)
{
	static const struct {
		enum stub_reply reply;
		int result;
	} row[] = {
	    {STUB_REFUSE, -EPERM},
	    {STUB_SHORT, -EPROTO},
	    {STUB_BARE, -EPROTO},
	    {STUB_STRANGE, -EPROTO},
	    {STUB_TWO, 0},
	};
	struct opening o;
	struct stub stub;
	struct stub_client c;
	unsigned before;
	size_t i;

	stub_open(&stub);
	before = descriptors();
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		open_with(&stub, &o, &c, row[i].reply);
		assert_int_equal(o.result, row[i].result);
		talechain_emit(&o.tc, TALECHAIN_APP_MARK, 0, 0, 0, 0);
		talechain_close(&o.tc);
		stub_release(&c);
		assert_int_equal(descriptors(), before); /* none leaked */
	}
	stub_close(&stub);
}

TEST(test_absent)
{
	static const char *const bad[] = {
	    "", "a b", "a\n", "12345678901234567890123456789012"};
	struct talechain tc, zero = {0};
	char path[200];
	struct stub stub;

	assert_int_equal(
	    talechain_open(&tc, "/no/such/socket", "a", 8), -ENOENT);
	talechain_emit(&tc, TALECHAIN_APP_MARK, 0, 0, 0, 0);
	talechain_word_set(&tc, TALECHAIN_WORD_QUEUE, 1);
	talechain_close(&tc);
	talechain_emit(&zero, TALECHAIN_APP_MARK, 0, 0, 0, 0);
	talechain_close(&zero);
	stub_open(&stub);
	close(stub.fd);
	assert_int_equal(talechain_open(&tc, stub.path, "a", 8), -ECONNREFUSED);
	setenv("TALECHAIN_SOCKET", stub.path, 1);
	assert_int_equal(talechain_open(&tc, NULL, "a", 8), -ECONNREFUSED);
	assert_int_equal(talechain_open(&tc, NULL, "a", 5), -EINVAL);
	assert_int_equal(talechain_open(&tc, NULL, "a", 21), -EINVAL);
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(talechain_open(&tc, NULL, bad[i], 8), -EINVAL);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(talechain_open(&tc, path, "a", 8), -EINVAL);
	stub.fd = -1;
	stub_close(&stub);
}

/* Compile a text; false: there is no such compiler. */
static bool
compiles(const char *command, const char *includes, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "command -v %.*s >/dev/null",
	    (int)strcspn(command, " "), command);
	if (system(line) != 0) {
		print_message("not tried: %s\n", command);
		return false;
	}
	snprintf(line, sizeof(line),
	    "echo '%s' | %s -Wall -Wextra -Wconversion -Wsign-conversion "
	    "-Wshadow -Wcast-qual -Wcast-align -Werror -I. %s -fsyntax-only -",
	    text, command, includes);
	if (system(line) != 0)
		fail_msg("%s", line);
	return true;
}

/* Goal: no warning in a service of any dialect that we promise. */
TEST(test_compiles)
{
	static const char *const command[] = {
	    "gcc -x c -std=gnu99",
	    "gcc -x c -std=gnu11 -Wpedantic",
	    "clang -x c -std=gnu17",
	    "g++ -x c++ -std=c++11 -Wold-style-cast -Wuseless-cast",
	    "g++ -x c++ -std=c++20 -Wpedantic",
	    "clang++ -x c++ -std=c++11 -Wold-style-cast",
	};
	static const char events[] = "-include talechain/talechain.h";
	static const char use_events[] =
	    "struct talechain t; int f(void); int f(void) {"
	    " int r = talechain_open(&t, \"s\", \"n\", 8);"
	    " talechain_emit(&t, TALECHAIN_APP_START, 1, 2, 3, 4);"
	    " talechain_word_set(&t, TALECHAIN_WORD_QUEUE, 1);"
	    " talechain_close(&t); return r; }";
	static const char borrow[] = "-U_GNU_SOURCE -D_GNU_SOURCE "
#ifdef __x86_64__
				     "-DTALECHAIN_BORROW_FENTRY "
#endif
				     "-include talechain/talechain_borrow.h";
	static const char use_borrow[] =
	    "struct talechain_borrow b; int g(void); int g(void) {"
	    " talechain_borrow_check(&b);"
	    " return talechain_borrow_open(&b, 1); }";
	size_t done = 0;

	for (size_t i = 0; i < sizeof(command) / sizeof(command[0]); i++) {
		done += compiles(command[i], events, use_events);
		done += compiles(command[i], borrow, use_borrow);
	}
	assert_true(done > 0);
}
