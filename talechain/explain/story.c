/*
 * story.c: from a tale to a story, see explainer.h for the way.
 *
 * Only the order of the steps and the memory are here.
 */
#include "talechain/explain/story.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/explain/explainer.h"

static const struct {
	const char *code, *words;
} causes[TALE_CAUSE_COUNT] = {
#define TALE_X(symbol, code, words) [TALE_CAUSE_##symbol] = {code, words},
    TALE_CAUSES(TALE_X)
#undef TALE_X
};

const char *
story_lane_name(enum story_lane_kind kind)
{
	static const char *const name[] = {
	    [STORY_LANE_CLIENT] = "client",
	    [STORY_LANE_PROXY] = "proxy",
	    [STORY_LANE_SERVER] = "server",
	    [STORY_LANE_JVM] = "jvm",
	    [STORY_LANE_CPU] = "cpu",
	    [STORY_LANE_KERNEL] = "kernel",
	    [STORY_LANE_OBSERVER] = "observer",
	    [STORY_LANE_DELAYS] = "delays",
	};

	return name[kind];
}

const char *
tale_cause_code(enum tale_cause cause)
{
	return causes[cause].code;
}

const char *
tale_cause_words(enum tale_cause cause)
{
	return causes[cause].words;
}

int
tale_cause_find(const char *code)
{
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		if (strcmp(causes[i].code, code) == 0)
			return i;
	return -1;
}

void *
telling_grow(bool *failed, void *array, size_t count, size_t *room, size_t size)
{
	size_t more = *room > 0 ? 2 * *room : 32;
	void *grown;

	if (*failed || count < *room)
		return array;
	grown = realloc(array, more * size);
	if (grown == NULL) {
		*failed = true;
		return array;
	}
	*room = more;
	return grown;
}

int64_t
telling_at(const struct telling *tl, struct instant at)
{
	int64_t ns = instant_since(at, tl->t->t0);

	if (!instant_is_set(at))
		return NEVER;
	if (ns < -FAR)
		return -FAR;
	return ns > FAR ? FAR : ns;
}

int64_t
telling_cut(const struct telling *tl, int64_t ns)
{
	if (ns < 0)
		return 0;
	return ns > tl->s->total_ns ? tl->s->total_ns : ns;
}

size_t
telling_entry(const struct telling *tl, int64_t ns)
{
	size_t low = 0, high = tl->t->entries;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (telling_at(tl, tl->t->entry[middle].at) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Each event's lane, for lists of events. */
static void
story_event_lanes(struct telling *tl)
{
	const struct tale *t = tl->t;
	size_t i;

	if (t->entries == 0)
		return;
	tl->s->event_lane = calloc(t->entries, sizeof(*tl->s->event_lane));
	if (tl->s->event_lane == NULL) {
		tl->failed = true;
		return;
	}
	for (i = 0; i < t->entries; i++)
		tl->s->event_lane[i] = lane_of_event(tl, &t->entry[i]);
}

int
tale_tell(struct story **out, const struct tale *t)
{
	struct telling tl = {.t = t};
	int64_t total_ns = tale_total_ns(t);

	tl.s = calloc(1, sizeof(*tl.s));
	if (tl.s == NULL)
		return -ENOMEM;
	tl.s->tale = t;
	tl.s->total_ns = total_ns > 0 ? total_ns : 0;
	lane_get(&tl, STORY_LANE_PROXY, -1, 0);
	story_chain_find(&tl);
	threads_find(&tl);
	path_claim(&tl);
	cause_rates(&tl);
	if (!tl.failed)
		tile_make(&tl);
	if (!tl.failed)
		bars_draw(&tl);
	if (!tl.failed)
		story_event_lanes(&tl);
	if (!tl.failed)
		series_find(&tl);
	if (!tl.failed) {
		lanes_sort(&tl);
		words_write(&tl);
		advice_write(&tl);
	}
	free(tl.claim);
	free(tl.told);
	free(tl.spell);
	free(tl.name);
	if (tl.failed) {
		story_free(&tl.s);
		return -ENOMEM;
	}
	*out = tl.s;
	return 0;
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
	free(s);
}
