/*
 * story_check.h: what must hold of every story, whatever it was made of.
 */
#pragma once

#include <string.h>

#include "talechain/render/render.h"
#include "tests/fuzz/check.h"

/* Bars of one lane are apart, or one holds the other. */
static inline void
story_bars_check(const struct story *s)
{
	const struct story_bar *a, *b;

	check(s->bars <= STORY_BARS_MAX, "bars");
	for (size_t i = 0; i < s->bars; i++) {
		a = &s->bar[i];
		check(a->begin_ns >= 0 && a->begin_ns < a->end_ns &&
			  a->end_ns <= s->total_ns && a->lane < s->lanes,
		    "bar");
		for (size_t k = i + 1; k < s->bars; k++) {
			b = &s->bar[k];
			if (b->lane != a->lane)
				break;
			check(b->begin_ns >= a->end_ns ||
				  (b->begin_ns >= a->begin_ns &&
				      b->end_ns <= a->end_ns),
			    "bars overlap");
		}
	}
}

/* A curve's points are in order, within the request. */
static inline void
story_curves_check(const struct story *s)
{
	check(s->curves <= STORY_SERIES_MAX, "curves");
	for (size_t i = 0; i < s->curves; i++) {
		const struct story_series *x = &s->series[i];
		int64_t at = 0;

		check(x->points > 0 && x->lane < s->lanes, "curve");
		for (size_t k = 0; k < x->points; k++) {
			const struct story_point *v = &x->point[k];

			check(v->begin_ns >= at && v->begin_ns < v->end_ns &&
				  v->end_ns <= s->total_ns &&
				  v->value <= x->most,
			    "point");
			at = v->end_ns;
		}
	}
}

/* Segments tile the request's time; everything lies within it. */
static inline void
story_check(const struct story *s)
{
	int64_t at = 0, sum = 0;

	for (size_t i = 0; i < s->segments; i++) {
		const struct story_segment *g = &s->segment[i];

		check(g->begin_ns == at && g->end_ns > at, "tiles");
		check(g->lane < s->lanes, "lane of a segment");
		check(memchr(g->who, '\0', sizeof(g->who)) != NULL, "who");
		at = g->end_ns;
	}
	for (size_t i = 0; i < TALE_CAUSE_COUNT; i++)
		sum += s->cause_ns[i];
	check(at == s->total_ns && sum == at, "sums");
	check(s->coverage >= 0 && s->coverage <= s->known && s->known <= 1,
	    "coverage");
	story_bars_check(s);
	story_curves_check(s);
	check(s->arrows <= STORY_ARROWS_MAX, "arrows");
	for (size_t i = 0; i < s->arrows; i++) {
		const struct story_arrow *a = &s->arrow[i];

		check(a->from_lane < s->lanes && a->to_lane < s->lanes &&
			  a->from_ns >= 0 && a->from_ns <= a->to_ns &&
			  a->to_ns <= s->total_ns,
		    "arrow");
	}
}

/* Every rendering ends. */
static inline void
story_render_check(const struct story *s)
{
	static int (*const render[])(
	    const struct story *, char **, size_t *) = {story_render_text,
	    story_render_svg, story_render_html, story_render_chrome};
	struct json j;
	char *text;
	size_t n;

	for (size_t i = 0; i < sizeof(render) / sizeof(render[0]); i++) {
		check(render[i](s, &text, &n) == 0 && strlen(text) == n,
		    "rendering");
		free(text);
	}
	json_init(&j, false);
	check(story_render_json(s, &j) == 0, "JSON");
	json_fini(&j);
}
