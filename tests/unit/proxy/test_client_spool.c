/*
 * test_client_spool.c: what a slow client keeps of memory is bounded by blocks,
 * not bytes, and what the kernel may hold back of it is known.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/client/client_spool.h"
#include "proxy/client/clients.h"

#define PIECE_BYTES 2100 /* more than is merged into another block */
#define PIECES 200

static char directory[] = "/tmp/client-spool-test.XXXXXX";
static struct loop loop;
static struct clients clients = {.loop = &loop, .blocks = &loop.blocks};
static struct config config;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(directory));
	config.proxy.spool_max_bytes = (uint64_t)64 << 30;
	clients.config = &config;
	loop.spools = (struct spools){
	    .directory = directory, .bytes_max = 1 << 30, .files_max = 2};
	block_pool_init(&loop.blocks, 1000);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	block_pool_fini(&loop.blocks);
	assert_int_equal(loop.blocks.blocks, 0);
	return rmdir(directory);
}

/* One more piece from the server, in a block of its own. */
static bool
give(struct client *c)
{
	struct block *b = block_take(&loop.blocks);

	assert_non_null(b);
	memset(b->data + b->begin, 'x', PIECE_BYTES);
	b->end += PIECE_BYTES;
	chain_append(client_tail(c), b);
	return client_takes(c, true);
}

TEST(test_small_pieces_hold_few_blocks)
{
	struct client c = {.clients = &clients};

	for (int i = 0; i < PIECES; i++) {
		assert_true(give(&c));
		assert_true(chain_held(&c.behind) <= SPOOL_PIECE);
	}
	assert_int_equal(
	    c.out.bytes + c.spool.bytes + c.behind.bytes, PIECES * PIECE_BYTES);
	client_drop_output(&c);
}

TEST(test_what_the_kernel_may_hold_back)
{
	struct client c = {.clients = &clients};
	char sent[4 * PIECE_BYTES];
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	c.fd = fd[0];
	while (!c.slow || c.behind.bytes == 0)
		assert_true(give(&c));
	while (c.out.bytes > 0) {
		assert_true(client_write(&c, MSG_MORE) > 0);
		assert_true(c.corked);
	}
	/* What came behind it goes out the same way. */
	assert_true(client_has_more(&c));
	assert_true(client_write(&c, 0) > 0);
	assert_false(c.corked);
	assert_true(give(&c));
	assert_true(client_write(&c, MSG_MORE) > 0);
	assert_true(c.corked);
	while (recv(fd[1], sent, sizeof(sent), MSG_DONTWAIT) > 0)
		;
	/* A file does not. */
	while (!c.spool.open)
		assert_true(give(&c));
	while (c.out.bytes > 0)
		assert_true(client_write(&c, MSG_MORE) > 0);
	assert_true(client_has_more(&c));
	assert_true(client_write(&c, MSG_MORE) > 0);
	assert_false(c.corked);
	client_drop_output(&c);
	close(fd[0]);
	close(fd[1]);
}

int
main(void)
{
	return unit_run(set_up, tear_down);
}
