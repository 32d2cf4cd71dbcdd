#include "base/plot.h"

#include <math.h>
#include <stdbool.h>

#include "base/embed.h"
#include "base/text.h"

#define WIDTH 960
#define HEIGHT 340
#define LEGEND_WIDTH 330
#define TICKS_MOST 10 /* of a linear axis */

/* Dots, bands and lines also differ in shape, not only in colour.  No custom
 * properties: printers and converters of SVG do not support them. */
EMBED(plot_css, "base/page/plot.css");
EMBED(report_html, "base/page/report.html");

/* Print the page from there to the next blank, "{{".  Returns the text behind
 * the blank, or NULL. */
static const char *
page_part(FILE *out, const char *from)
{
	const char *blank = strstr(from, "{{");

	fwrite(from, 1, blank != NULL ? (size_t)(blank - from) : strlen(from),
	    out);
	return blank != NULL ? strstr(blank, "}}") + 2 : NULL;
}

void
plot_page_begin(FILE *out, const char *title)
{
	const char *rest = page_part(out, report_html);

	plot_escape(out, title);
	(void)page_part(out, rest);
}

void
plot_page_end(FILE *out)
{
	(void)page_part(out, strstr(report_html, "{{BODY}}") + 8);
}

void
plot_escape(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		const char *entity = xml_entity(*text);
		unsigned char c = (unsigned char)*text;

		if (entity != NULL)
			fputs(entity, out);
		else /* XML forbids control characters. */
			fputc(c < ' ' || c == 0x7f ? ' ' : c, out);
	}
}

static double
scaled(const struct plot_axis *a, double value)
{
	switch (a->scale) {
	case PLOT_LINEAR:
		return value;
	case PLOT_LOG:
		return log10(value > a->low ? value : a->low);
	case PLOT_TAIL:
		return -log10(1 - (value < a->high ? value : a->high));
	}
	return 0;
}

/* Return the position of a value on an axis: 0 at the low end, 1 at the high
 * end. */
static double
part(const struct plot_axis *a, double value)
{
	double low = scaled(a, a->low);
	double p = (scaled(a, value) - low) / (scaled(a, a->high) - low);

	return p < 0 ? 0 : p > 1 ? 1 : p;
}

double
plot_x(const struct plot *p, double value)
{
	return PLOT_LEFT + part(&p->x, value) * (PLOT_RIGHT - PLOT_LEFT);
}

double
plot_y(const struct plot *p, double value)
{
	return PLOT_BOTTOM - part(&p->y, value) * (PLOT_BOTTOM - PLOT_TOP);
}

static void
tick(const struct plot *p, bool horizontal, double at, const char *label)
{
	/* A long number at the right edge must not be cut. */
	const bool edge = at > PLOT_RIGHT - 1 && strlen(label) > 3;

	if (horizontal)
		fprintf(p->out,
		    "<path class=\"grid\" d=\"M%.1f %dV%d\"/>"
		    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s"
		    "</text>\n",
		    at, PLOT_TOP, PLOT_BOTTOM, edge ? WIDTH - 4.0 : at,
		    PLOT_BOTTOM + 16, edge ? "end" : "middle", label);
	else
		fprintf(p->out,
		    "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
		    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s"
		    "</text>\n",
		    PLOT_LEFT, at, PLOT_RIGHT, PLOT_LEFT - 6, at + 4, label);
}

static void
tick_value(const struct plot *p, bool horizontal, double value)
{
	const struct plot_axis *a = horizontal ? &p->x : &p->y;
	double at = horizontal ? plot_x(p, value) : plot_y(p, value);
	char label[32];

	if (value < a->low * 0.999999 || value > a->high * 1.000001)
		return;
	snprintf(label, sizeof(label), "%.6g", value);
	tick(p, horizontal, at, label);
}

double
plot_step(double least)
{
	double power = pow(10, floor(log10(least)));

	if (least <= power)
		return power;
	if (least <= 2 * power)
		return 2 * power;
	return least <= 5 * power ? 5 * power : 10 * power;
}

