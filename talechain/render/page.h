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

enum page_name {
	PAGE_PICTURE_CSS, /* of the picture, alone or in a page */
	PAGE_TIMELINE_CSS,
	PAGE_PICTURE_JS,
	PAGE_TIMELINE_JS,
	PAGE_TIMELINE_HTML, /* with @NAME@ where something is to be put */
	PAGE_PICTURE_CSS_HASH,
	PAGE_TIMELINE_CSS_HASH,
	PAGE_PICTURE_JS_HASH,
	PAGE_TIMELINE_JS_HASH,
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
