/*
 * test_sending.c: what waits for the end of the turn is written there, each
 * once, in order, and nothing is left.
 *
 * The two functions that write are this test's own (the archive's are not
 * linked then): they note who wrote, and what writing may bring with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "proxy/client/client.h"
#include "proxy/upstream/exchange.h"
#include "proxy/request/proxy.h"
#include "proxy/net/write_queue.h"

#define EACH SENDING_MAX /* there are so many clients, and uplinks */
#define WRITTEN_MAX 100000

static struct proxy proxy;
static struct client client[EACH];
static struct uplink uplink[EACH];

/* Who wrote, in order: a client's place, an uplink's + EACH. */
static unsigned written[WRITTEN_MAX];
static unsigned writes;

/* What writing the one of this number does, once: it may close or queue
 * others.  As closing and queueing do, through the functions under test. */
static void (*consequence)(unsigned who);

static void
wrote(unsigned who)
{
	assert_true(writes < WRITTEN_MAX);
	written[writes++] = who;
	if (consequence != NULL)
		consequence(who);
}

void
client_flush(struct client *c)
{
	sending_drop_client(c);
	wrote((unsigned)(c - client));
}

void
exchange_write(struct uplink *u)
{
	sending_drop_uplink(u);
	wrote((unsigned)(u - uplink) + EACH);
}

static int
set_up(void **state)
{
	unsigned i;

	(void)state;
	memset(&proxy, 0, sizeof(proxy));
	memset(client, 0, sizeof(client));
	memset(uplink, 0, sizeof(uplink));
	sending_init(&proxy.sending);
	for (i = 0; i < EACH; i++)
		client[i].proxy = uplink[i].proxy = &proxy;
	writes = 0;
	consequence = NULL;
	return 0;
}

static void
assert_written(const unsigned *who, unsigned n)
{
	unsigned i;

	assert_int_equal(writes, n);
	for (i = 0; i < n; i++)
		assert_int_equal(written[i], who[i]);
}

static void
assert_nothing_waits(void)
{
	unsigned i;

	assert_int_equal(proxy.sending.count, 0);
	assert_true(TAILQ_EMPTY(&proxy.sending.clients));
	assert_true(TAILQ_EMPTY(&proxy.sending.uplinks));
	for (i = 0; i < EACH; i++)
		assert_false(client[i].unsent || uplink[i].unsent);
}

/* Goal: nothing is written before the turn ends; then servers get theirs
 * first, and each kind in the order in which it came; a second time: nothing. */
static void
test_order(void **state)
{
	static const unsigned who[] = {EACH + 5, EACH + 2, 3, 0};

	(void)state;
	sending_add_client(&client[3]);
	sending_add_uplink(&uplink[5]);
	sending_add_client(&client[0]);
	sending_add_uplink(&uplink[2]);
	sending_bound(&proxy);
	assert_int_equal(writes, 0);
	assert_int_equal(proxy.sending.count, 4);
	sending_run(&proxy);
	assert_written(who, 4);
	assert_nothing_waits();
	sending_run(&proxy);
	assert_int_equal(writes, 4);
}

/* Goal: who is queued twice keeps its place and is written once. */
static void
test_once(void **state)
{
	static const unsigned who[] = {EACH + 1, EACH + 0, 1, 0};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		sending_add_client(&client[1]);
		sending_add_uplink(&uplink[1]);
		sending_add_client(&client[0]);
		sending_add_uplink(&uplink[0]);
	}
	assert_int_equal(proxy.sending.count, 4);
	sending_run(&proxy);
	assert_written(who, 4);
	assert_nothing_waits();
}

/* Goal: who waits for its socket is written when that is writable, and who
 * is closed never: neither is queued. */
static void
test_not_queued(void **state)
{
	(void)state;
	client[0].writing = true;
	client[1].closed = true;
	uplink[0].writing = true;
	sending_add_client(&client[0]);
	sending_add_client(&client[1]);
	sending_add_uplink(&uplink[0]);
	assert_nothing_waits();
	sending_run(&proxy);
	assert_int_equal(writes, 0);
}

/* Goal: who is closed while it waits is not written, and the others are;
 * taking out somebody who does not wait does nothing. */
static void
test_dropped(void **state)
{
	static const unsigned who[] = {EACH + 0, EACH + 2, 0, 2};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		sending_add_client(&client[i]);
		sending_add_uplink(&uplink[i]);
	}
	for (i = 0; i < 2; i++) {
		sending_drop_client(&client[1]);
		sending_drop_uplink(&uplink[1]);
		sending_drop_client(&client[9]);
		sending_drop_uplink(&uplink[9]);
	}
	assert_int_equal(proxy.sending.count, 4);
	sending_run(&proxy);
	assert_written(who, 4);
	assert_nothing_waits();
}

