/*
 * Goal: the picture shows every bar and arrow of a story once, each where its
 * time is, and no string in it is more than words; what lies where is right
 * for stories by chance.
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/render/markup.h"
#include "talechain/render/picture.h"
#include "talechain/render/render.h"
#include "tests/unit/talechain/markup_check.h"
#include "tests/unit/talechain/samples.h"

#define SEEDS 120
#define WIDTH (PICTURE_RIGHT - PICTURE_LEFT)

/* Lanes on which something lies or an arrow ends. */
static size_t
lanes_used(const struct story *s)
{
	size_t lane, i, n = 0;
	bool used;

	for (lane = 0; lane < s->lanes; lane++) {
		used = false;
		for (i = 0; i < s->bars; i++)
			used |= s->bar[i].lane == lane;
		for (i = 0; i < s->arrows; i++)
			used |= s->arrow[i].from_lane == lane ||
				s->arrow[i].to_lane == lane;
		for (i = 0; i < s->curves; i++)
			used |= s->series[i].lane == lane;
		n += used;
	}
	return n;
}

/* Everything once, and markup that holds together. */
static void
whole(const struct story *s)
{
	char *text = sample_rendered(story_render_svg, s), mark[64];
	const char *fault;
	unsigned depth;
	size_t i, points;

	fault = markup_fault(text, &depth);
	if (fault != NULL)
		fail_msg("wrong at: %.200s", fault);
	assert_true(depth >= 3);
	/* The micro sign is ours, and no byte from outside. */
	assert_int_equal(occurrences(text, "\\xc2\\xb5"), 0);
	for (i = 0; i < s->bars; i++) {
		snprintf(mark, sizeof(mark), "\" data-i=\"%zu\" data-b=", i);
		assert_int_equal(occurrences(text, mark), 1);
	}
	assert_int_equal(occurrences(text, "<g class=\"bar "), s->bars);
	assert_int_equal(occurrences(text, "data-y1="), s->arrows);
	assert_int_equal(occurrences(text, "<g class=\"lane "), lanes_used(s));
	assert_int_equal(occurrences(text, "<g class=\"segment "), s->segments);
	assert_int_equal(occurrences(text, "<g class=\"curve\""), s->curves);
	for (i = 0, points = 0; i < s->curves; i++)
		points += s->series[i].points;
	assert_int_equal(occurrences(text, "<rect class=\"point\""), points);
	free(text);
}

/* Goal: of a thousand pieces few are drawn, and they tile the same time. */
TEST(test_many_pieces)
{
	enum { PIECES = 1000 };
	static struct story_segment segment[PIECES];
	struct sample *s = sample_new("plain");
	long long begin, end, last = 0;
	const char *at;
	size_t i, n = 0;
	char *text;

	s->story.total_ns = 0;
	for (i = 0; i < PIECES; i++) {
		segment[i].begin_ns = s->story.total_ns;
		s->story.total_ns += i == 500 ? 3000000 : 1000 + (int)i;
		segment[i].end_ns = s->story.total_ns;
		segment[i].cause =
		    i % 3 == 0 ? TALE_CAUSE_RUNQ : TALE_CAUSE_WORK;
	}
	s->story.segment = segment;
	s->story.segments = PIECES;
	text = sample_rendered(story_render_svg, &s->story);
	for (at = text; (at = strstr(at, "<g class=\"segment ")) != NULL;
	     at++) {
		assert_int_equal(
		    sscanf(strstr(at, "data-b"),
			"data-b=\"%lld\" data-e=\"%lld\"", &begin, &end),
		    2);
		assert_int_equal(begin, last);
		assert_true(end > begin);
		last = end;
		n++;
	}
	assert_int_equal(last, s->story.total_ns);
	assert_in_range(n, 30, 250);
	/* The long one stands alone. */
	assert_non_null(strstr(text, "3.00 ms ("));
	free(text);
	free(s);
}

