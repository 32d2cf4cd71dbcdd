/* plot.h: charts as SVG (a frame, two axes, curves and dots), and their pages.
 *
 * Static: no script, no font, no external resource; colours follow the reader's
 * light or dark setting.  Three scales: linear, logarithmic, and tail, on which
 * 90 %, 99 % and 99.9 % are equally far apart. */
#pragma once

#include <stdio.h>

enum plot_scale {
	PLOT_LINEAR,
	PLOT_LOG,
	PLOT_TAIL, /* a fraction, 0 <= q < 1, drawn at -log10(1 - q) */
};

struct plot_axis {
	enum plot_scale scale;
	double low;  /* > 0 if logarithmic */
	double high; /* > low */
	const char *label;
};

struct plot {
	FILE *out; /* borrowed */
	struct plot_axis x;
	struct plot_axis y;
};

/* Draw the frame, axes and grid; title is plain text. */
void plot_begin(struct plot *p, const char *title, const char *summary);
void plot_end(struct plot *p);

/* The position of a value, in units of the picture; clamped to the frame. */
double plot_x(const struct plot *p, double value);
double plot_y(const struct plot *p, double value);

/* Return the step of an axis: 1, 2 or 5 times a power of ten, not below
 * least > 0. */
double plot_step(double least);

/* Drawing.  class is a CSS class of the plotter: line, line2, line3, dot, dot2,
 * dot3, theirs (figures of others). */
struct plot_point {
	double x, y;
};

/* A line through points, n > 0. */
void plot_line(struct plot *p, const char *class,
    const struct plot_point *point, size_t n);

/* Write the legend of a class, in row 0, 1, ... of the upper right corner; with
 * PLOT_TAIL, whose curves end at the right, of the upper left corner. */
void
plot_legend(struct plot *p, unsigned row, const char *class, const char *text);

/* Write a sentence below the picture, at the left. */
void plot_note(struct plot *p, const char *text);

/* The inner frame: left, right, top and bottom. */
#define PLOT_LEFT 70
#define PLOT_RIGHT 940
#define PLOT_TOP 36
#define PLOT_BOTTOM 290

/* Print the parts of a self-contained page before and after its body.  title is
 * plain text. */
void plot_page_begin(FILE *out, const char *title);
void plot_page_end(FILE *out);

/* Write text with &, <, >, " and ' as entities. */
void plot_escape(FILE *out, const char *text);
