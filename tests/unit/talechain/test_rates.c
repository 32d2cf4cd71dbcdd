/*
 * Goal: RATE events become curves under the right lanes, and computing is
 * called slow only where numbers say so: never where what is usual is not
 * known, of another server, of another CPU, or of time that was not computing.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "talechain/render/render.h"
#include "talechain/tale/tale_struct.h"
#include "tests/unit/talechain/plot.h"

#define INTERVAL(usual, us) ((uint64_t)(usual) << 40 | (uint64_t)((us)*US))

/* IPC of a server in the period of len us that ended at us, in thousandths. */
static void
ipc(struct plot *p, int server, int64_t us, int64_t len, uint64_t milli,
    uint64_t usual)
{
	SCENE(&p->scene, us * US, server, TALECHAIN_RATE, TALECHAIN_RATE_IPC,
	    milli * 1000, 1000000, INTERVAL(usual, len));
}

/* The clock of CPU 1 (as all of plot's kernel events), of its nominal one. */
static void
clock_of(struct plot *p, int64_t us, int64_t len, uint64_t milli)
{
	KERNEL(p, us, 0, 0, TALECHAIN_RATE, TALECHAIN_RATE_CLOCK, milli * 1000,
	    1000000, INTERVAL(0, len));
}

static void
on_low(struct plot *p)
{
	ipc(p, 0, 5000, 5000, 400, 1600);
	ipc(p, 0, 10000, 5000, 440, 1600);
}

/* The first half as usual. */
static void
on_low_half(struct plot *p)
{
	ipc(p, 0, 4000, 5000, 1500, 1600);
	ipc(p, 0, 10500, 6500, 400, 1600);
}

static void
on_usual_unknown(struct plot *p)
{
	ipc(p, 0, 10500, 11000, 100, 0);
}

static void
on_half_of_usual(struct plot *p)
{
	ipc(p, 0, 10500, 11000, 800, 1600);
}

static void
on_other_server(struct plot *p)
{
	ipc(p, 1, 10500, 11000, 400, 1600);
}

/* All the slow time the thread slept. */
static void
on_asleep(struct plot *p)
{
	plot_leaves(p, 1000, A_TID, TALECHAIN_OFF_SLEEPING, 0);
	ipc(p, 0, 8900, 7800, 400, 1600);
	KERNEL(p, 9000, 0, 0, TALECHAIN_WAKEUP, A_TID, A_PID,
	    PACK(TALECHAIN_CONTEXT_IRQ, 0));
	plot_enters(p, 9000, A_TID, 0, 0);
}

/* Nothing was counted, or no time passed. */
static void
on_nothing(struct plot *p)
{
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_RATE, TALECHAIN_RATE_IPC, 0, 0,
	    INTERVAL(1600, 9000));
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_RATE, TALECHAIN_RATE_IPC, 0,
	    100, INTERVAL(1600, 0));
	SCENE(&p->scene, 9000 * US, 0, TALECHAIN_RATE, 999, 0, 100,
	    INTERVAL(1600, 9000));
}

static void
on_slow_clock(struct plot *p)
{
	clock_of(p, 10500, 11000, 310);
}

static void
on_clock_enough(struct plot *p)
{
	clock_of(p, 10500, 11000, 500);
}

static const struct {
	const char *name;
	void (*plot)(struct plot *p);
	enum tale_cause cause;
	int64_t slow_us; /* of that cause, if it is one of ours */
	const char *sentence;
} cases[] = {
    {"low", on_low, TALE_CAUSE_LOW_IPC, 9922,
	"9.92 of 10.0 ms: A's thread 501 computed at IPC 0.42 (usual 1.60) "
	"(likely)."},
    {"low half", on_low_half, TALE_CAUSE_LOW_IPC, 5997,
	"6.00 of 10.0 ms: A's thread 501 computed at IPC 0.40 (usual 1.60) "
	"(likely)."},
    {"usual unknown", on_usual_unknown, TALE_CAUSE_WORK, 0, "9.92 of"},
    {"half", on_half_of_usual, TALE_CAUSE_WORK, 0, "9.92 of"},
    {"other", on_other_server, TALE_CAUSE_WORK, 0, "9.92 of"},
    {"asleep", on_asleep, TALE_CAUSE_SLEEP, 0, "8.00 of"},
    {"nothing", on_nothing, TALE_CAUSE_WORK, 0, "9.92 of"},
    {"slow clock", on_slow_clock, TALE_CAUSE_SLOW_CLOCK, 9922,
	"9.92 of 10.0 ms: A's thread 501 computed on CPU 1 at 0.31 of its "
	"nominal clock (likely)."},
    {"clock", on_clock_enough, TALE_CAUSE_WORK, 0, "9.92 of"},
};

