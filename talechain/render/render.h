/* render.h: a story as text, JSON, SVG, HTML or a Chrome trace.
 *
 * This folder owns how a story looks; claims/ and words/ have decided before
 * what it means, so all renderings show the same facts.  Pure functions: no
 * clock, no input or output.  The analysis thread calls them. */
#pragma once

#include "base/json.h"
#include "talechain/words/words.h"

/* Find what a tale means.  The tale must outlive the story.  Returns 0 or
 * -ENOMEM.  Free with story_free.  Cost: about the number of events times its
 * logarithm; no clock, no input or output. */
int tale_explain(struct story **out, const struct tale *t);
void story_free(struct story **sp);

/* "client", "proxy", ...; static. */
const char *story_lane_name(enum story_lane_kind kind);

/* Renderings; *text is the caller's to free.  Return 0 or -ENOMEM.
 *   text    80 columns for a terminal: verdict, evidence, waterfall, events
 *   svg     the picture alone
 *   html    one self-contained page: verdict, picture, table
 *   chrome  Chrome trace events, for Perfetto
 * JSON has schema tailor.timeline/1. */
int story_render_text(const struct story *s, char **text, size_t *length);
int story_render_svg(const struct story *s, char **text, size_t *length);
int story_render_html(const struct story *s, char **text, size_t *length);
int story_render_chrome(const struct story *s, char **text, size_t *length);
int story_render_json(const struct story *s, struct json *out);
