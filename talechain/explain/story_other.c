/*
 * story_other.c: the other request that a server's thread had.
 *
 * The thread received on another connection of its server before it took this
 * request, and had not responded there when this one came.  Tailor forwarded
 * the other one if that connection's other end is a socket of Tailor's; its
 * last attempt there says which it was.
 */
#include "talechain/explain/explainer.h"

static uint32_t
ports_of(const struct talechain_event *e)
{
	return (uint32_t)(e->arg[3] >> 32);
}

/* The last call of a kind on another of the server's connections, or NULL. */
static const struct talechain_event *
call_before(const struct explainer *ex, int attempt, uint32_t tid,
    enum talechain_type type, size_t before)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;

	for (size_t i = before; i > 0; i--) {
		v = &t->entry[i - 1].slot.event;
		if (v->type == (uint16_t)type && v->tid == tid &&
		    !t->entry[i - 1].doubtful &&
		    v->arg[0] != t->cookie[TALE_SOCKET_A_PEER + 2 * attempt] &&
		    v->arg[0] != t->cookie[TALE_SOCKET_A + 2 * attempt])
			return v;
	}
	return NULL;
}

/* The cookie of Tailor's end of a connection to a server, or 0. */
static uint64_t
other_end(const struct explainer *ex, uint32_t ports)
{
	const struct talechain_event *v;

	for (size_t i = 0; i < ex->t->entries; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->type == TALECHAIN_SOCK_SEND &&
		    ports_of(v) == (ports << 16 | ports >> 16))
			return v->arg[0];
	}
	return 0;
}

uint64_t
other_request(
    const struct explainer *ex, int attempt, uint32_t tid, int64_t came_ns)
{
	size_t taken = entry_from(ex, ex->chain.attempt[attempt].taken);
	const struct talechain_event *got =
	    call_before(ex, attempt, tid, TALECHAIN_SOCK_RECV, taken);
	const struct talechain_event *gave = call_before(
	    ex, attempt, tid, TALECHAIN_SOCK_SEND, entry_from(ex, came_ns));
	uint64_t cookie, request = 0;
	const struct talechain_event *v;

	if (got == NULL ||
	    (gave != NULL && gave->arg[0] == got->arg[0] && gave->ts > got->ts))
		return 0;
	cookie = other_end(ex, ports_of(got));
	for (size_t i = 0; i < ex->t->entries && cookie != 0; i++) {
		v = &ex->t->entry[i].slot.event;
		if (v->type == TALECHAIN_PROXY_ATTEMPT && v->ts <= got->ts &&
		    v->arg[3] == cookie && v->arg[0] != ex->t->request.id)
			request = v->arg[0];
	}
	return request;
}
