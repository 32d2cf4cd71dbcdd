/*
 * test_loop.c: what a turn puts off is done at its end, each piece once, by
 * stage and in order, and nothing is left.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/net/loop.h"

#define EACH LOOP_WRITES /* there are so many pieces of each stage */
#define DONE_MAX 100000

static struct loop loop;
static struct work work[LOOP_STAGES][EACH];

/* What was done, in order: stage * EACH + place. */
static unsigned done[DONE_MAX];
static unsigned dones;

/* What doing the one of this number brings with it: it may drop or put off
 * others, through the functions under test. */
static void (*consequence)(unsigned what);

static void
on_work(void *user)
{
	const struct work *w = user;
	unsigned what = (unsigned)(w - &work[0][0]);

	assert_false(w->waits); /* it may be put off again */
	assert_true(dones < DONE_MAX);
	done[dones++] = what;
	if (consequence != NULL)
		consequence(what);
}

static void
put_off(enum loop_stage stage, unsigned place)
{
	loop_put_off(&loop, &work[stage][place]);
}

static void
drop(enum loop_stage stage, unsigned place)
{
	loop_drop(&loop, &work[stage][place]);
}

static int
set_up(void **state)
{
	(void)state;
	memset(&loop, 0, sizeof(loop));
	for (unsigned i = 0; i < LOOP_STAGES; i++) {
		TAILQ_INIT(&loop.work[i]);
		for (unsigned k = 0; k < EACH; k++)
			work_init(&work[i][k], (enum loop_stage)i, on_work,
			    &work[i][k]);
	}
	dones = 0;
	consequence = NULL;
	return 0;
}

