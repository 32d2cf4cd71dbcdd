/* embed.h: embeds a file of the build directory in the program. */
#pragma once

#ifndef EMBED_FOLDER
#define EMBED_FOLDER "" /* for static analysis */
#endif

/* Use it at file scope: name[] to name_end[] are the bytes of
 * EMBED_FOLDER/file, aligned to 16, with a 0 after them.  A line in the
 * Makefile must make the object depend on the file. */
#define EMBED(name, file)                                                 \
	extern const char name[], name##_end[];                           \
	__asm__(".pushsection .rodata\n"                                  \
		".balign 16\n"                                            \
		".globl " #name ", " #name "_end\n"                       \
		".hidden " #name ", " #name "_end\n" #name ":\n"          \
		".incbin \"" EMBED_FOLDER "/" file "\"\n" #name "_end:\n" \
		".byte 0\n"                                               \
		".popsection\n")