/* An answer that is out brings its client's next request. */
static void
next_request(unsigned who)
{
	if (who < 3)
		sending_add_uplink(&uplink[who]);
	if (who == EACH + 1)
		sending_add_client(&client[7]); /* of another one */
}

/* Goal: what is queued while the rest is written is written in the same turn,
 * requests before the answers that still wait. */
static void
test_queued_meanwhile(void **state)
{
	static const unsigned who[] = {
	    0, EACH + 0, 1, EACH + 1, 2, EACH + 2, 7};
	unsigned i;

	(void)state;
	consequence = next_request;
	for (i = 0; i < 3; i++)
		sending_add_client(&client[i]);
	sending_run(&proxy);
	assert_written(who, 7);
	assert_nothing_waits();
}

/* The next one of each kind is closed by this one's writing: a server's
 * connection breaks, and whoever waited for it is told. */
static void
close_others(unsigned who)
{
	if (who == EACH + 0) {
		sending_drop_uplink(&uplink[1]);
		sending_drop_client(&client[0]);
		client[0].closed = true;
		sending_add_client(&client[0]); /* too late */
	}
	if (who == 1) {
		sending_drop_client(&client[2]);
		sending_drop_client(&client[1]); /* itself */
	}
}

/* Goal: writing one may close others, and itself, wherever they wait. */
static void
test_closed_meanwhile(void **state)
{
	static const unsigned who[] = {EACH + 0, EACH + 2, 1, 3};
	unsigned i;

	(void)state;
	consequence = close_others;
	for (i = 0; i < 3; i++)
		sending_add_uplink(&uplink[i]);
	for (i = 0; i < 4; i++)
		sending_add_client(&client[i]);
	sending_run(&proxy);
	assert_written(who, 4);
	assert_nothing_waits();
}

/* Goal: SENDING_MAX of both kinds together do not wait for the turn's end. */
static void
test_bound(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < SENDING_MAX; i++) {
		assert_int_equal(writes, 0);
		if (i % 2 == 0)
			sending_add_client(&client[i]);
		else
			sending_add_uplink(&uplink[i]);
		sending_bound(&proxy);
	}
	assert_int_equal(writes, SENDING_MAX);
	assert_nothing_waits();
}

/* A naive model: who waits, in order, uplinks and clients apart. */
struct fifo {
	unsigned who[EACH], n;
};

static void
fifo_add(struct fifo *q, unsigned who)
{
	unsigned i;

	for (i = 0; i < q->n; i++)
		if (q->who[i] == who)
			return;
	q->who[q->n++] = who;
}

static void
fifo_drop(struct fifo *q, unsigned who)
{
	unsigned i, kept = 0;

	for (i = 0; i < q->n; i++)
		if (q->who[i] != who)
			q->who[kept++] = q->who[i];
	q->n = kept;
}

/* Goal: whatever comes and goes, in any order, what is written is what the
 * model says. */
static void
test_random(void **state)
{
	struct fifo uplinks = {0}, clients = {0};
	unsigned step, who, i;

	(void)state;
	srand(7);
	for (step = 0; step < 20000; step++) {
		who = (unsigned)rand() % EACH;
		switch (rand() % 16) {
		case 0:
			writes = 0;
			sending_run(&proxy);
			assert_int_equal(writes, uplinks.n + clients.n);
			for (i = 0; i < writes; i++)
				assert_int_equal(written[i],
				    i < uplinks.n ? uplinks.who[i]
						  : clients.who[i - uplinks.n]);
			uplinks.n = clients.n = 0;
			assert_nothing_waits();
			break;
		case 1 ... 5:
			sending_add_uplink(&uplink[who]);
			fifo_add(&uplinks, who + EACH);
			break;
		case 6 ... 10:
			sending_add_client(&client[who]);
			fifo_add(&clients, who);
			break;
		case 11 ... 13:
			sending_drop_uplink(&uplink[who]);
			fifo_drop(&uplinks, who + EACH);
			break;
		default:
			sending_drop_client(&client[who]);
			fifo_drop(&clients, who);
		}
		assert_int_equal(proxy.sending.count, uplinks.n + clients.n);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_order, set_up),
	    cmocka_unit_test_setup(test_once, set_up),
	    cmocka_unit_test_setup(test_not_queued, set_up),
	    cmocka_unit_test_setup(test_dropped, set_up),
	    cmocka_unit_test_setup(test_queued_meanwhile, set_up),
	    cmocka_unit_test_setup(test_closed_meanwhile, set_up),
	    cmocka_unit_test_setup(test_bound, set_up),
	    cmocka_unit_test_setup(test_random, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
