/*
 * page.c: the files of page/, inside the program.
 *
 * The assembler reads the files; the Makefile copies them, and the hashes it
 * makes, to PAGE_FOLDER in the build directory.
 */
#include "talechain/render/page.h"

#ifndef PAGE_FOLDER
#define PAGE_FOLDER "talechain/render/page" /* for tools that read this file */
#endif

#define PAGE_FILE(symbol, file)                          \
	__asm__(".pushsection .rodata\n"                 \
		".global page_" #symbol "\n"             \
		".hidden page_" #symbol "\n"             \
		".global page_" #symbol "_end\n"         \
		".hidden page_" #symbol "_end\n"         \
		"page_" #symbol ":\n"                    \
		".incbin \"" PAGE_FOLDER "/" file "\"\n" \
		"page_" #symbol "_end:\n"                \
		".byte 0\n"                              \
		".popsection\n");                        \
	extern const char page_##symbol[]                \
	    __attribute__((visibility("hidden")));       \
	extern const char page_##symbol##_end[]          \
	    __attribute__((visibility("hidden")))

PAGE_FILE(picture_css, "picture.css");
PAGE_FILE(timeline_css, "timeline.css");
PAGE_FILE(picture_js, "picture.js");
PAGE_FILE(timeline_js, "timeline.js");
PAGE_FILE(timeline_html, "timeline.html");
PAGE_FILE(picture_css_hash, "picture.css.hash");
PAGE_FILE(timeline_css_hash, "timeline.css.hash");
PAGE_FILE(picture_js_hash, "picture.js.hash");
PAGE_FILE(timeline_js_hash, "timeline.js.hash");

struct page_file
page_file(enum page_name name)
{
	static const struct {
		const char *begin, *end;
	} file[] = {
	    [PAGE_PICTURE_CSS] = {page_picture_css, page_picture_css_end},
	    [PAGE_TIMELINE_CSS] = {page_timeline_css, page_timeline_css_end},
	    [PAGE_PICTURE_JS] = {page_picture_js, page_picture_js_end},
	    [PAGE_TIMELINE_JS] = {page_timeline_js, page_timeline_js_end},
	    [PAGE_TIMELINE_HTML] = {page_timeline_html, page_timeline_html_end},
	    [PAGE_PICTURE_CSS_HASH] = {page_picture_css_hash,
		page_picture_css_hash_end},
	    [PAGE_TIMELINE_CSS_HASH] = {page_timeline_css_hash,
		page_timeline_css_hash_end},
	    [PAGE_PICTURE_JS_HASH] = {page_picture_js_hash,
		page_picture_js_hash_end},
	    [PAGE_TIMELINE_JS_HASH] = {page_timeline_js_hash,
		page_timeline_js_hash_end},
	};

	return (struct page_file){
	    file[name].begin, (size_t)(file[name].end - file[name].begin)};
}
