/*
 * sha256.h: SHA-256 (FIPS 180-4) of bytes that come in pieces.
 *
 * For --expect-body-sha256 only: it tells a body from another, it guards no
 * secret.  Plain C, about 5 ns a byte: what is hashed on the sender's thread
 * should be small.  No allocation.
 */
#ifndef TAILOR_LOADGEN_SEND_SHA256_H
#define TAILOR_LOADGEN_SEND_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_BLOCK_BYTES 64

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes taken so far */
	uint8_t block[SHA256_BLOCK_BYTES];
};

/* Begin with nothing. */
void sha256_init(struct sha256 *s);

/* Take n more bytes. */
void sha256_update(struct sha256 *s, const void *bytes, size_t n);

/* The hash of all that was taken; *s is used up. */
void sha256_finish(struct sha256 *s, uint8_t digest[SHA256_BYTES]);

#endif
