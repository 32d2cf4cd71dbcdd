/*
 * Goal: tracks, slices and flows of a trace are as viewers want them, for
 * stories by chance and for hostile ones, by definitions that are slower and
 * simpler than the code's.  tests/e2e/test_chrome_trace.py reads the text.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "talechain/render/chrome_tracks.h"
#include "talechain/render/render.h"
#include "tests/unit/talechain/markup_check.h"
#include "tests/unit/talechain/samples.h"

#define SEEDS 150

/* Two slices of a track are apart, or one holds the other. */
static void
slices_check(const struct chrome *c)
{
	const struct chrome_slice *a, *b;
	size_t i, k;

	for (i = 0; i < c->slices; i++)
		for (k = i + 1; k < c->slices; k++) {
			a = &c->slice[i];
			b = &c->slice[k];
			assert_true(a->begin_ns <= b->begin_ns);
			if (a->track == b->track)
				assert_true(a->end_ns <= b->begin_ns ||
					    b->end_ns <= a->end_ns);
		}
}

/* A hop lies strictly in its slice, and in none that begins later. */
static void
hops_check(const struct chrome *c)
{
	const struct chrome_slice *x, *other;
	const struct chrome_hop *h;
	size_t i, k;

	for (i = 0; i < c->hops; i++) {
		h = &c->hop[i];
		x = &c->slice[h->slice];
		assert_true(x->begin_ns < h->at_ns && h->at_ns < x->end_ns);
		assert_true(i == 0 || c->hop[i - 1].at_ns <= h->at_ns);
		for (k = h->slice + 1; k < c->slices; k++) {
			other = &c->slice[k];
			assert_false(other->track == x->track &&
				     other->begin_ns <= h->at_ns &&
				     h->at_ns < other->end_ns);
		}
	}
}

/* A flow starts once, first, and ends once, last; moments grow. */
static void
flows_check(const struct chrome *c)
{
	const struct chrome_hop *first, *last;
	unsigned id, hops;
	size_t i;

	for (id = 1; id <= c->story->arrows; id++) {
		first = last = NULL;
		for (i = 0, hops = 0; i < c->hops; i++) {
			if (c->hop[i].id != id)
				continue;
			assert_true(
			    last == NULL || last->at_ns < c->hop[i].at_ns);
			assert_true(
			    (hops == 0) == (c->hop[i].phase == CHROME_START));
			last = &c->hop[i];
			first = first != NULL ? first : last;
			hops++;
		}
		assert_true(hops != 1);
		assert_true(hops == 0 || last->phase == CHROME_END);
		assert_true(hops == 0 || first->wakeup == last->wakeup);
	}
}

static void
check(const struct story *s)
{
	struct chrome c;
	unsigned seen[SAMPLE_MAX] = {0};
	size_t i, k;

	assert_int_equal(chrome_init(&c, s), 0);
	slices_check(&c);
	hops_check(&c);
	flows_check(&c);
	for (i = 0; i < c.slices; i++)
		if (c.slice[i].bar != NULL)
			seen[c.slice[i].bar - s->bar]++;
	for (i = 0; i < s->bars; i++)
		assert_int_equal(seen[i], 1);
	for (i = 0; i < c.tracks; i++)
		for (k = 0; k < i; k++)
			assert_int_not_equal(
			    c.track[i].thread, c.track[k].thread);
	chrome_fini(&c);
}

/* Goal: the rules hold whatever the story is. */
TEST(test_rules)
{
	samples_each(check, SEEDS);
}

/* Goal: of a story that makes sense no arrow is left out. */
TEST(test_arrows)
{
	static const char *const names[] = {"ack", "gc", "classes", "many"};
	unsigned ends;
	struct sample *s;
	struct chrome c;
	size_t i, k;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		s = sample_new(names[i]);
		assert_int_equal(chrome_init(&c, &s->story), 0);
		/* Every hop but the first of a flow ends one arrow, except
		 * where a flow goes on from another slice of the lane. */
		for (k = 0, ends = 0; k < c.hops; k++)
			ends += c.hop[k].phase != CHROME_START;
		assert_true(ends >= s->story.arrows);
		chrome_fini(&c);
		free(s);
	}
}

/* Goal: times are microseconds with three decimals, strings are escaped. */
TEST(test_text)
{
	struct sample *s = sample_new("hostile");
	char *text;
	size_t n;

	assert_int_equal(story_render_chrome(&s->story, &text, &n), 0);
	assert_int_equal(strlen(text), n);
	assert_null(strchr(text, '<'));
	assert_null(strstr(text, "\xe2\x80\xa8"));
	assert_non_null(strstr(text, "\"ts\":100.000,\"dur\":20.000"));
	free(text);
	free(s);
}
