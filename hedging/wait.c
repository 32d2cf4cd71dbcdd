/* wait.c: pauses that are waited out, because a hedge costs more (T4).
 *
 * A hazard that is waited out is in force, so its server is no target, but the
 * hazard triggers nothing until it has lasted as long as its threshold. */
#include "hedging/policy.h"
#include "hedging/threshold.h"

#include "talechain/talechain.h"

#define WAIT_END INT64_MAX /* not acted upon at all */

static bool
acts_on(const struct hedging *h, uint32_t bit)
{
	return policy_acts(h) && (h->limits.triggers & bit) != 0;
}

static int64_t
wait_ns(const struct hedging *h, const struct hazard *z,
    const struct pause_wait *w, struct instant now)
{
	int64_t left_ns = (int64_t)z->left_us * NS_PER_US;

	if ((HAZARDS_WAITED & policy_bit(z->kind)) == 0)
		return 0;
	if (z->over)
		return WAIT_END;
	if (w->price_ns == 0)
		return 0;
	if (left_ns > 0)
		return threshold_known_ns(left_ns,
		    instant_since(
			now, h->server[z->server].kind_since[z->kind]),
		    w->price_ns);
	if (w->lengths.count >= THRESHOLD_KNOWN)
		return threshold_ns(&w->lengths, w->price_ns);
	/* With little history: most safepoints are short, so wait; a quota's
	 * end is not known, so act. */
	return z->kind == HAZARD_SAFEPOINT ? w->price_ns : 0;
}

/* When to act upon a pause of a kind. */
static struct instant
wait_until(const struct hedging_server *s, unsigned kind)
{
	return instant_plus(s->kind_since[kind], s->wait[kind].after_ns);
}

void
policy_wait(struct hedging *h, const struct hazard *z, struct instant now)
{
	struct hedging_server *s = &h->server[z->server];
	struct pause_wait *w = &s->wait[z->kind];
	int64_t response_ns = h->server[policy_other(z->server)].latency_p50_ns;

	if (response_ns == 0) /* the other server has not served yet */
		response_ns = s->latency_p50_ns;
	w->served = z->server == h->active;
	w->price_ns = threshold_price_ns(response_ns);
	w->after_ns = wait_ns(h, z, w, now);
	if (acts_on(h, policy_bit(z->kind)) && w->after_ns > 0 &&
	    (w->after_ns == WAIT_END ||
		instant_before(now, wait_until(s, z->kind))))
		s->waiting |= policy_bit(z->kind);
}

void
policy_waited(struct hedging *h, const struct hazard *z, int64_t length_ns)
{
	struct hedging_server *s = &h->server[z->server];
	struct pause_wait *w = &s->wait[z->kind];
	uint32_t bit = policy_bit(z->kind);
	bool waited = (s->waiting & bit) != 0;

	/* Pauses of a backup are shorter: steering makes it collect when it is
	 * drained.  Several pauses that were seen as one have length 0, except
	 * one.  The safepoint of a collection counts as a collection. */
	if (!w->served || length_ns <= 0 || (bit & HAZARDS_WAITED) == 0 ||
	    (z->kind == HAZARD_SAFEPOINT && z->cause != 0 &&
		z->cause != TALECHAIN_CAUSE_NOT_GC))
		return;
	window_add(&w->lengths, length_ns);
	/* WAIT_END without a wait: a reload changed the triggers, so the time
	 * of the action is unknown. */
	if (!acts_on(h, bit) || w->price_ns == 0 ||
	    (!waited && w->after_ns == WAIT_END))
		return;
	h->waited_out[z->kind] += waited;
	h->regret_ns[z->kind] += (uint64_t)threshold_regret_ns(
	    length_ns, waited, w->after_ns, w->price_ns);
}

uint32_t
policy_wait_over(struct hedging *h, unsigned server, struct instant now)
{
	struct hedging_server *s = &h->server[server];
	uint32_t over = 0;

	for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++)
		if ((s->waiting & policy_bit(k)) != 0 &&
		    s->wait[k].after_ns != WAIT_END &&
		    !instant_before(now, wait_until(s, k)))
			over |= policy_bit(k);
	s->waiting &= ~over;
	h->hazards_active += over != 0 && server == h->active;
	return over;
}

struct instant
hedging_wait_until(const struct hedging *h)
{
	struct instant first = INSTANT_NONE;

	for (unsigned i = 0; i < HEDGING_SERVERS; i++)
		for (unsigned k = 0; k < HAZARD_KIND_COUNT; k++) {
			const struct hedging_server *s = &h->server[i];

			if ((s->waiting & policy_bit(k)) == 0 ||
			    s->wait[k].after_ns == WAIT_END)
				continue;
			if (!instant_is_set(first) ||
			    instant_before(wait_until(s, k), first))
				first = wait_until(s, k);
		}
	return first;
}
