/* scene.h: lanes, bars, arrows and curves of a story, made from its claims.
 *
 * All are bounded: a picture of thousands of bars shows nothing.  Where they
 * lie in a picture is decided later (picture.h).  Private to this room. */
#pragma once

#include "talechain/render/render.h"
#include "talechain/words/say.h"

/* lanes.c: the lane of a kind, number and thread, made if it is new. */
unsigned lane_get(
    struct explainer *ex, enum story_lane_kind kind, int number, uint32_t tid);
unsigned lane_of_claim(struct explainer *ex, const struct claim *c);
/* The lane of an attempt's server, or of a thread of it that took part. */
unsigned lane_of_server(struct explainer *ex, int attempt, uint32_t tid);
/* Put the lanes in the order of the picture, once all that lies on them is
 * there. */
void lanes_sort(struct explainer *ex);
/* The lane of each segment, and of each event of the tale. */
void lanes_of_segments(struct explainer *ex);
void lanes_of_events(struct explainer *ex);
/* The threads of lanes, bars and pieces: s->thread. */
void threads_list(struct explainer *ex);

/* bars.c: bars and arrows. */
void bars_draw(struct explainer *ex);
/* Draw like, cut to the picture; nothing if an end is not known. */
void bar_add(struct explainer *ex, const struct story_bar *like);
void arrow_add(struct explainer *ex, const struct story_arrow *like);
/* holders.c: lanes of the threads that the request waited for longest. */
void draw_holders(struct explainer *ex);

/* series.c: the curves under the lanes, once these are there. */
void series_find(struct explainer *ex);
