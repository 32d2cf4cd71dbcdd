/* tale.c: bounds and small queries of a tale and its events. */
#include "talechain/tale/tale_struct.h"

#include "base/array.h"
#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/events/termination.h"

/* A longer latency is not believed. */
#define LATENCY_MAX_NS (3600 * NS_PER_S)

const struct tale_thread *
tale_thread_find(const struct tale *t, uint64_t tid)
{
	for (unsigned i = 0; tid != 0 && i < t->threads; i++)
		if (t->thread[i].tid == tid)
			return &t->thread[i];
	return NULL;
}

uint32_t
tale_attempt_pid(const struct tale *t, int attempt)
{
	for (unsigned i = 0; i < t->threads; i++)
		if (t->thread[i].attempt == attempt && t->thread[i].pid != 0)
			return t->thread[i].pid;
	return t->request.attempt[attempt].server_pid;
}

int
tale_attempt_of(const struct tale *t, int server)
{
	for (int i = 0; server >= 0 && i < TALE_ATTEMPTS; i++)
		if (t->request.attempt[i].server == server)
			return i;
	return -1;
}

int
tale_event_server(const struct timeline_slot *slot)
{
	const struct talechain_event *e = &slot->event;

	if (slot->server >= 0)
		return slot->server;
	switch (e->type) {
	case TALECHAIN_SERVER_START:
	case TALECHAIN_SERVER_EXIT:
	case TALECHAIN_PAUSE_BEGIN:
	case TALECHAIN_PAUSE_END:
		return e->arg[0] <= INT32_MAX ? (int)e->arg[0] : -1;
	}
	return -1;
}

int64_t
tale_event_latency_ns(const struct talechain_event *e)
{
	uint64_t ns;

	return talechain_event_latency(e, &ns) && ns <= (uint64_t)LATENCY_MAX_NS
		   ? (int64_t)ns
		   : 0;
}

int64_t
tale_overlap_ns(struct instant begin, struct instant end, struct instant from,
    struct instant to)
{
	struct instant b = instant_before(begin, from) ? from : begin;
	struct instant e = instant_before(to, end) ? to : end;

	return instant_before(b, e) ? instant_since(e, b) : 0;
}

void
tale_blinds_sum(struct tale *t)
{
	const struct tale_entry *e;
	int64_t blind_ns;

	for (size_t i = 0; i < t->entries; i++) {
		e = &t->entry[i];
		if (e->slot.event.type != TALECHAIN_META_BLIND)
			continue;
		blind_ns = tale_overlap_ns(
		    tale_earlier(e->at, tale_event_latency_ns(&e->slot.event)),
		    e->at, t->t0, t->end);
		t->blind_ns += blind_ns;
		t->blinds += blind_ns > 0;
	}
}

static void
later(struct instant *a, struct instant b)
{
	if (instant_before(*a, b))
		*a = b;
}

struct instant
tale_request_begin(const struct tale_request *r)
{
	if (instant_is_set(r->connecting))
		return r->connecting;
	if (instant_is_set(r->arrived))
		return r->arrived;
	return instant_is_set(r->first_byte) ? r->first_byte : r->received;
}

struct instant
tale_request_end(const struct tale_request *r)
{
	return instant_is_set(r->acknowledged) ? r->acknowledged : r->finished;
}

void
tale_bounds_set(struct tale *t)
{
	const struct tale_request *r = &t->request;
	const struct tale_client *c = &t->client;
	struct instant sent, read;

	t->t0 = tale_request_begin(r);
	t->end = t->t0;
	later(&t->end, r->received);
	later(&t->end, r->committed);
	later(&t->end, r->finished);
	later(&t->end, r->acknowledged);
	for (int i = 0; !instant_is_set(r->finished) && i < TALE_ATTEMPTS;
	     i++) {
		later(&t->end, r->attempt[i].written);
		later(&t->end, r->attempt[i].first_byte);
		later(&t->end, r->attempt[i].complete);
	}
	if (!c->same_host)
		return;
	/* A client knows better than the kernel's account when it sent. */
	sent = instant_is_set(c->scheduled) ? c->scheduled : c->sent;
	read = instant_is_set(r->first_byte) ? r->first_byte : r->received;
	if (instant_is_set(sent) && !instant_before(read, sent) &&
	    instant_since(read, sent) < LATENCY_MAX_NS)
		t->t0 = sent;
	if (!instant_before(c->received, t->end) &&
	    instant_since(c->received, t->end) < LATENCY_MAX_NS)
		t->end = c->received;
}

char *
tale_flags(const struct tale_request *r, char out[TALE_FLAGS])
{
	snprintf(out, TALE_FLAGS, "%s%s%s", r->reason,
	    r->reason[0] != '\0' && r->refusal[0] != '\0' ? "," : "",
	    r->refusal);
	return out;
}

char *
tale_ending(const struct tale_request *r, char out[TALE_ENDING])
{
	out[0] = r->termination != 0 ? ' ' : '\0';
	if (r->termination != 0)
		termination_text(r->termination, out + 1);
	return out;
}

char *
tale_server_name(const struct tale *t, int server, char *out, size_t size)
{
	int i = tale_attempt_of(t, server);

	if (i >= 0 && t->request.attempt[i].server_name[0] != '\0')
		return text_safe(out, size, t->request.attempt[i].server_name);
	snprintf(out, size, "server %d", server);
	return out;
}

void
tale_free(struct tale **tp)
{
	struct tale *t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	free(t->entry);
	free(t->pause);
	free(t);
}

const struct tale_request *
tale_request(const struct tale *t)
{
	return &t->request;
}

bool
tale_whole(const struct tale *t)
{
	for (size_t i = t->entries; i > 0; i--)
		if (t->entry[i - 1].slot.event.type == TALECHAIN_PROXY_FINISH)
			return true;
	return !instant_is_set(t->request.finished);
}

struct instant
tale_begun(const struct tale *t)
{
	return t->t0;
}

uint64_t
tale_lost(const struct tale *t)
{
	uint64_t sum;

	return __builtin_add_overflow(t->lost_stream, t->lost_channels, &sum)
		   ? UINT64_MAX
		   : sum;
}

void *
array_grow(bool *failed, void *array, size_t count, size_t size)
{
	void *grown;

	if (*failed || (count & (count - 1)) != 0 ||
	    (count > 0 && count < ARRAY_LEAST))
		return array;
	grown = realloc(array, (count > 0 ? 2 * count : ARRAY_LEAST) * size);
	*failed = grown == NULL;
	return *failed ? array : grown;
}

struct tale_entry *
tale_entry_push(struct tale *t)
{
	struct tale_entry *grown = array_reserve(
	    t->entry, &t->capacity, t->entries + 1, sizeof(*grown));

	if (grown == NULL)
		return NULL;
	t->entry = grown;
	return &t->entry[t->entries++];
}

int64_t
moment_at(const struct tale *t, struct instant at)
{
	int64_t ns = instant_since(at, t->t0);

	if (!instant_is_set(at))
		return NEVER;
	if (ns < -FAR)
		return -FAR;
	return ns > FAR ? FAR : ns;
}

int64_t
moment_cut(const struct tale *t, int64_t ns)
{
	int64_t total_ns = tale_total_ns(t);

	if (ns < 0 || total_ns < 0)
		return 0;
	return ns > total_ns ? total_ns : ns;
}

size_t
entry_from(const struct tale *t, int64_t ns)
{
	return FIRST_WHERE(i, t->entries, moment_at(t, t->entry[i].at) >= ns);
}
