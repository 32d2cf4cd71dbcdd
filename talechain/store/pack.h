/* pack.h: a tale as bytes, and back.
 *
 * Every number is a varint (seven bits a byte, lowest first; signed ones
 * zigzag), every text a length and its bytes, every event a difference to the
 * one before: a third of the tale's size in memory.  The bytes begin with a
 * version; other versions are refused.
 *
 * Unpacking is safe on hostile input: whatever the bytes are, it ends, reads
 * only inside them, and returns an error or a tale that slicing could have
 * made.  Private to this folder. */
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
