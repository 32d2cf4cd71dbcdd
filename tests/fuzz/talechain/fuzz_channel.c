/*
 * Goal: no bytes in a channel make the observer's cursor read outside it,
 * loop, or lose count.
 *
 * The input is the header's beginning, then writes into the ring between
 * takes: a byte that chooses what to spoil, and eight of a value.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/timeline/cursor.h"

#define LOG2 6
#define HEAD_BYTES 24 /* magic .. kind */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
spoil(struct talechain_channel *channel, const struct talechain_cursor *c,
    uint8_t what, uint64_t value)
{
	struct talechain_event *slot = talechain_slots(channel);
	uint64_t *words = (uint64_t *)(void *)slot;

	switch (what & 3) {
	case 0:
		words[value % (8u << LOG2)] = value >> 9;
		break;
	case 1: /* the slot it will look at, near the truth */
		slot[c->next & c->mask].seq =
		    2 * c->next + (value & 3) + 2 * (value >> 2 << LOG2);
		break;
	case 2:
		channel->head = value;
		break;
	case 3:
		channel->head = c->next + (value & 255);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t bytes = talechain_bytes(LOG2);
	struct talechain_channel *channel;
	struct talechain_cursor c;
	struct talechain_event e;
	struct instant now = {1};
	uint64_t lost, value, before, skipped;

	if (size < HEAD_BYTES)
		return 0;
	/* Exactly as large as it says, so that ASan sees a step beyond. */
	channel = aligned_alloc(64, bytes);
	assert(channel != NULL);
	memset(channel, 0, bytes);
	talechain_init(channel, LOG2, TALECHAIN_KIND_APP, "fuzz", 1, 1, 1);
	if (data[0] & 1)
		memcpy(channel, data, HEAD_BYTES);
	data += HEAD_BYTES;
	size -= HEAD_BYTES;
	if (talechain_cursor_init(&c, channel, bytes) < 0)
		goto free_channel;
	for (; size >= 9; data += 9, size -= 9) {
		memcpy(&value, data + 1, 8);
		spoil(channel, &c, data[0], value);
		now.ns += (uint64_t)(data[0] >> 2) * 100000;
		before = c.next;
		skipped = c.lost;
		if (talechain_take(&c, &e, &lost, now) == TALECHAIN_TAKE_LOST)
			assert(c.lost == skipped + lost);
		assert(c.next >= before);
		assert(c.taken + c.lost + c.abandoned == c.next);
		if (data[0] == 0xff)
			talechain_cursor_end(&c);
	}

free_channel:
	free(channel);
	return 0;
}
