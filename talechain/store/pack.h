/* pack.h: a tale as bytes, and back.
 *
 * Every number is a varint (seven bits a byte, lowest first; signed ones
 * zigzag), every text a length and its bytes, every event a difference to the
 * one before: about a third of what it takes in memory.  The bytes say which
 * version they are; another one is refused.
 *
 * Reading is of hostile input: whatever the bytes are, it ends, stays inside
 * them and gives a tale that slicing could have given, or an error.  Private
 * to this room. */
#pragma once

#include "talechain/store/store.h"

struct packed {
	uint8_t *at; /* owned; free() it */
	size_t length;
};

/* Pack a tale.  Returns 0 or -ENOMEM; out->at is owned by the caller either
 * way. */
int tale_pack(struct packed *out, const struct tale *t);

/* *out receives the tale, for tale_free; its times, ids and texts are in range.
 * Returns 0, -ENOMEM, or -EPROTO: not a packed tale of this version. */
int tale_unpack(struct tale **out, const uint8_t *bytes, size_t length);
