/*
 * page.h: the parts of the HTML page: the files of page/, as they are in the
 * program, and its tables.  Private.
 *
 * The files are put there at build time, with the base64 of the SHA-256 of each
 * that the page's content security policy lets run.  Not terminated: print
 * them with their length.
 */
#ifndef TAILOR_TALECHAIN_RENDER_PAGE_H
#define TAILOR_TALECHAIN_RENDER_PAGE_H

#include <stddef.h>

struct page_file {
	const char *text;
	size_t length;
};

/* Symbol, name in the assembler, file. */
#define PAGE_FILES(X)                                                \
	X(PICTURE_CSS, picture_css, "picture.css")                   \
	X(TIMELINE_CSS, timeline_css, "timeline.css")                \
	X(PICTURE_JS, picture_js, "picture.js")                      \
	X(TIMELINE_JS, timeline_js, "timeline.js")                   \
	X(TIMELINE_HTML, timeline_html, "timeline.html")             \
	X(PICTURE_CSS_HASH, picture_css_hash, "picture.css.hash")    \
	X(TIMELINE_CSS_HASH, timeline_css_hash, "timeline.css.hash") \
	X(PICTURE_JS_HASH, picture_js_hash, "picture.js.hash")       \
	X(TIMELINE_JS_HASH, timeline_js_hash, "timeline.js.hash")

enum page_name {
#define PAGE_X(symbol, name, file) PAGE_##symbol,
	PAGE_FILES(PAGE_X)
#undef PAGE_X
};

/* One of the files; the text lives as long as the program. */
struct page_file page_file(enum page_name name);

/* Append everything a story holds as tables; bars in the picture's order. */
struct text;
struct story;
struct picture;
void
page_tables(struct text *x, const struct story *s, const struct picture *p);

#endif
