/* hazard_ring.c: posting, waking and taking.
 *
 * Why no wake-up is lost: the reader stores armed, then loads tail; the writer
 * stores tail, then loads armed; all four are sequentially consistent.  At
 * least one of them sees the other's store: either the reader finds the record
 * or the writer wakes it.
 *
 * The reader never disarms, so an unarmed ring means that the writer has
 * disarmed it, which it announces in wakes: "drained == wakes" is all that the
 * quick path must check besides the ring itself. */
#include "profiler/channels/hazard_ring.h"

#include <sys/eventfd.h>

int
hazard_ring_init(struct hazard_ring *r)
{
	memset(r, 0, sizeof(*r));
	r->armed = 1;
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return r->fd < 0 ? -errno : 0;
}

void
hazard_ring_fini(struct hazard_ring *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static void
ring_wake(struct hazard_ring *r)
{
	if (__atomic_load_n(&r->armed, __ATOMIC_SEQ_CST) == 0 ||
	    __atomic_exchange_n(&r->armed, 0, __ATOMIC_SEQ_CST) == 0)
		return;
	__atomic_store_n(&r->wakes, r->wakes + 1, __ATOMIC_RELEASE);
	eventfd_write(r->fd, 1);
}

bool
hazard_ring_post(struct hazard_ring *r, const struct hazard *h)
{
	uint64_t tail = r->tail;
	uint32_t bit = UINT32_C(1) << h->kind;
	uint32_t level = r->level[h->server];
	bool fits;

	level = h->begin ? level | bit : level & ~bit;
	__atomic_store_n(
	    &r->since_ns[h->server][h->kind], h->at.ns, __ATOMIC_RELAXED);
	__atomic_store_n(&r->level[h->server], level, __ATOMIC_RELEASE);
	fits = tail - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) <
	       HAZARD_RING_SLOTS;
	if (fits) {
		r->slot[tail % HAZARD_RING_SLOTS] = *h;
		__atomic_store_n(&r->tail, tail + 1, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&r->lost, r->lost + 1, __ATOMIC_SEQ_CST);
	}
	ring_wake(r);
	return fits;
}

/* Take a record from the ring, skipping changes already delivered.  False: the
 * ring is empty. */
static bool
ring_pop(struct hazard_ring *r, struct hazard *out)
{
	uint64_t head = r->head;
	uint32_t bit, delivered;

	while (head != __atomic_load_n(&r->tail, __ATOMIC_SEQ_CST)) {
		*out = r->slot[head % HAZARD_RING_SLOTS];
		__atomic_store_n(&r->head, ++head, __ATOMIC_RELEASE);
		bit = UINT32_C(1) << out->kind;
		delivered = r->delivered[out->server];
		if (((delivered & bit) != 0) == (out->begin != 0))
			continue; /* already delivered from level */
		r->delivered[out->server] = delivered ^ bit;
		return true;
	}
	return false;
}

/* After losses, store one difference between level and delivered in *out.
 * False: there is none. */
static bool
ring_make_up(struct hazard_ring *r, struct hazard *out)
{
	uint32_t differ, kind;

	for (unsigned s = 0; s < PROFILER_SERVERS; s++) {
		differ = __atomic_load_n(&r->level[s], __ATOMIC_ACQUIRE) ^
			 r->delivered[s];
		if (differ == 0)
			continue;
		kind = (uint32_t)__builtin_ctz(differ);
		r->delivered[s] ^= UINT32_C(1) << kind;
		memset(out, 0, sizeof(*out));
		out->server = (uint8_t)s;
		out->kind = (uint8_t)kind;
		out->begin = (r->delivered[s] >> kind) & 1;
		out->at.ns =
		    __atomic_load_n(&r->since_ns[s][kind], __ATOMIC_RELAXED);
		out->seen = instant_now();
		return true;
	}
	return false;
}

static bool
ring_take_slow(struct hazard_ring *r, struct hazard *out)
{
	eventfd_t count;
	uint64_t lost;

	if (r->drained != __atomic_load_n(&r->wakes, __ATOMIC_ACQUIRE) &&
	    eventfd_read(r->fd, &count) == 0)
		r->drained += count;
	__atomic_store_n(&r->armed, 1, __ATOMIC_SEQ_CST);
	if (ring_pop(r, out))
		return true;
	/* Load lost before comparing levels: a later loss then causes another
	 * comparison. */
	lost = __atomic_load_n(&r->lost, __ATOMIC_SEQ_CST);
	if (lost != r->lost_seen) {
		if (ring_make_up(r, out))
			return true;
		r->lost_seen = lost;
	}
	return false;
}

bool
hazard_ring_take(struct hazard_ring *r, struct hazard *out)
{
	if (ring_pop(r, out))
		return true;
	if (r->drained == __atomic_load_n(&r->wakes, __ATOMIC_ACQUIRE) &&
	    r->lost_seen == __atomic_load_n(&r->lost, __ATOMIC_RELAXED))
		return false;
	return ring_take_slow(r, out);
}
