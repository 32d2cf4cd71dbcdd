/* hash.h: a hash of short texts, for hash tables.
 *
 * FNV-1a, then a finaliser, because ids often differ only in their last digits.
 * Not keyed: a client that chooses the texts can cause collisions, so the
 * length of a bucket must be bounded. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The hash of a number; no two numbers have the same. */
static inline uint64_t
hash_number(uint64_t h)
{
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ (h >> 32);
}

/* The hash of n bytes. */
static inline uint64_t
hash_bytes(const char *bytes, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
	return hash_number(h);
}

/* The hash of a text without its terminator; "" is valid. */
static inline uint64_t
hash_text(const char *text)
{
	return hash_bytes(text, strlen(text));
}