static void
draw_log_ticks(const struct plot *p, bool horizontal)
{
	const struct plot_axis *a = horizontal ? &p->x : &p->y;
	int first = (int)floor(log10(a->low));
	int last = (int)floor(log10(a->high));

	for (int exponent = first; exponent <= last; exponent++) {
		double power = pow(10, exponent);
		tick_value(p, horizontal, power);
		if (last - first < 4) {
			tick_value(p, horizontal, 2 * power);
			tick_value(p, horizontal, 5 * power);
		}
	}
}

static void
draw_tail_ticks(const struct plot *p, bool horizontal)
{
	const struct plot_axis *a = horizontal ? &p->x : &p->y;
	int nines = (int)floor(-log10(1 - a->high));
	char label[32];

	tick(p, horizontal, plot_y(p, 0), "0");
	tick(p, horizontal, plot_y(p, 0.5), "50%");
	for (int n = 1; n <= nines; n++) {
		double q = 1 - pow(10, -n);
		snprintf(label, sizeof(label), "%.9g%%", 100 * q);
		tick(p, horizontal, plot_y(p, q), label);
	}
}

static void
draw_ticks(const struct plot *p, bool horizontal)
{
	const struct plot_axis *a = horizontal ? &p->x : &p->y;
	double step;
	int first, last;

	switch (a->scale) {
	case PLOT_LINEAR:
		step = plot_step((a->high - a->low) / TICKS_MOST);
		first = (int)ceil(a->low / step);
		last = (int)floor(a->high / step);
		for (int n = first; n <= last; n++)
			tick_value(p, horizontal, n * step);
		break;
	case PLOT_LOG:
		draw_log_ticks(p, horizontal);
		break;
	case PLOT_TAIL:
		draw_tail_ticks(p, horizontal);
		break;
	}
}

void
plot_begin(struct plot *p, const char *title, const char *summary)
{
	fprintf(p->out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
	    "role=\"img\">\n<style>%s</style>\n<title>",
	    WIDTH, HEIGHT, plot_css);
	plot_escape(p->out, title);
	fputs("</title>\n<desc>", p->out);
	plot_escape(p->out, summary);
	fprintf(p->out,
	    "</desc>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n"
	    "<text class=\"title\" x=\"%d\" y=\"22\">",
	    WIDTH, HEIGHT, PLOT_LEFT);
	plot_escape(p->out, title);
	fputs("</text>\n", p->out);
	draw_ticks(p, true);
	draw_ticks(p, false);
	fprintf(p->out,
	    "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" "
	    "height=\"%d\"/>\n<text x=\"%d\" y=\"%d\" "
	    "text-anchor=\"end\">%s</text>\n<text transform=\"translate(16 "
	    "%d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
	    PLOT_LEFT, PLOT_TOP, PLOT_RIGHT - PLOT_LEFT, PLOT_BOTTOM - PLOT_TOP,
	    PLOT_RIGHT, PLOT_BOTTOM + 34, p->x.label,
	    (PLOT_TOP + PLOT_BOTTOM) / 2, p->y.label);
}

void
plot_end(struct plot *p)
{
	fputs("</svg>\n", p->out);
}

void
plot_line(
    struct plot *p, const char *class, const struct plot_point *point, size_t n)
{
	fprintf(p->out, "<path class=\"%s\" d=\"", class);
	for (size_t i = 0; i < n; i++)
		fprintf(p->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L',
		    plot_x(p, point[i].x), plot_y(p, point[i].y));
	fputs("\"/>\n", p->out);
}

void
plot_note(struct plot *p, const char *text)
{
	fprintf(
	    p->out, "<text x=\"%d\" y=\"%d\">", PLOT_LEFT, PLOT_BOTTOM + 34);
	plot_escape(p->out, text);
	fputs("</text>\n", p->out);
}

void
plot_legend(struct plot *p, unsigned row, const char *class, const char *text)
{
	double y = PLOT_TOP + 18 + 17.0 * row;
	int x = p->y.scale == PLOT_TAIL ? PLOT_LEFT + 16
					: PLOT_RIGHT - LEGEND_WIDTH;

	fprintf(p->out,
	    "<path class=\"%s\" d=\"M%d %.1fh28\"/>\n<text x=\"%d\" "
	    "y=\"%.1f\">",
	    class, x, y, x + 36, y + 4);
	plot_escape(p->out, text);
	fputs("</text>\n", p->out);
}
