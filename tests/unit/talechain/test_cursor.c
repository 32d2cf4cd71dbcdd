/*
 * Goal: the observer's cursor accounts for every event of a channel exactly
 * once, gives up half-written slots only when it may, and survives any bytes.
 */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "talechain/timeline/cursor.h"

#define LOG2 6
#define SLOTS (1u << LOG2)
#define LAP ((uint64_t)SLOTS)

struct fixture {
	struct talechain_channel *channel;
	size_t bytes;
	struct talechain writer;
	struct talechain_cursor cursor;
	struct instant now;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->bytes = talechain_bytes(LOG2);
	f->channel = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->channel, MAP_FAILED);
	talechain_init(f->channel, LOG2, TALECHAIN_KIND_APP, "test", 1, 2, 3);
	talechain_attach(&f->writer, f->channel, LOG2);
	assert_int_equal(
	    talechain_cursor_init(&f->cursor, f->channel, f->bytes), 0);
	f->now.ns = 1000000000;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	munmap(f->channel, f->bytes);
	free(f);
	return 0;
}

/* Event i says i in its arguments, so that it can be checked anywhere. */
static void
emit(struct fixture *f, unsigned count)
{
	uint64_t i;

	while (count-- > 0) {
		i = f->writer.head;
		talechain_emit_at(&f->writer, 5 * i, TALECHAIN_APP_MARK, i,
		    3 * i, ~i, i ^ 0x5555);
	}
}

static void
check(const struct talechain_event *e, uint64_t i)
{
	assert_int_equal(e->seq, 2 * i + 2);
	assert_int_equal(e->ts, 5 * i);
	assert_int_equal(e->type, TALECHAIN_APP_MARK);
	assert_int_equal(e->tid, gettid());
	assert_int_equal(e->pid, getpid());
	assert_int_equal(e->arg[0], i);
	assert_int_equal(e->arg[1], 3 * i);
	assert_int_equal(e->arg[2], ~i);
	assert_int_equal(e->arg[3], i ^ 0x5555);
}

static void
invariant(const struct talechain_cursor *c)
{
	assert_int_equal(c->taken + c->lost + c->abandoned, c->next);
}

/* Goal: against a naive count, random bursts and random reading. */
TEST_WITH(test_overtaken, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_event e;
	uint64_t lost, sum = 0, got = 0, next = 0;
	unsigned round, k;

	srand(1);
	for (round = 0; round < 20000; round++) {
		emit(f, (unsigned)rand() % (3 * SLOTS));
		for (k = (unsigned)rand() % (3 * SLOTS); k > 0; k--)
			switch (talechain_take(&f->cursor, &e, &lost, f->now)) {
			case TALECHAIN_TAKE_OK:
				check(&e, next);
				next++;
				got++;
				break;
			case TALECHAIN_TAKE_LOST:
				/* Nothing is skipped that was safe to read. */
				assert_true(next + SLOTS < f->writer.head);
				assert_true(next + lost <=
					    f->writer.head - SLOTS + SLOTS / 4);
				next += lost;
				sum += lost;
				break;
			case TALECHAIN_TAKE_NONE:
				assert_int_equal(next, f->writer.head);
				k = 1;
				break;
			}
		assert_int_equal(f->cursor.taken, got);
		assert_int_equal(f->cursor.lost, sum);
		invariant(&f->cursor);
	}
	assert_true(sum > 0);
	assert_int_equal(f->cursor.rejected, 0);
}

/* Goal: a cursor that begins late counts what is already overwritten. */
TEST_WITH(test_late_start, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_event e;
	uint64_t lost;

	emit(f, 3 * SLOTS + 5);
	assert_int_equal(
	    talechain_cursor_init(&f->cursor, f->channel, f->bytes), 0);
	while (
	    talechain_take(&f->cursor, &e, &lost, f->now) == TALECHAIN_TAKE_OK)
		check(&e, f->cursor.next - 1);
	assert_int_equal(f->cursor.taken, SLOTS);
	assert_int_equal(f->cursor.lost, 2 * SLOTS + 5);
	assert_int_equal(f->cursor.next, f->writer.head);
}

/* Begin an event and leave it: what a killed or nested writer leaves. */
static void
begin_only(struct fixture *f)
{
	uint64_t i = f->writer.head++;

	__atomic_store_n(&f->channel->head, f->writer.head, __ATOMIC_RELAXED);
	__atomic_store_n(&f->writer.slot[i & f->writer.mask].seq, 2 * i + 1,
	    __ATOMIC_RELEASE);
}

