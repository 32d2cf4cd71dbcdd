/*
 * test_spool.c: what is added to a spool is what is sent from it, from any
 * place and any number of times; limits hold, and nothing is left of it.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proxy/net/message.h"
#include "proxy/net/spool.h"

#define BYTES ((size_t)300000)

static char directory[] = "/tmp/spool-test.XXXXXX";
static char pattern[BYTES];
static struct block_pool pool;
static struct spools all;

static int
set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < BYTES; i++)
		pattern[i] = (char)(i * 2654435761U >> 11);
	block_pool_init(&pool, 1000);
	assert_non_null(mkdtemp(directory));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	block_pool_fini(&pool);
	assert_int_equal(pool.blocks, 0); /* all came back */
	return rmdir(directory);
}

static void
begin(uint64_t bytes_max, unsigned files_max)
{
	all = (struct spools){.directory = directory,
	    .bytes_max = bytes_max,
	    .files_max = files_max};
}

static enum spool_result
add(struct spool *s, size_t from, size_t n, enum spool_use use)
{
	struct chain data = {0};
	enum spool_result result;

	assert_int_equal(chain_add(&data, &pool, pattern + from, n), 0);
	result = spool_add(&all, s, &data, &pool, use);
	if (result == SPOOL_OK)
		assert_int_equal(data.bytes + data.blocks, 0);
	else
		assert_int_equal(data.bytes, n);
	chain_clear(&data, &pool);
	return result;
}

/* Read exactly n bytes and compare. */
static void
expect(int fd, size_t from, size_t n)
{
	char got[4096];

	while (n > 0) {
		ssize_t part = read(fd, got, n < sizeof(got) ? n : sizeof(got));

		assert_true(part > 0);
		assert_memory_equal(got, pattern + from, (size_t)part);
		from += (size_t)part;
		n -= (size_t)part;
	}
}