/* Goal: every sample and stories by chance are shown whole. */
TEST(test_whole)
{
	samples_each(whole, SEEDS);
}

/* Goal: hostile strings are words: no element, attribute or control byte. */
TEST(test_hostile)
{
	struct sample *s = sample_new("hostile");
	char *text = sample_rendered(story_render_svg, &s->story);
	size_t i;

	assert_null(strstr(text, "<img"));
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "\xe2\x80\xa8"));
	assert_non_null(strstr(text, "&lt;/script&gt;&lt;img src=x"));
	assert_non_null(strstr(text, "\\xe2\\x80\\xa8"));
	for (i = 0; text[i] != '\0'; i++)
		assert_true(text[i] == '\n' || (unsigned char)text[i] >= 0x20);
	free(text);
	free(s);
}

/* Goal: without folds a moment lies where its share of the width is. */
TEST(test_places)
{
	struct sample *s = sample_new("gc");
	struct picture p;
	char *text = sample_rendered(story_render_svg, &s->story), mark[160];

	assert_int_equal(picture_init(&p, &s->story), 0);
	assert_int_equal(p.folds, 0);
	assert_true(fabs(picture_x(&p, 0) - PICTURE_LEFT) < 1e-6);
	assert_true(fabs(picture_x(&p, 2410000) - PICTURE_RIGHT) < 1e-6);
	assert_true(fabs(picture_x(&p, 450000) -
			 (PICTURE_LEFT + WIDTH * 450.0 / 2410)) < 1e-6);
	/* B's query, 450 to 2200 us, as it is drawn. */
	snprintf(mark, sizeof(mark),
	    "<rect class=\"body\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\"",
	    PICTURE_LEFT + WIDTH * 450.0 / 2410,
	    /* lanes begin at some y; it is in the text */
	    atof(strstr(strstr(text,
			    "data-b=\"450000\" data-e=\"2200000\" data-l"),
		     "data-y=\"") +
		 strlen("data-y=\"")),
	    WIDTH * 1750.0 / 2410);
	assert_non_null(strstr(text, mark));
	/* parse and collect lie one row below the query that holds them. */
	assert_true(picture_bar_y(&p, 8) < picture_bar_y(&p, 9));
	assert_true(picture_bar_y(&p, 9) == picture_bar_y(&p, 10));
	picture_fini(&p);
	free(text);
	free(s);
}

/* Whether anything begins or ends strictly within a fold. */
static bool
fold_is_quiet(const struct story *s, const struct picture_fold *f)
{
	size_t i;

#define WITHIN(ns) ((ns) > f->begin_ns && (ns) < f->end_ns)
	for (i = 0; i < s->bars; i++)
		if (s->bar[i].kind != STORY_BAR_OTHER &&
		    (WITHIN(s->bar[i].begin_ns) || WITHIN(s->bar[i].end_ns)))
			return false;
	for (i = 0; i < s->arrows; i++)
		if (WITHIN(s->arrow[i].from_ns) || WITHIN(s->arrow[i].to_ns))
			return false;
	for (i = 0; i < s->segments; i++)
		if (WITHIN(s->segment[i].begin_ns))
			return false;
#undef WITHIN
	return true;
}

static void
mapping_check(const struct story *s)
{
	double x, last = PICTURE_LEFT, step;
	struct picture p;
	unsigned f, i;

	assert_int_equal(picture_init(&p, s), 0);
	for (f = 0; f < p.folds; f++) {
		assert_true(p.fold[f].begin_ns < p.fold[f].end_ns);
		assert_true(
		    f == 0 || p.fold[f - 1].end_ns <= p.fold[f].begin_ns);
		assert_true(fold_is_quiet(s, &p.fold[f]));
		step = picture_x(&p, p.fold[f].end_ns) -
		       picture_x(&p, p.fold[f].begin_ns);
		assert_true(fabs(step - PICTURE_FOLD) < 1e-6);
	}
	for (i = 0; i <= 1000; i++) {
		x = picture_x(&p, s->total_ns * (int64_t)i / 1000);
		assert_true(x >= last - 1e-9 && x <= PICTURE_RIGHT + 1e-6);
		last = x;
	}
	assert_true(s->total_ns == 0 || fabs(last - PICTURE_RIGHT) < 1e-6);
	picture_fini(&p);
}

