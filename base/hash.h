/*
 * hash.h: a hash of short texts, for tables of our own.
 *
 * FNV-1a, then a finaliser: ids often differ in their last digits only.  Not
 * keyed: whoever can choose the texts can make them meet in one bucket, so
 * buckets are to be bounded by what the table holds.
 */
#ifndef TAILOR_BASE_HASH_H
#define TAILOR_BASE_HASH_H

#include <stdint.h>

/* Any text; "" has a hash, too. */
static inline uint64_t
hash_text(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text != '\0'; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ (h >> 32);
}

#endif
