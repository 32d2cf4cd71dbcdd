/* drawing.h: the parts of a picture as SVG elements.  Private.
 *
 * Elements carry classes, which page/picture.css styles, and data- attributes,
 * which the page's script reads: it moves these elements instead of making them
 * again.  Attributes of time are ns:
 *   .segment  data-b data-e            .fold   data-b data-e
 *   .bar      data-b data-e data-l data-n, data-y upper edge, data-i index
 *   .curve .point data-b data-e
 *   .label    data-i, of its bar       .arrow  data-b data-e data-y1 data-y2
 * and the svg element has data-total, data-left, data-right. */
#pragma once

#include "talechain/render/markup.h"
#include "talechain/render/picture.h"

#define DRAWING_MARGIN 16
#define DRAWING_CHAR 7.0     /* width of a character of 12 px, with some room */
#define DRAWING_KEY_CHAR 6.5 /* such a character, without extra room */

/* Right edge of lists of words: the script never makes a picture narrower than
 * 640. */
#define DRAWING_LIST_RIGHT 624

struct drawing {
	struct text *x;		 /* borrowed */
	const struct picture *p; /* borrowed */
	double y;		 /* where the next part begins */
	double lanes_y;		 /* where the first lane begins */
};

/* A heading in the column of names, centred at y, with a smaller line below it,
 * or "". */
void
drawing_name(struct drawing *d, const char *name, const char *below, double y);
/* Begin a smaller line in the column of names, so many characters long; it is
 * set narrower if it is too long.  The caller adds its text and "</text>". */
void drawing_note(struct drawing *d, double x, double y, size_t chars);
/* Where the time went: segments to scale, and their sums. */
void drawing_budget(struct drawing *d);
/* The overview: all bars, small, to scale, without folds. */
void drawing_overview(struct drawing *d);
/* Numbers of the axis, lanes with their names, lines of the grid. */
void drawing_lanes(struct drawing *d);
/* Curves of rates, under the lanes' bars. */
void drawing_curves(struct drawing *d);
/* Bars, folds and arrows on the lanes: called in this order, back to front. */
void drawing_bars(struct drawing *d);
void drawing_folds(struct drawing *d);
void drawing_arrows(struct drawing *d);
/* Labels of bars, where there is room for them.  0 or -ENOMEM. */
int drawing_labels(struct drawing *d);
/* The legend of kinds and arrows. */
void drawing_key(struct drawing *d);

/* The whole picture without a heading; 0 or -ENOMEM. */
int drawing_all(struct drawing *d);

/* Patterns and such, once in a picture. */
void drawing_definitions(struct text *x);

/* Everything a story holds as HTML tables; bars in the picture's order. */
void
tables_render(struct text *x, const struct story *s, const struct picture *p);
