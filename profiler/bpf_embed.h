/*
 * bpf_embed.h: a compiled BPF object as part of the program.
 *
 * The path is a string literal from the Makefile; in builds for static analysis
 * it is empty, and so is the object.  Private to this folder.
 */
#ifndef TAILOR_PROFILER_BPF_EMBED_H
#define TAILOR_PROFILER_BPF_EMBED_H

/* name[] to name_end[], at file scope. */
#define BPF_EMBED(name, path)                                   \
	extern const char name[], name##_end[];                 \
	__asm__(".pushsection .rodata\n"                        \
		".balign 16\n"                                  \
		".globl " #name ", " #name "_end\n" #name ":\n" \
		".incbin \"" path "\"\n" #name "_end:\n"        \
		".byte 0\n"                                     \
		".popsection\n")

#endif