static void
assert_done(const unsigned *what, unsigned n)
{
	assert_int_equal(dones, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(done[i], what[i]);
}

static void
assert_nothing_waits(void)
{
	assert_int_equal(loop.writes, 0);
	for (unsigned i = 0; i < LOOP_STAGES; i++) {
		assert_true(TAILQ_EMPTY(&loop.work[i]));
		for (unsigned k = 0; k < EACH; k++)
			assert_false(work[i][k].waits);
	}
}

#define OF(stage, place) ((unsigned)(stage)*EACH + (place))

/* Goal: the end of an event does what is not writing; the end of the turn all,
 * stage by stage, each in the order in which it came; again: nothing. */
TEST_WITH(test_order, set_up, NULL)
{
	static const unsigned what[] = {OF(LOOP_POLICY, 1), OF(LOOP_INPUT, 4),
	    OF(LOOP_CONNECT, 0), OF(LOOP_SERVERS, 5), OF(LOOP_SERVERS, 2),
	    OF(LOOP_CLIENTS, 3), OF(LOOP_CLIENTS, 0)};

	put_off(LOOP_CLIENTS, 3);
	put_off(LOOP_SERVERS, 5);
	put_off(LOOP_CONNECT, 0);
	put_off(LOOP_INPUT, 4);
	put_off(LOOP_CLIENTS, 0);
	put_off(LOOP_POLICY, 1);
	put_off(LOOP_SERVERS, 2);
	assert_int_equal(loop.writes, 4);
	loop_event_end(&loop);
	assert_done(what, 2);
	loop_turn_end(&loop);
	assert_done(what, 7);
	assert_nothing_waits();
	loop_turn_end(&loop);
	assert_int_equal(dones, 7);
}

/* A response that is out brings its client's next request; a failure is the
 * policy's. */
static void
bring_next(unsigned what)
{
	if (what >= OF(LOOP_CLIENTS, 0) && what < OF(LOOP_CLIENTS, 3))
		put_off(LOOP_SERVERS, what - OF(LOOP_CLIENTS, 0));
	if (what == OF(LOOP_SERVERS, 1)) {
		put_off(LOOP_CLIENTS, 7); /* of another one */
		put_off(LOOP_POLICY, 0);
	}
}

/* Goal: what comes up is done in the same turn, in its stage's place. */
TEST_WITH(test_meanwhile, set_up, NULL)
{
	static const unsigned what[] = {OF(LOOP_CLIENTS, 0),
	    OF(LOOP_SERVERS, 0), OF(LOOP_CLIENTS, 1), OF(LOOP_SERVERS, 1),
	    OF(LOOP_POLICY, 0), OF(LOOP_CLIENTS, 2), OF(LOOP_SERVERS, 2),
	    OF(LOOP_CLIENTS, 7)};

	consequence = bring_next;
	for (unsigned i = 0; i < 3; i++)
		put_off(LOOP_CLIENTS, i);
	loop_turn_end(&loop);
	assert_done(what, 8);
	assert_nothing_waits();
}

/* The next one of each kind is closed by this one's writing. */
static void
close_others(unsigned what)
{
	if (what == OF(LOOP_SERVERS, 0)) {
		drop(LOOP_SERVERS, 1);
		drop(LOOP_CLIENTS, 0);
	}
	if (what == OF(LOOP_CLIENTS, 1)) {
		drop(LOOP_CLIENTS, 2);
		drop(LOOP_CLIENTS, 1); /* itself */
	}
}

/* Goal: doing one may drop others, and itself, wherever they wait. */
TEST_WITH(test_closed_meanwhile, set_up, NULL)
{
	static const unsigned what[] = {OF(LOOP_SERVERS, 0),
	    OF(LOOP_SERVERS, 2), OF(LOOP_CLIENTS, 1), OF(LOOP_CLIENTS, 3)};

	consequence = close_others;
	for (unsigned i = 0; i < 3; i++)
		put_off(LOOP_SERVERS, i);
	for (unsigned i = 0; i < 4; i++)
		put_off(LOOP_CLIENTS, i);
	loop_turn_end(&loop);
	assert_done(what, 4);
	assert_nothing_waits();
}

/* Goal: LOOP_WRITES writes of both kinds together do not wait for the end of
 * the turn. */
TEST_WITH(test_bound, set_up, NULL)
{
	for (unsigned i = 0; i < LOOP_WRITES; i++) {
		assert_int_equal(dones, 0);
		put_off(i % 2 == 0 ? LOOP_CLIENTS : LOOP_SERVERS, i);
		loop_event_end(&loop);
	}
	assert_int_equal(dones, LOOP_WRITES);
	assert_nothing_waits();
}

/* A naive model: what waits in a stage, in order. */
struct fifo {
	unsigned what[EACH], n;
};

static void
fifo_add(struct fifo *q, unsigned what)
{
	for (unsigned i = 0; i < q->n; i++)
		if (q->what[i] == what)
			return;
	q->what[q->n++] = what;
}

static void
fifo_drop(struct fifo *q, unsigned what)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < q->n; i++)
		if (q->what[i] != what)
			q->what[kept++] = q->what[i];
	q->n = kept;
}

/* Goal: whatever is put off, again and again, and dropped, waiting or not: what
 * is done is what the model says. */
TEST_WITH(test_random, set_up, NULL)
{
	struct fifo model[LOOP_STAGES] = {0};
	unsigned n;

	for (unsigned step = 0; step < 20000; step++) {
		unsigned stage = (unsigned)unit_draw(LOOP_STAGES);
		unsigned place = (unsigned)unit_draw(EACH);

		switch (unit_draw(16)) {
		case 0:
			dones = n = 0;
			loop_turn_end(&loop);
			for (unsigned i = 0; i < LOOP_STAGES; i++) {
				for (unsigned k = 0; k < model[i].n; k++)
					assert_int_equal(
					    done[n++], OF(i, model[i].what[k]));
				model[i].n = 0;
			}
			assert_int_equal(dones, n);
			assert_nothing_waits();
			break;
		case 1 ... 10:
			put_off((enum loop_stage)stage, place);
			fifo_add(&model[stage], place);
			break;
		default:
			drop((enum loop_stage)stage, place);
			fifo_drop(&model[stage], place);
		}
		assert_int_equal(
		    loop.writes, model[LOOP_SERVERS].n + model[LOOP_CLIENTS].n);
	}
}
