#include "tailorctl/stream_request.h"

#include "base/array.h"

static struct stream_request *
place(struct stream_requests *s, uint64_t id)
{
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15);

	return &s->open[hash >> 52 & (STREAM_REQUESTS_OPEN - 1)];
}

/* The open request of an event; created if needed. */
static struct stream_request *
request_of(struct stream_requests *s, uint64_t id)
{
	struct stream_request *r = place(s, id);

	if (r->id == id)
		return r;
	*r = (struct stream_request){.id = id, .server = -1};
	return r;
}

static void
take_attempt(struct stream_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->attempt_ns[e->arg[2]] = e->ts;
	r->attempts++;
}

static void
take_commit(struct stream_request *r, const struct talechain_event *e)
{
	if (e->arg[2] < 2)
		r->written_ns = r->attempt_ns[e->arg[2]];
	r->answered_ns = e->ts;
	r->server = e->arg[1] < SEEN_SERVERS ? (int)e->arg[1] : -1;
}

bool
stream_requests_take(struct stream_requests *s,
    const struct timeline_slot *slot, struct stream_request *out)
{
	const struct talechain_event *e = &slot->event;
	struct stream_request *r;

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
	case TALECHAIN_PROXY_COMMIT:
		take_commit(r, e);
		break;
	case TALECHAIN_PROXY_FINISH:
		r->finished_ns = e->ts;
		r->status = e->arg[2];
		r->bytes = e->arg[3];
		*out = *r;
		r->id = 0;
		return true;
	}
	return false;
}

uint64_t
stream_request_total_ns(const struct stream_request *r)
{
	return r->began && r->finished_ns > r->first_byte_ns
		   ? r->finished_ns - r->first_byte_ns
		   : 0;
}

const char *
stream_server_name(
    const struct stream_requests *s, int server, char out[STREAM_NAME])
{
	if (server < 0)
		snprintf(out, STREAM_NAME, "-");
	else if ((unsigned)server < s->servers)
		snprintf(out, STREAM_NAME, "%s", s->name[server]);
	else
		snprintf(out, STREAM_NAME, "%d", server);
	return out;
}

const char *const stream_request_fields[] = {"request", "total", "wait",
    "upstream", "send", "status", "bytes", "server", "attempts", "hedged",
    "in_flight", NULL};

#define AT(member) offsetof(struct stream_request, member)

/* Fields that are a time between two stamps, or a number. */
static const struct {
	const char *name;
	size_t from, to;
} spans[] = {{"wait", AT(received_ns), AT(attempt_ns[0])},
    {"upstream", AT(written_ns), AT(answered_ns)},
    {"send", AT(answered_ns), AT(finished_ns)}};
static const struct {
	const char *name;
	size_t at;
} numbers[] = {{"status", AT(status)}, {"bytes", AT(bytes)},
    {"attempts", AT(attempts)}, {"in_flight", AT(in_flight)}};

static uint64_t
number_at(const struct stream_request *r, size_t at)
{
	return *(const uint64_t *)((const char *)r + at);
}

struct query_value
stream_request_lookup(const char *field, void *user)
{
	struct stream_request_query *a = user;
	const struct stream_request *r = a->request;
	struct query_value v = {QUERY_NUMBER, 0, a->text};

	for (unsigned i = 0; i < COUNT(spans); i++)
		if (strcmp(field, spans[i].name) == 0) {
			uint64_t from = number_at(r, spans[i].from);
			uint64_t to = number_at(r, spans[i].to);

			/* If both were seen. */
			v.kind = from == 0 || to < from ? QUERY_MISSING
							: QUERY_NUMBER;
			v.number = to - from;
			return v;
		}
	for (unsigned i = 0; i < COUNT(numbers); i++)
		if (strcmp(field, numbers[i].name) == 0) {
			v.number = number_at(r, numbers[i].at);
			return v;
		}
	if (strcmp(field, "total") == 0) {
		v.kind = r->began ? QUERY_NUMBER : QUERY_MISSING;
		v.number = stream_request_total_ns(r);
	} else if (strcmp(field, "hedged") == 0) {
		v.number = r->attempts > 1;
	} else if (strcmp(field, "server") == 0) {
		v.kind = QUERY_TEXT;
		stream_server_name(a->table, r->server, a->text);
	} else if (strcmp(field, "request") == 0) {
		v.kind = QUERY_TEXT;
		snprintf(a->text, sizeof(a->text), "%016llx",
		    (unsigned long long)r->id);
	} else {
		v.kind = QUERY_MISSING;
	}
	return v;
}