/* Goal: time never runs backwards, folds hold nothing, the end is the edge. */
TEST(test_mapping)
{
	samples_each(mapping_check, SEEDS);
}

/* Goal: 38.7 of 41.2 ms are folded, and it is said. */
TEST(test_fold)
{
	struct sample *s = sample_new("ack");
	char *text = sample_rendered(story_render_svg, &s->story);
	struct picture p;

	assert_int_equal(picture_init(&p, &s->story), 0);
	assert_int_equal(p.folds, 2);
	assert_true(p.fold[1].begin_ns > 2310000);
	assert_true(p.fold[1].end_ns < 40980000);
	assert_true(p.fold[1].end_ns - p.fold[1].begin_ns > 38000000);
	assert_non_null(strstr(text, "not to scale"));
	assert_int_equal(occurrences(text, "<g class=\"fold\""), 2);
	picture_fini(&p);
	free(text);
	free(s);
}

/* Goal: bars of one row never overlap, as long as there are rows. */
TEST(test_rows)
{
	const struct story_bar *a, *b;
	struct sample *s;
	struct picture p;
	unsigned seed;
	size_t i, k;

	for (seed = 0; seed < SEEDS; seed++) {
		s = sample_random(seed);
		assert_int_equal(picture_init(&p, &s->story), 0);
		for (i = 0; i < s->story.bars; i++)
			for (k = 0; k < i; k++) {
				a = &s->bar[i];
				b = &s->bar[k];
				if (a->lane != b->lane ||
				    p.row[i] != p.row[k] ||
				    p.row[i] == PICTURE_ROWS - 1)
					continue;
				assert_true(a->end_ns <= b->begin_ns ||
					    b->end_ns <= a->begin_ns);
			}
		picture_fini(&p);
		free(s);
	}
}

/* Goal: lengths are said with three digits in the unit that fits. */
TEST(test_spans)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
	    {0, "0 ns"},
	    {999, "999 ns"},
	    {1000, "1.00 \xc2\xb5s"},
	    {95000, "95.0 \xc2\xb5s"},
	    {999600, "1.00 ms"},
	    {41240000, "41.2 ms"},
	    {312000000, "312 ms"},
	    {1500000000, "1.50 s"},
	};
	char out[MARKUP_TIME];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
		    markup_span(out, cases[i].ns), cases[i].text);
}

/* Goal: cut words end in dots, and an escape is never cut apart. */
TEST(test_cut)
{
	struct text x = {0};
	char *text;
	size_t n;

	assert_int_equal(markup_width("a<\x01"), 6);
	markup_cut(&x, "abcdef", 6);
	text_add(&x, "|");
	markup_cut(&x, "abcdefg", 6);
	text_add(&x, "|");
	markup_cut(&x, "a\x01\x02", 8);
	assert_int_equal(text_take(&x, &text, &n), 0);
	assert_string_equal(text, "abcdef|abc...|a\\x01...");
	free(text);
}

/* Goal: the check that the tests above rely on finds what is wrong. */
TEST(test_check)
{
	static const char *const wrong[] = {"<a>", "<a></b>", "</a>",
	    "<a b=c/>", "<a b=\"<\"/>", "a & b", "a > b", "<a b=\"&x\"/>",
	    "\x01", "<a onclick=\"x/>"};
	unsigned depth;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(markup_fault(wrong[i], &depth));
	assert_null(markup_fault("<a b=\"c\"><d/>x &lt; y</a>", &depth));
	assert_int_equal(depth, 1);
}
