/*
 * Goal: a trace has every bar and every arrow of a story.  That its slices and
 * flows are as viewers want them is in tests/e2e/test_chrome_trace.py.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "talechain/render/chrome_tracks.h"
#include "talechain/render/render.h"
#include "tests/unit/talechain/samples.h"

#define SEEDS 150

static void
check(const struct story *s)
{
	struct chrome c;
	unsigned seen[SAMPLE_MAX] = {0};
	size_t i, k;

	assert_int_equal(chrome_init(&c, s), 0);
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

/* Goal: every bar is one slice, and no two tracks are one thread's. */
TEST(test_bars)
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
	char *text = sample_rendered(story_render_chrome, &s->story);

	assert_null(strchr(text, '<'));
	assert_null(strstr(text, "\xe2\x80\xa8"));
	assert_non_null(strstr(text, "\"ts\":100.000,\"dur\":20.000"));
	free(text);
	free(s);
}
