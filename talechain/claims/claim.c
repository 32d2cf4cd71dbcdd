/* claim.c: making a claim. */
#include "talechain/claims/explainer.h"

bool
claim_cut(struct claim *c, int64_t begin_ns, int64_t end_ns)
{
	if (c->begin_ns < begin_ns)
		c->begin_ns = begin_ns;
	if (c->end_ns > end_ns)
		c->end_ns = end_ns;
	return c->begin_ns < c->end_ns;
}

void
claim_add(struct explainer *ex, const struct claim *c)
{
	struct claim cut = *c;

	if (claim_cut(&cut, ex->leg_begin_ns, ex->leg_end_ns))
		ARRAY_ADD(&ex->failed, ex->claim, ex->claims, cut);
}

uint64_t
claim_request(const struct claim *c)
{
	switch ((int)c->cause) {
	case TALE_CAUSE_BACKEND_QUEUE:
	case TALE_CAUSE_RUNQ:
	case TALE_CAUSE_PREEMPTED:
	case TALE_CAUSE_BORROWED_LANE:
	case TALE_CAUSE_QUOTA:
	case TALE_CAUSE_STEAL:
	case TALE_CAUSE_IRQ:
	case TALE_CAUSE_STOPPED:
	case TALE_CAUSE_LOCK:
	case TALE_CAUSE_SLEEP:
	case TALE_CAUSE_DISK:
	case TALE_CAUSE_PAGE_FAULT:
		return c->value;
	}
	return 0;
}

uint64_t
request_at(const struct explainer *ex, const struct talechain_event *v,
    enum talechain_type end, enum talechain_type type, unsigned arg)
{
	const struct event_query ours = {.cookie = COOKIE_ANY,
	    .type = end,
	    .ports = ports_other_end(event_ports(v)),
	    .from = NEVER,
	    .to = NEVER};
	const struct event_query begun = {
	    .cookie = COOKIE_ANY, .type = type, .from = NEVER, .to = NEVER};
	const struct tale_entry *at = query_next(ex->t, &ours, NULL), *e = NULL;
	const struct talechain_event *b;
	uint64_t request = 0;

	while (at != NULL && (e = query_next(ex->t, &begun, e)) != NULL) {
		b = &e->slot.event;
		if (b->ts <= v->ts && b->arg[arg] == at->slot.event.arg[0] &&
		    b->arg[0] != ex->t->request.id)
			request = b->arg[0];
	}
	return request;
}
