/*
 * seen.c: see seen.h.
 */
#include "tailorctl/seen.h"

#include <stdio.h>
#include <string.h>

static struct seen_request *
place(struct seen *s, uint64_t id)
{
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);

	return &s->open[hash >> 52 & (SEEN_OPEN - 1)];
}

/* The open request of an event; begins one if need be. */
static struct seen_request *
request_of(struct seen *s, uint64_t id)
{
	struct seen_request *r = place(s, id);

	if (r->id == id)
		return r;
	s->forgotten += r->id != 0;
	*r = (struct seen_request){.id = id, .server = -1};
	return r;
}

static void
take_attempt(struct seen_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->attempt_ns[e->arg[2]] = e->ts;
	r->attempts++;
}

static void
take_commit(struct seen_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->written_ns = r->attempt_ns[e->arg[2]];
	r->answered_ns = e->ts;
	r->server = e->arg[1] < SEEN_SERVERS ? (int)e->arg[1] : -1;
}

bool
seen_take(
    struct seen *s, const struct timeline_slot *slot, struct seen_request *out)
{
	const struct talechain_event *e = &slot->event;
	struct seen_request *r;

	if (e->type >> 12 != 1 || e->type == TALECHAIN_PROXY_SWAP ||
	    e->arg[0] == 0)
		return false;
	/* Drained losers end after the request did. */
	if (e->type == TALECHAIN_PROXY_ATTEMPT_END)
		return false;
	r = request_of(s, e->arg[0]);
	switch (e->type) {
	case TALECHAIN_PROXY_RECEIVE:
		r->began = true;
		r->received_ns = e->ts;
		r->in_flight = e->arg[1];
		r->first_byte_ns = e->arg[3] != 0 ? e->arg[3] : e->ts;
		break;
	case TALECHAIN_PROXY_ATTEMPT:
		take_attempt(r, e);
		break;
	case TALECHAIN_PROXY_HEDGE:
		r->trigger = e->arg[2] < 64 ? (unsigned)e->arg[2] : 0;
		break;
	case TALECHAIN_PROXY_COMMIT:
		take_commit(r, e);
		break;
	case TALECHAIN_PROXY_FINISH:
		r->finished_ns = e->ts;
		r->status = e->arg[2];
		r->bytes = e->arg[3];
		*out = *r;
		s->finished++;
		s->partial += !r->began;
		r->id = 0;
		return true;
	}
	return false;
}

uint64_t
seen_total_ns(const struct seen_request *r)
{
	return r->began && r->finished_ns > r->first_byte_ns
		   ? r->finished_ns - r->first_byte_ns
		   : 0;
}

const char *
seen_server(const struct seen *s, int server, char out[SEEN_NAME])
{
	if (server < 0)
		snprintf(out, SEEN_NAME, "-");
	else if ((unsigned)server < s->servers)
		snprintf(out, SEEN_NAME, "%s", s->name[server]);
	else
		snprintf(out, SEEN_NAME, "%d", server);
	return out;
}

const char *const seen_fields[] = {"request", "total", "wait", "upstream",
    "send", "status", "bytes", "server", "attempts", "hedged", "in_flight",
    NULL};

/* The time between two stamps, if both were seen. */
static struct query_value
span(uint64_t from, uint64_t to)
{
	if (from == 0 || to < from)
		return (struct query_value){QUERY_MISSING, 0, NULL};
	return (struct query_value){QUERY_NUMBER, to - from, NULL};
}

static struct query_value
number(uint64_t v)
{
	return (struct query_value){QUERY_NUMBER, v, NULL};
}

struct query_value
seen_lookup(const char *field, void *user)
{
	struct seen_asked *a = user;
	const struct seen_request *r = a->request;
	struct query_value v = {QUERY_TEXT, 0, a->text};

	if (strcmp(field, "total") == 0)
		return r->began ? number(seen_total_ns(r)) : span(0, 0);
	if (strcmp(field, "wait") == 0)
		return span(r->received_ns, r->attempt_ns[0]);
	if (strcmp(field, "upstream") == 0)
		return span(r->written_ns, r->answered_ns);
	if (strcmp(field, "send") == 0)
		return span(r->answered_ns, r->finished_ns);
	if (strcmp(field, "status") == 0)
		return number(r->status);
	if (strcmp(field, "bytes") == 0)
		return number(r->bytes);
	if (strcmp(field, "attempts") == 0)
		return number(r->attempts);
	if (strcmp(field, "hedged") == 0)
		return number(r->attempts > 1);
	if (strcmp(field, "in_flight") == 0)
		return number(r->in_flight);
	if (strcmp(field, "server") == 0) {
		seen_server(a->seen, r->server, a->text);
		return v;
	}
	if (strcmp(field, "request") != 0)
		return span(0, 0);
	snprintf(
	    a->text, sizeof(a->text), "%016llx", (unsigned long long)r->id);
	return v;
}
