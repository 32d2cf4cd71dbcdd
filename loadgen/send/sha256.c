/*
 * sha256.c: see sha256.h.  Names are those of FIPS 180-4.
 */
#include "loadgen/send/sha256.h"

#include <string.h>

/* Cube roots of the first 64 primes, 32 bits of their fractions. */
static const uint32_t round_constant[64] = {
    0x428a2f98,
    0x71374491,
    0xb5c0fbcf,
    0xe9b5dba5,
    0x3956c25b,
    0x59f111f1,
    0x923f82a4,
    0xab1c5ed5,
    0xd807aa98,
    0x12835b01,
    0x243185be,
    0x550c7dc3,
    0x72be5d74,
    0x80deb1fe,
    0x9bdc06a7,
    0xc19bf174,
    0xe49b69c1,
    0xefbe4786,
    0x0fc19dc6,
    0x240ca1cc,
    0x2de92c6f,
    0x4a7484aa,
    0x5cb0a9dc,
    0x76f988da,
    0x983e5152,
    0xa831c66d,
    0xb00327c8,
    0xbf597fc7,
    0xc6e00bf3,
    0xd5a79147,
    0x06ca6351,
    0x14292967,
    0x27b70a85,
    0x2e1b2138,
    0x4d2c6dfc,
    0x53380d13,
    0x650a7354,
    0x766a0abb,
    0x81c2c92e,
    0x92722c85,
    0xa2bfe8a1,
    0xa81a664b,
    0xc24b8b70,
    0xc76c51a3,
    0xd192e819,
    0xd6990624,
    0xf40e3585,
    0x106aa070,
    0x19a4c116,
    0x1e376c08,
    0x2748774c,
    0x34b0bcb5,
    0x391c0cb3,
    0x4ed8aa4a,
    0x5b9cca4f,
    0x682e6ff3,
    0x748f82ee,
    0x78a5636f,
    0x84c87814,
    0x8cc70208,
    0x90befffa,
    0xa4506ceb,
    0xbef9a3f7,
    0xc67178f2,
};

/* The same of the square roots of the first 8. */
static const uint32_t first_state[8] = {
    0x6a09e667,
    0xbb67ae85,
    0x3c6ef372,
    0xa54ff53a,
    0x510e527f,
    0x9b05688c,
    0x1f83d9ab,
    0x5be0cd19,
};

static uint32_t
rotate_right(uint32_t x, int k)
{
	return x >> k | x << (32 - k);
}

static uint32_t
load_be32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

static void
store_be32(uint8_t *b, uint32_t x)
{
	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(x >> (24 - 8 * i));
}

static void
expand(uint32_t w[64], const uint8_t block[SHA256_BLOCK_BYTES])
{
	for (size_t t = 0; t < 16; t++)
		w[t] = load_be32(block + 4 * t);
	for (size_t t = 16; t < 64; t++) {
		uint32_t a = w[t - 15];
		uint32_t b = w[t - 2];
		uint32_t s0 = rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3;
		uint32_t s1 =
		    rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10;
		w[t] = w[t - 16] + s0 + w[t - 7] + s1;
	}
}

static void
compress(uint32_t state[8], const uint8_t block[SHA256_BLOCK_BYTES])
{
	uint32_t w[64];
	uint32_t v[8]; /* a to h */

	expand(w, block);
	memcpy(v, state, sizeof(v));
	for (size_t t = 0; t < 64; t++) {
		uint32_t sum1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^
				rotate_right(v[4], 25);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + sum1 + choice + round_constant[t] + w[t];
		uint32_t sum0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^
				rotate_right(v[0], 22);
		uint32_t majority =
		    (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + sum0 + majority;
	}
	for (size_t i = 0; i < 8; i++)
		state[i] += v[i];
}

void
sha256_init(struct sha256 *s)
{
	memcpy(s->state, first_state, sizeof(s->state));
	s->length = 0;
}

void
sha256_update(struct sha256 *s, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;

	while (n > 0) {
		size_t have = s->length % SHA256_BLOCK_BYTES;
		size_t part = SHA256_BLOCK_BYTES - have;
		if (part > n)
			part = n;
		memcpy(s->block + have, from, part);
		s->length += part;
		from += part;
		n -= part;
		if (have + part == SHA256_BLOCK_BYTES)
			compress(s->state, s->block);
	}
}

void
sha256_finish(struct sha256 *s, uint8_t digest[SHA256_BYTES])
{
	static const uint8_t zeros[SHA256_BLOCK_BYTES];
	static const uint8_t one = 0x80;
	uint8_t bits[8];
	const size_t length_at = SHA256_BLOCK_BYTES - sizeof(bits);

	store_be32(bits, (uint32_t)(s->length >> 29));
	store_be32(bits + 4, (uint32_t)(s->length << 3));
	sha256_update(s, &one, 1);
	size_t have = s->length % SHA256_BLOCK_BYTES;
	size_t fill = have <= length_at ? length_at - have
					: SHA256_BLOCK_BYTES - have + length_at;
	sha256_update(s, zeros, fill);
	sha256_update(s, bits, sizeof(bits));
	for (size_t i = 0; i < 8; i++)
		store_be32(digest + 4 * i, s->state[i]);
}
