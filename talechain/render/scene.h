/* scene.h: lanes, bars, arrows and curves of a story, made from its claims.
 *
 * The number of each is bounded: a picture of thousands of bars shows nothing.
 * picture.h decides later where they lie.  Private to this folder. */
#pragma once

#include "talechain/render/render.h"
#include "talechain/words/say.h"

/* lanes.c: find the lane of a kind, number and thread, or add it. */
unsigned lane_get(
    struct explainer *ex, enum story_lane_kind kind, int number, uint32_t tid);
unsigned lane_of_claim(struct explainer *ex, const struct claim *c);
/* The lane of an attempt's server; of its thread tid if that took part. */
unsigned lane_of_server(struct explainer *ex, int attempt, uint32_t tid);
/* Put the lanes in the order of the picture, after all that lies on them was
 * added. */
void lanes_sort(struct explainer *ex);
/* Set the lane of each segment, and of each event of the tale. */
void lanes_of_segments(struct explainer *ex);
void lanes_of_events(struct explainer *ex);
/* Collect the threads of lanes, bars and pieces in s->thread. */
void threads_list(struct explainer *ex);

/* bars.c: bars and arrows. */
void bars_draw(struct explainer *ex);
/* Add a copy of *like, cut to the picture; nothing if one of its ends is not
 * known. */
void bar_add(struct explainer *ex, const struct story_bar *like);
void arrow_add(struct explainer *ex, const struct story_arrow *like);
/* holders.c: lanes of the threads that the request waited for longest. */
void draw_holders(struct explainer *ex);

/* series.c: the curves under the lanes; after the lanes were added. */
void series_find(struct explainer *ex);
