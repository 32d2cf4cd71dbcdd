/* query.c: finding events of a tale, by what they are of and when. */
#include "talechain/tale/tale_struct.h"

uint32_t
event_bytes(const struct talechain_event *e)
{
	return e->type == TALECHAIN_SOCK_SEND || e->type == TALECHAIN_SOCK_RECV
		   ? tale_low(e->arg[1])
		   : tale_high(e->arg[2]);
}

static bool
range_meets(const struct byte_range *r, uint32_t begin, uint32_t bytes)
{
	return r->set && bytes > 0 && sequence_before(begin, r->end) &&
	       sequence_before(r->begin, begin + bytes);
}

static bool
query_fits(const struct event_query *q, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;

	return (v->type == q->type || (q->also != 0 && v->type == q->also)) &&
	       (q->cookie == COOKIE_ANY || v->arg[0] == q->cookie) &&
	       (q->tid == 0 || v->tid == q->tid) && !e->doubtful &&
	       (q->ports == 0 || tale_high(v->arg[3]) == q->ports) &&
	       (!q->carries || event_bytes(v) > 0) &&
	       (q->range == NULL ||
		   range_meets(q->range, tale_high(v->arg[1]), event_bytes(v)));
}

const struct tale_entry *
query_next(const struct tale *t, const struct event_query *q,
    const struct tale_entry *after)
{
	size_t i = after != NULL      ? (size_t)(after - t->entry) + 1
		   : q->from != NEVER ? entry_from(t, q->from)
				      : 0;
	size_t end = q->to != NEVER ? entry_from(t, q->to + 1) : t->entries;

	for (; q->cookie != 0 && i < end; i++)
		if (query_fits(q, &t->entry[i]))
			return &t->entry[i];
	return NULL;
}

const struct tale_entry *
query_last(const struct tale *t, const struct event_query *q)
{
	size_t i = q->to != NEVER ? entry_from(t, q->to + 1) : t->entries;
	size_t begin = q->from != NEVER ? entry_from(t, q->from) : 0;

	for (; q->cookie != 0 && i > begin; i--)
		if (query_fits(q, &t->entry[i - 1]))
			return &t->entry[i - 1];
	return NULL;
}
