/* record.h: records in a file of the store.  Private to this room.
 *
 *  0      4       8               16                          56     64
 *  +------+-------+---------------+---------------------------+------+
 *  | TLST |version| created, wall | boot id as text, "" if    | zero |
 *  | u32  | u32   | clock, i64 ns | not known; 40 bytes       | u64  |
 *  +------+-------+---------------+---------------------------+------+
 *
 *  one header, then records, each a multiple of 8 bytes:
 *  +------+------+-------+--------+-----------------+
 *  | TALE | crc  | bytes | packed | a packed tale   |
 *  | u32  | u32  | u32   | u32    | and zeros       |
 *  +------+------+-------+--------+-----------------+
 *  0      4      8       12       16
 *
 * crc is CRC-32C of the record from byte 8 on.  bytes is the whole record,
 * packed what of it is the tale; the rest is zero.  A file of accounts has
 * blocks of them in place of tales.  Numbers are in the
 * machine's byte order (on another one the magic does not match). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define STORE_MAGIC UINT32_C(0x54534c54)  /* "TLST" in memory */
#define RECORD_MAGIC UINT32_C(0x454c4154) /* "TALE" in memory */
#define STORE_VERSION 1

struct store_header {
	uint32_t magic;
	uint32_t version;
	int64_t created_wall_ns;
	char boot_id[40]; /* text, terminated; "" not known */
	uint64_t zero;
};
_Static_assert(sizeof(struct store_header) == 64, "store header");

struct record_header {
	uint32_t magic;
	uint32_t crc;
	uint32_t bytes;
	uint32_t packed;
};
_Static_assert(sizeof(struct record_header) == 16, "record header");

/* CRC-32C (Castagnoli).  About 2 ns a byte. */
uint32_t crc32c(const void *bytes, size_t length);

/* Fill in the header of a record whose packed tale stands behind it;
 * bytes is a multiple of 8 and the padding is zero. */
void record_seal(struct record_header *h, uint32_t bytes, uint32_t packed);

/* Whether a good record begins at bytes, of which length are there; *h is a
 * copy of its header. */
_Bool record_at(const uint8_t *bytes, size_t length, struct record_header *h);