TEST(test_sent_as_added)
{
	struct spool s = {0};
	size_t at = 0;
	int fd[2];

	begin(BYTES, 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	while (at < BYTES) {
		size_t n = 1 + unit_draw(70000);

		n = n < BYTES - at ? n : BYTES - at;
		assert_int_equal(add(&s, at, n, SPOOL_REQUEST), SPOOL_OK);
		at += n;
	}
	assert_int_equal(all.now.bytes, BYTES);
	assert_int_equal(all.use[SPOOL_REQUEST].bytes, BYTES);
	for (int i = 0; i < 100; i++) {
		size_t from = unit_draw(BYTES), n;
		ssize_t sent;

		n = BYTES - from < 9000 ? BYTES - from : 9000;
		s.bytes = from + n; /* no more than the socket holds */
		sent = spool_send(&s, from, fd[0]);
		assert_int_equal(sent, n);
		expect(fd[1], from, n);
		s.bytes = BYTES;
	}
	spool_close(&all, &s);
	spool_close(&all, &s);
	assert_int_equal(all.now.bytes + all.now.files, 0);
	close(fd[0]);
	close(fd[1]);
}

TEST(test_message_with_a_file)
{
	char head[] = "PUT / HTTP/1.1\r\n", lines[] = "A: b\r\n\r\n", got[32];
	struct spool s = {0};
	struct message o = {.head = {{head, 16}, {lines, 8}}, .file = &s};
	size_t n = 0;
	int fd[2];

	begin(BYTES, 1);
	assert_int_equal(add(&s, 0, BYTES, SPOOL_REQUEST), SPOOL_OK);
	for (int again = 0; again < 2; again++) {
		ssize_t part;

		assert_int_equal(
		    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
		o.head_sent = 0;
		o.file_sent = o.sent_bytes = 0;
		assert_int_equal(message_write(&o, fd[0], &pool), 24);
		assert_int_equal(read(fd[1], got, 24), 24);
		assert_memory_equal(got, "PUT / HTTP/1.1\r\nA: b\r\n\r\n", 24);
		for (n = 0; !message_done(&o); n += (size_t)part) {
			assert_false(message_keep_rest(&o));
			part = message_write(&o, fd[0], &pool);
			assert_true(part > 0);
			assert_int_equal(
			    message_in_file(&o), !message_done(&o));
			expect(fd[1], n, (size_t)part);
		}
		assert_int_equal(n, BYTES);
		assert_int_equal(o.sent_bytes, BYTES + 24);
		assert_int_equal(message_write(&o, fd[0], &pool), 0);
		close(fd[0]);
		close(fd[1]);
	}
	spool_close(&all, &s);
}

TEST(test_limits)
{
	struct spool a = {0}, b = {0}, c = {0};

	begin(100000, 3);
	assert_int_equal(add(&a, 0, 50001, SPOOL_RESPONSE), SPOOL_LIMIT);
	assert_int_equal(add(&a, 0, 50000, SPOOL_RESPONSE), SPOOL_OK);
	assert_int_equal(add(&a, 0, 1, SPOOL_RESPONSE), SPOOL_LIMIT);
	assert_int_equal(add(&b, 0, 50001, SPOOL_REQUEST), SPOOL_LIMIT);
	assert_int_equal(add(&b, 0, 49000, SPOOL_REQUEST), SPOOL_OK);
	assert_int_equal(add(&b, 0, 1001, SPOOL_REQUEST), SPOOL_LIMIT);
	spool_close(&all, &a);
	assert_int_equal(add(&c, 0, 1, SPOOL_REQUEST), SPOOL_OK);
	assert_int_equal(all.use[SPOOL_RESPONSE].limited, 2);
	assert_int_equal(all.use[SPOOL_REQUEST].limited, 2);
	assert_int_equal(all.used[SPOOL_RESPONSE].bytes, 0);
	assert_int_equal(all.used[SPOOL_REQUEST].files, 2);
	spool_close(&all, &b);
	spool_close(&all, &c);
	all.directory = "";
	assert_int_equal(add(&c, 0, 1, SPOOL_REQUEST), SPOOL_LIMIT);
	assert_int_equal(all.now.bytes + all.now.files, 0);
}

TEST(test_responses_leave_files)
{
	struct spool slow[3] = {{0}}, upload[3] = {{0}};

	begin(BYTES, 4);
	for (int i = 0; i < 2; i++)
		assert_int_equal(add(&slow[i], 0, 1, SPOOL_RESPONSE), SPOOL_OK);
	assert_int_equal(add(&slow[2], 0, 1, SPOOL_RESPONSE), SPOOL_LIMIT);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
		    add(&upload[i], 0, 1, SPOOL_REQUEST), SPOOL_OK);
	assert_int_equal(add(&upload[2], 0, 1, SPOOL_REQUEST), SPOOL_LIMIT);
	assert_int_equal(add(&slow[0], 0, 1, SPOOL_RESPONSE), SPOOL_OK);
	spool_close(&all, &slow[0]);
	assert_int_equal(add(&upload[2], 0, 1, SPOOL_REQUEST), SPOOL_OK);
	assert_int_equal(add(&slow[2], 0, 1, SPOOL_RESPONSE), SPOOL_LIMIT);
	spool_close(&all, &slow[1]);
	for (int i = 0; i < 3; i++)
		spool_close(&all, &upload[i]);
	assert_int_equal(all.now.bytes + all.now.files, 0);
}

TEST(test_file_system_fails)
{
	struct spool s = {0};

	begin(BYTES, 1);
	all.directory = "/dev/null/missing";
	assert_int_equal(add(&s, 0, 1, SPOOL_REQUEST), SPOOL_FAILED);
	assert_int_equal(errno, ENOTDIR);
	all.directory = "/dev/full";
	assert_int_equal(add(&s, 0, 1, SPOOL_REQUEST), SPOOL_FAILED);
	assert_int_equal(all.use[SPOOL_REQUEST].failed, 2);
	/* A descriptor that takes nothing: a disk that is full. */
	all.directory = directory;
	assert_int_equal(add(&s, 0, 1000, SPOOL_REQUEST), SPOOL_OK);
	assert_non_null(freopen("/dev/full", "w", stderr));
	assert_int_equal(dup2(STDERR_FILENO, s.fd), s.fd);
	assert_int_equal(add(&s, 0, 1000, SPOOL_REQUEST), SPOOL_FAILED);
	assert_int_equal(errno, ENOSPC);
	spool_close(&all, &s);
	assert_int_equal(all.now.bytes + all.now.files, 0);
}

TEST(test_directories_are_made)
{
	struct spool s = {0};
	char path[96];
	struct stat st;

	snprintf(path, sizeof(path), "%s/one/two", directory);
	assert_int_equal(spool_try(path), 0);
	assert_int_equal(spool_try(path), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(rmdir(path), 0); /* and nothing is in it */
	/* also while it runs, if another has removed it */
	begin(BYTES, 1);
	all.directory = path;
	assert_int_equal(add(&s, 0, 1000, SPOOL_REQUEST), SPOOL_OK);
	spool_close(&all, &s);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(spool_try("/dev/null/x"), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/one", directory);
	assert_int_equal(rmdir(path), 0);
}

int
main(void)
{
	return unit_run(set_up, tear_down);
}
