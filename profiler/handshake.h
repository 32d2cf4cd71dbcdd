/*
 * handshake.h: the line with which a writer requests a channel.
 *
 *	TALECHAIN 1 <kind> <slot_log2> <tid> <name>\n
 *
 * A pure function over bytes from outside: exactly one space between fields,
 * decimal numbers without sign or leading zero, a name of [A-Za-z0-9._-].
 */
#ifndef TAILOR_PROFILER_HANDSHAKE_H
#define TAILOR_PROFILER_HANDSHAKE_H

#include <stddef.h>
#include <stdint.h>

#include "talechain/talechain.h"

#define HANDSHAKE_BYTES 128 /* a longer first line is refused */

struct handshake {
	enum talechain_kind kind;
	unsigned slot_log2;
	uint32_t tid;
	char name[TALECHAIN_NAME_BYTES]; /* terminated */
};

/* Read the line.  Returns 0; -EAGAIN when the line is not complete and may
 * still become one; -EPROTO with *why set to a short static reason. */
int handshake_parse(
    struct handshake *out, const char *text, size_t length, const char **why);

#endif
