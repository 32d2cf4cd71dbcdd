/* codec.h: numbers and texts as bytes, and back.  Private to this room.
 *
 * One function walks the fields of a thing for both directions: what is written
 * and what is read cannot disagree.  The first failure sticks; then each call
 * does nothing, and what it would have read is zero.
 *
 * Every number is a varint (seven bits a byte, lowest first; signed ones
 * zigzag), every text a length and its bytes. */
#pragma once

#include "talechain/explain/story.h"

struct codec {
	bool packing;
	int err;
	uint8_t *out; /* packing: owned by the caller's struct packed */
	const uint8_t *in;
	size_t at, length; /* length: of in, or room in out */
};

void code_u64(struct codec *c, uint64_t *v);
void code_i64(struct codec *c, int64_t *v);

/* Within [min, max], or [0, max]; what is outside is refused when read. */
void code_int(struct codec *c, int *v, int min, int max);
void code_unsigned(struct codec *c, unsigned *v, unsigned max);
void code_bool(struct codec *c, bool *v);

/* Terminated; what does not fit in size is refused when read. */
void code_text(struct codec *c, char *text, size_t size);

/* By its code, for the numbers change from version to version; one that is not
 * known any more is TALE_CAUSE_UNKNOWN. */
void code_cause(struct codec *c, enum tale_cause *cause);
