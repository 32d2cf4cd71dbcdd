/* story.c: make a story from a tale: find claims, their words, and what to
 * draw. */

#include "base/array.h"
#include "talechain/render/scene.h"

/* Make the picture's lanes, and all that lies on them. */
static void
scene_make(struct explainer *ex)
{
	static void (*const step[])(struct explainer * ex) = {
	    lanes_of_segments,
	    bars_draw,
	    lanes_of_events,
	    series_find,
	    lanes_sort,
	    threads_list,
	};

	lane_get(ex, STORY_LANE_PROXY, -1, 0);
	for (size_t i = 0; i < COUNT(step) && !ex->failed; i++)
		step[i](ex);
}

int
tale_explain(struct story **out, const struct tale *t)
{
	struct explainer ex;

	explainer_init(&ex, t);
	if (!ex.failed)
		words_write(&ex);
	if (!ex.failed)
		scene_make(&ex);
	explainer_fini(&ex);
	if (ex.failed)
		story_free(&ex.s);
	*out = ex.s;
	return ex.failed ? -ENOMEM : 0;
}

void
story_free(struct story **sp)
{
	struct story *s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	free(s->lane);
	free(s->bar);
	free(s->arrow);
	free(s->segment);
	for (size_t i = 0; i < s->curves; i++)
		free(s->series[i].point);
	free(s->series);
	free(s->event_lane);
	free(s->thread);
	free(s);
}
