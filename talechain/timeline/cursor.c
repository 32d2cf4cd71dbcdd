/* cursor.c: the observer's end of one channel.
 *
 * A call reads only the next slot: one load from one cache line while there is
 * nothing new.  head is read only after the reader was overtaken, or when a
 * slot stays half-written.  The channel's memory belongs to another process
 * that may be broken or malicious: its header is judged from one copy, slots
 * are copied before they are used, and no value from it is used as an address
 * or a loop bound.  ring.h has the rules of the ring. */
#include "talechain/timeline/cursor.h"

#include "talechain/timeline/ring.h"

/* How long a slot may stay half-written while its writer goes on. */
#define CURSOR_BUSY_NS NS_PER_MS
/* A call passes at most this many torn or abandoned slots. */
#define CURSOR_TURNS 8

#define CURSOR_WORDS (sizeof(struct talechain_event) / sizeof(uint64_t))

int
talechain_cursor_init(struct talechain_cursor *c,
    const struct talechain_channel *channel, size_t bytes)
{
	struct talechain_channel header;
	uint64_t head, slots;

	if (bytes < TALECHAIN_HEADER_BYTES ||
	    __atomic_load_n(&channel->ready, __ATOMIC_ACQUIRE) != 1)
		return -EPROTO;
	/* Load each once, so that the values checked are those used. */
	header.magic = __atomic_load_n(&channel->magic, __ATOMIC_RELAXED);
	header.abi_major =
	    __atomic_load_n(&channel->abi_major, __ATOMIC_RELAXED);
	header.header_bytes =
	    __atomic_load_n(&channel->header_bytes, __ATOMIC_RELAXED);
	header.slot_bytes =
	    __atomic_load_n(&channel->slot_bytes, __ATOMIC_RELAXED);
	header.slot_log2 =
	    __atomic_load_n(&channel->slot_log2, __ATOMIC_RELAXED);
	head = __atomic_load_n(&channel->head, __ATOMIC_ACQUIRE);
	if (header.magic != TALECHAIN_MAGIC ||
	    header.abi_major != TALECHAIN_ABI_MAJOR ||
	    header.header_bytes != TALECHAIN_HEADER_BYTES ||
	    header.slot_bytes != TALECHAIN_SLOT_BYTES ||
	    header.slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    header.slot_log2 > TALECHAIN_SLOT_LOG2_MAX ||
	    bytes < talechain_bytes(header.slot_log2) || head > RING_JUMP_MAX)
		return -EPROTO;
	slots = UINT64_C(1) << header.slot_log2;
	*c = (struct talechain_cursor){
	    .channel = channel,
	    .slot =
		(const void *)((const char *)channel + TALECHAIN_HEADER_BYTES),
	    .next = head > slots ? head - slots : 0,
	    .lost = head > slots ? head - slots : 0,
	    .mask = slots - 1,
	};
	return 0;
}

/* An impossible value was read; count it once, however often it is read. */
static void
cursor_reject(struct talechain_cursor *c, uint64_t value)
{
	if (c->rejected > 0 && c->refused == value)
		return;
	c->rejected++;
	c->refused = value;
}

/* The next slot is half-written.  Give it up if it has been so for
 * CURSOR_BUSY_NS and head is beyond it (its writer, or a nested one, went on).
 * A writer that was merely preempted in mid-slot delays only its own ring, so
 * wait for it.
 *
 * The order matters: a reader that sees head beyond the next event also sees
 * this one complete, if it ever was.  So the slot is loaded again after head;
 * otherwise a writer that wakes up between the two loads would lose a good
 * event. */
static bool
cursor_abandon(struct talechain_cursor *c, struct instant now)
{
	uint64_t head;

	if (c->busy_since_ns == 0) {
		c->busy_since_ns = now.ns;
		return false;
	}
	if (instant_since(now, (struct instant){c->busy_since_ns}) <=
	    CURSOR_BUSY_NS)
		return false;
	head = __atomic_load_n(&c->channel->head, __ATOMIC_ACQUIRE);
	if (head <= c->next + 1 ||
	    ring_seq(&c->slot[c->next & c->mask]) != 2 * c->next + 1)
		return false;
	c->abandoned++;
	c->next++;
	c->busy_since_ns = 0;
	return true;
}

/* Go on where the ring is safe again after the reader was overtaken.  Returns
 * the number of events lost. */
static uint64_t
cursor_skip(struct talechain_cursor *c, uint64_t seq)
{
	uint64_t head = __atomic_load_n(&c->channel->head, __ATOMIC_ACQUIRE);
	uint64_t next = ring_resume(seq, head, c->mask + 1);
	uint64_t skipped = next - c->next;

	c->lost += skipped;
	c->next = next;
	c->busy_since_ns = 0;
	return skipped;
}

enum talechain_take
talechain_take(struct talechain_cursor *c, struct talechain_event *out,
    uint64_t *lost, struct instant now)
{
	uint64_t words[CURSOR_WORDS], seq;
	const struct talechain_event *slot;

	for (unsigned turn = 0; turn < CURSOR_TURNS; turn++) {
		slot = &c->slot[c->next & c->mask];
		seq = ring_seq(slot);
		switch (ring_judge(seq, c->next, c->mask + 1)) {
		case RING_EMPTY:
			return TALECHAIN_TAKE_NONE;
		case RING_READY:
			if (!ring_copy(words, slot, CURSOR_WORDS, seq)) {
				c->torn++;
				break;
			}
			memcpy(out, words, sizeof(*out));
			c->next++;
			c->taken++;
			c->busy_since_ns = 0;
			return TALECHAIN_TAKE_OK;
		case RING_BUSY:
			if (!cursor_abandon(c, now))
				return TALECHAIN_TAKE_NONE;
			break;
		case RING_LAPPED:
			*lost = cursor_skip(c, seq);
			return TALECHAIN_TAKE_LOST;
		case RING_ABSURD:
			cursor_reject(c, seq);
			return TALECHAIN_TAKE_NONE;
		}
	}
	return TALECHAIN_TAKE_NONE;
}

uint64_t
talechain_cursor_end(struct talechain_cursor *c)
{
	uint64_t head = __atomic_load_n(&c->channel->head, __ATOMIC_ACQUIRE);
	uint64_t left = head - c->next;

	if (head < c->next || left > c->mask + 1) {
		cursor_reject(c, head);
		return 0;
	}
	c->abandoned += left;
	c->next = head;
	return left;
}
