/* story.c: from a tale to a story: the order of the steps (explainer.h), and
 * memory. */
#include "talechain/explain/story.h"

#include "talechain/explain/explainer.h"

const char *
story_lane_name(enum story_lane_kind kind)
{
	static const char *const name[] = {
	    [STORY_LANE_CLIENT] = "client",
	    [STORY_LANE_PROXY] = "proxy",
	    [STORY_LANE_SERVER] = "server",
	    [STORY_LANE_HOLDER] = "holder",
	    [STORY_LANE_JVM] = "jvm",
	    [STORY_LANE_CPU] = "cpu",
	    [STORY_LANE_KERNEL] = "kernel",
	    [STORY_LANE_OBSERVER] = "observer",
	};

	return name[kind];
}

enum tale_cause
story_cause_largest(const struct story *s, const bool done[TALE_CAUSE_COUNT])
{
	unsigned best = TALE_CAUSE_COUNT;

	for (unsigned c = 0; c < TALE_CAUSE_COUNT; c++)
		if (!done[c] && s->cause_ns[c] > 0 &&
		    (best == TALE_CAUSE_COUNT ||
			s->cause_ns[c] > s->cause_ns[best]))
			best = c;
	return (enum tale_cause)best;
}

const char *
story_confidence_name(enum story_confidence confidence)
{
	static const char *const names[] = {
	    [STORY_OBSERVED] = "observed",
	    [STORY_LIKELY] = "likely",
	    [STORY_NOT_OBSERVED] = "not_observed",
	};

	return names[confidence];
}

const char *
story_confidence_words(enum story_confidence confidence)
{
	static const char *const words[] = {
	    [STORY_OBSERVED] = "observed: events show its beginning and end",
	    [STORY_LIKELY] = "likely: something of it is inferred",
	    [STORY_NOT_OBSERVED] = "not observed: no event shows what it was",
	};

	return words[confidence];
}

/* Each event's lane, for lists of events. */
static void
story_event_lanes(struct explainer *ex)
{
	const struct tale *t = ex->t;

	if (t->entries == 0)
		return;
	ex->s->event_lane = calloc(t->entries, sizeof(*ex->s->event_lane));
	if (ex->s->event_lane == NULL) {
		ex->failed = true;
		return;
	}
	for (size_t i = 0; i < t->entries; i++)
		ex->s->event_lane[i] = lane_of_event(ex, &t->entry[i]);
}

int
tale_explain(struct story **out, const struct tale *t)
{
	static void (*const step[])(struct explainer * ex) = {
	    threads_find,
	    path_claim,
	    cause_rates,
	    check_claims,
	    tile_make,
	    check_tiles,
	    bars_draw,
	    story_event_lanes,
	    series_find,
	    lanes_sort,
	    threads_list,
	    requests_list,
	    verdict_write,
	};
	struct explainer ex = {.t = t};
	int64_t total_ns = tale_total_ns(t);

	ex.s = calloc(1, sizeof(*ex.s));
	if (ex.s == NULL)
		return -ENOMEM;
	ex.s->tale = t;
	ex.s->total_ns = total_ns > 0 ? total_ns : 0;
	tale_chain_find(&ex.chain, t);
	lane_get(&ex, STORY_LANE_PROXY, -1, 0);
	for (size_t i = 0; i < sizeof(step) / sizeof(*step) && !ex.failed; i++)
		step[i](&ex);
	ex.s->kernel = ex.chain.kernel;
	ex.s->in_flight = ex.chain.in_flight;
	free(ex.claim);
	free(ex.segment_claim);
	free(ex.interval);
	free(ex.name);
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
