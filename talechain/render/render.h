/* render.h: a story as text, JSON, SVG, HTML or a Chrome trace.
 *
 * This room owns how a story looks; what it means is settled before it comes
 * here (explain/story.h), so all renderings show the same facts.  Pure
 * functions from a story to text: no clock, no input or output.  The analysis
 * thread calls them. */
#pragma once

#include "base/json.h"
#include "talechain/explain/story.h"

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
