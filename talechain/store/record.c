#include "talechain/store/record.h"

#include <string.h>

/* The reversed polynomial's table for half a byte. */
static const uint32_t nibble[16] = {0x00000000, 0x105ec76f, 0x20bd8ede,
    0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78,
    0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a,
    0xf36e6f75};

uint32_t
crc32c(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t crc = UINT32_MAX;

	for (; length > 0; length--, at++) {
		crc ^= *at;
		crc = (crc >> 4) ^ nibble[crc & 15];
		crc = (crc >> 4) ^ nibble[crc & 15];
	}
	return ~crc;
}

#define CRC_FROM offsetof(struct record_header, bytes)

void
record_seal(struct record_header *h, uint32_t bytes, uint32_t packed)
{
	h->magic = RECORD_MAGIC;
	h->bytes = bytes;
	h->packed = packed;
	h->crc = crc32c((const uint8_t *)h + CRC_FROM, bytes - CRC_FROM);
}

_Bool
record_at(const uint8_t *bytes, size_t length, struct record_header *h)
{
	if (length < sizeof(*h))
		return 0;
	memcpy(h, bytes, sizeof(*h));
	return h->magic == RECORD_MAGIC && h->bytes <= length &&
	       h->bytes >= sizeof(*h) && h->bytes % 8 == 0 &&
	       h->packed <= h->bytes - sizeof(*h) &&
	       h->crc == crc32c(bytes + CRC_FROM, h->bytes - CRC_FROM);
}
