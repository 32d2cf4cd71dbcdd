/* embed.h: a file of the build directory as part of the program. */
#pragma once

#ifndef EMBED_FOLDER
#define EMBED_FOLDER "" /* for static analysis */
#endif

/* At file scope: the bytes of EMBED_FOLDER/file are name[] to name_end[],
 * aligned to 16, with a 0 after them.  The object depends on the file by a
 * line in the Makefile. */
#define EMBED(name, file)                                                 \
	extern const char name[], name##_end[];                           \
	__asm__(".pushsection .rodata\n"                                  \
		".balign 16\n"                                            \
		".globl " #name ", " #name "_end\n"                       \
		".hidden " #name ", " #name "_end\n" #name ":\n"          \
		".incbin \"" EMBED_FOLDER "/" file "\"\n" #name "_end:\n" \
		".byte 0\n"                                               \
		".popsection\n")