/* Goal: a half-written slot is given up after 1 ms, if the writer went on. */
TEST_WITH(test_abandoned, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_event e;
	uint64_t lost;

	emit(f, 1);
	begin_only(f);
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_OK);
	/* Preempted in mid-slot: waited for, however long it takes. */
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_NONE);
	f->now.ns += 3600 * (uint64_t)NS_PER_S;
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_NONE);
	assert_int_equal(f->cursor.abandoned, 0);
	emit(f, 2);
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_OK);
	check(&e, 2);
	assert_int_equal(f->cursor.abandoned, 1);
	/* The next one gets its own millisecond. */
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_OK);
	begin_only(f);
	emit(f, 1);
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_NONE);
	f->now.ns += (uint64_t)NS_PER_MS;
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_NONE);
	f->now.ns += 1;
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_OK);
	check(&e, 5);
	assert_int_equal(f->cursor.abandoned, 2);
	invariant(&f->cursor);
}

/* Goal: a writer killed in mid-event costs exactly that event. */
TEST_WITH(test_killed, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_event e;
	uint64_t lost, before;
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		talechain_attach(&f->writer, f->channel, LOG2);
		emit(f, 10);
		begin_only(f);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	while (
	    talechain_take(&f->cursor, &e, &lost, f->now) == TALECHAIN_TAKE_OK)
		assert_int_equal(e.pid, pid);
	assert_int_equal(f->cursor.taken, 10);
	assert_int_equal(talechain_cursor_end(&f->cursor), 1);
	assert_int_equal(f->cursor.abandoned, 1);
	assert_int_equal(f->cursor.next, f->channel->head);
	invariant(&f->cursor);
	assert_int_equal(talechain_cursor_end(&f->cursor), 0);
	/* A successor on the same ring goes on behind it. */
	talechain_attach(&f->writer, f->channel, LOG2);
	before = f->writer.head;
	emit(f, 1);
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_OK);
	check(&e, before);
}

/* Goal: a header that is not exactly ours is refused. */
TEST_WITH(test_header, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_cursor c;
	struct talechain_channel good = *f->channel;
	size_t at;

	for (at = 0; at < 20; at++) { /* magic .. slot_log2 */
		if (at == 6 || at == 7)
			continue; /* a minor version is welcome */
		*f->channel = good;
		((unsigned char *)f->channel)[at] ^= 0x81;
		assert_int_equal(
		    talechain_cursor_init(&c, f->channel, f->bytes), -EPROTO);
	}
	*f->channel = good;
	f->channel->abi_minor = 9;
	assert_int_equal(talechain_cursor_init(&c, f->channel, f->bytes), 0);
	assert_int_equal(
	    talechain_cursor_init(&c, f->channel, f->bytes - 1), -EPROTO);
	assert_int_equal(talechain_cursor_init(&c, f->channel, 0), -EPROTO);
	f->channel->ready = 0;
	assert_int_equal(
	    talechain_cursor_init(&c, f->channel, f->bytes), -EPROTO);
	*f->channel = good;
	f->channel->head = UINT64_C(1) << 60;
	assert_int_equal(
	    talechain_cursor_init(&c, f->channel, f->bytes), -EPROTO);
}

/* Goal: impossible sequence numbers are counted once and move nothing. */
TEST_WITH(test_rejected, setup, teardown)
{
	struct fixture *f = *state;
	struct talechain_event e;
	uint64_t lost, k;
	static const uint64_t bad[] = {
	    2 * 1 + 2,			       /* of the slot beside it */
	    2 * (SLOTS + 1) + 1,	       /* the same, a lap on */
	    UINT64_MAX,			       /* everything */
	    UINT64_MAX - 1,		       /* the same, even */
	    (UINT64_C(2) << 40) + 2 * LAP + 2, /* too far ahead */
	    (UINT64_C(2) << 56) + 2,	       /* beyond all rings */
	};

	for (k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
		f->writer.slot[0].seq = bad[k];
		f->channel->head = UINT64_MAX;
		assert_int_equal(talechain_take(&f->cursor, &e, &lost, f->now),
		    TALECHAIN_TAKE_NONE);
		assert_int_equal(talechain_take(&f->cursor, &e, &lost, f->now),
		    TALECHAIN_TAKE_NONE);
		assert_int_equal(f->cursor.next, 0);
		assert_int_equal(f->cursor.rejected, k + 1);
	}
	/* A lie about head moves us no further than the slot proves. */
	f->writer.slot[0].seq = 2 * (4 * LAP) + 2;
	assert_int_equal(
	    talechain_take(&f->cursor, &e, &lost, f->now), TALECHAIN_TAKE_LOST);
	assert_int_equal(lost, 4 * SLOTS + SLOTS / 4);
	invariant(&f->cursor);
	f->channel->head = 1;
	assert_int_equal(talechain_cursor_end(&f->cursor), 0);
	invariant(&f->cursor);
}
