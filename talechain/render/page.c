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

#define PAGE_X(symbol, name, file)                                             \
	__asm__(".pushsection .rodata\n"                                       \
		".global page_" #name "\n"                                     \
		".hidden page_" #name "\n"                                     \
		".global page_" #name "_end\n"                                 \
		".hidden page_" #name "_end\n"                                 \
		"page_" #name ":\n"                                            \
		".incbin \"" PAGE_FOLDER "/" file "\"\n"                       \
		"page_" #name "_end:\n"                                        \
		".byte 0\n"                                                    \
		".popsection\n");                                              \
	extern const char page_##name[] __attribute__((visibility("hidden"))); \
	extern const char page_##name##_end[]                                  \
	    __attribute__((visibility("hidden")));
PAGE_FILES(PAGE_X)
#undef PAGE_X

struct page_file
page_file(enum page_name name)
{
	static const struct {
		const char *begin, *end;
	} file[] = {
#define PAGE_X(symbol, name, file) {page_##name, page_##name##_end},
	    PAGE_FILES(PAGE_X)
#undef PAGE_X
	};

	return (struct page_file){
	    file[name].begin, (size_t)(file[name].end - file[name].begin)};
}