TEST(test_causes)
{
	struct story *s;
	struct plot p;
	int64_t slow_ns;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plot_init(&p);
		cases[i].plot(&p);
		s = plot_tell(&p);
		slow_ns = s->cause_ns[TALE_CAUSE_LOW_IPC] +
			  s->cause_ns[TALE_CAUSE_SLOW_CLOCK];
		if (s->verdict.cause != cases[i].cause ||
		    slow_ns / US != cases[i].slow_us ||
		    strncmp(s->verdict.text, cases[i].sentence,
			strlen(cases[i].sentence)) != 0)
			fail_msg("%s: %s, slow %ld us: %s", cases[i].name,
			    tale_cause_code(s->verdict.cause),
			    (long)(slow_ns / US), s->verdict.text);
		plot_fini(&p);
	}
}

/* Goal: each signal a curve, under the lane of its server or CPU, with its
 * values in its unit, cut to the request; a period that ends after it too. */
TEST(test_series)
{
	const struct story_series *x;
	struct story *s;
	struct plot p;

	plot_init(&p);
	ipc(&p, 0, -1000, 5000, 900, 0); /* over before it began */
	ipc(&p, 0, 4000, 5000, 1500, 0);
	ipc(&p, 0, 9000, 5000, 700, 1600);
	ipc(&p, 1, 9000, 5000, 700, 1600); /* not one of the request's */
	SCENE(&p.scene, 5000 * US, 0, TALECHAIN_RATE, TALECHAIN_RATE_CLASSES,
	    50, 10 * NS_PER_MS, INTERVAL(0, 10000));
	clock_of(&p, 6000, 6000, 500);
	/* Read 15 ms after the request was over. */
	ipc(&p, 0, 25000, 16000, 300, 1600);
	s = plot_tell(&p);
	assert_int_equal(s->curves, 3);
	x = &s->series[0];
	assert_string_equal(x->name, "ipc");
	assert_string_equal(x->unit, "instructions per cycle");
	assert_int_equal(s->lane[x->lane].kind, STORY_LANE_SERVER);
	assert_int_equal(s->lane[x->lane].number, 0);
	assert_int_equal(x->points, 3);
	assert_true(x->point[0].begin_ns == 0);
	assert_true(x->point[0].end_ns == 4000 * US);
	assert_true(x->point[0].value > 1.499 && x->point[0].value < 1.501);
	assert_true(x->point[1].value > 0.699 && x->point[1].value < 0.701);
	assert_true(x->point[2].begin_ns == 9000 * US);
	assert_true(x->point[2].end_ns == s->total_ns);
	assert_true(x->most == x->point[0].value);
	assert_true(x->usual > 1.599 && x->usual < 1.601);
	x = &s->series[1];
	assert_string_equal(x->name, "classes");
	assert_true(x->point[0].value > 4999 && x->point[0].value < 5001);
	assert_true(x->usual == 0);
	x = &s->series[2];
	assert_string_equal(x->name, "clock");
	assert_int_equal(s->lane[x->lane].kind, STORY_LANE_CPU);
	assert_int_equal(s->lane[x->lane].number, 1);
	plot_fini(&p);
}

/* Goal: whatever numbers events carry, the curves stay in order, inside the
 * request, and all renderings come out. */
TEST(test_hostile)
{
	struct story *s;
	struct plot p;
	struct json j;
	char *text;
	size_t i, k, length, n;

	srand(11);
	for (n = 0; n < 40; n++) {
		plot_init(&p);
		for (i = 0; i < 400; i++)
			KERNEL(&p, rand() % 40000 - 15000, 0,
			    rand() % 2 ? A_PID : 0, TALECHAIN_RATE,
			    (uint64_t)(rand() % 12),
			    (uint64_t)rand() << rand() % 40,
			    (uint64_t)rand() << rand() % 40,
			    INTERVAL(rand(), rand() % 20000));
		s = plot_tell(&p);
		assert_true(s->curves <= STORY_SERIES_MAX);
		for (i = 0; i < s->curves; i++) {
			const struct story_series *x = &s->series[i];

			assert_true(x->points > 0 && x->lane < s->lanes);
			for (k = 0; k < x->points; k++) {
				assert_true(x->point[k].begin_ns >= 0);
				assert_true(
				    x->point[k].begin_ns < x->point[k].end_ns);
				assert_true(x->point[k].end_ns <= s->total_ns);
				assert_true(
				    k == 0 || x->point[k].begin_ns >=
						  x->point[k - 1].end_ns);
				assert_true(x->point[k].value <= x->most);
			}
		}
		assert_int_equal(story_render_html(s, &text, &length), 0);
		free(text);
		assert_int_equal(story_render_chrome(s, &text, &length), 0);
		free(text);
		json_init(&j, false);
		assert_int_equal(story_render_json(s, &j), 0);
		json_fini(&j);
		plot_fini(&p);
	}
}
