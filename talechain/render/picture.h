/* picture.h: positions of a story's parts in its picture.  Private.
 *
 * Time runs to the right.  A quiet stretch (no bar begins or ends in it, no
 * arrow touches it) that would take most of the picture is folded: drawn a
 * few pixels wide, so that the rest can be seen; outside the folds the scale
 * is the same everywhere.  Lanes lie below each other; bars of one lane that
 * contain others lie in rows above them. */
#pragma once

#include "talechain/render/render.h"

#define PICTURE_WIDTH 960
#define PICTURE_LEFT 176  /* where time 0 is; lane names stand before it */
#define PICTURE_RIGHT 944 /* where the end is */
#define PICTURE_FOLD 64	  /* width of a fold */
#define PICTURE_FOLDS 4
#define PICTURE_BAR 20	 /* height of a bar */
#define PICTURE_ROW 23	 /* from one row of bars to the next */
#define PICTURE_PAD 7	 /* above the first and below the last row */
#define PICTURE_CURVE 22 /* height of a curve under a lane's bars */
#define PICTURE_ROWS 8	 /* rows of a lane; deeper bars are in the last */
#define PICTURE_TICK 84	 /* at least between two numbers of the axis */

struct picture_fold {
	int64_t begin_ns, end_ns;
};

struct picture_lane {
	double y; /* upper edge; 0: that of the first lane */
	unsigned rows;
	unsigned curves; /* below the rows */
};

struct picture {
	const struct story *story; /* borrowed */
	struct picture_lane *lane; /* owned, as many as the story's */
	unsigned *row;		   /* owned, row of each bar */
	size_t *order;		   /* owned, bars by begin, long first */
	struct picture_fold fold[PICTURE_FOLDS]; /* in order of time */
	unsigned folds;
	double scale;  /* pixels per ns outside the folds */
	double height; /* of all lanes */
};

/* Lay a story out; 0 or -ENOMEM.  O(n log n).  Release with picture_fini. */
int picture_init(struct picture *p, const struct story *s);
void picture_fini(struct picture *p);

/* A moment (clamped to the story's) as a distance from the left edge. */
double picture_x(const struct picture *p, int64_t ns);

/* Upper edge of a curve, which is PICTURE_CURVE - 3 high. */
double picture_curve_y(const struct picture *p, size_t curve);

/* Upper edge of a bar. */
double picture_bar_y(const struct picture *p, size_t bar);

/* Upper edge of what an arrow touches on a lane at a moment: the innermost bar
 * then, else the lane's first row. */
double picture_touch_y(const struct picture *p, unsigned lane, int64_t ns);
/* True if an arrow at a moment on a lane touches a bar. */
bool picture_touches(const struct picture *p, unsigned lane, int64_t ns);

/* Distance of the axis's numbers, ns: 1, 2 or 5 times a power of ten. */
int64_t picture_tick_ns(const struct picture *p);
