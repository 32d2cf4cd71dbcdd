/* interim.c: passes 1xx responses on, and notes pushbacks.
 *
 * An interim response (1xx) does not decide the race.  100 is not passed on,
 * because Tailor itself sends it to clients; 101 is no interim response
 * (tunnel.c).  A pushback asks Tailor to send no second attempts for a while.
 * Proxy thread only. */
#include "proxy/request/request.h"

#include "proxy/client/client.h"
#include "proxy/request/proxy.h"

void
interim_forward(struct attempt *a, const struct http_head *head)
{
	struct request *r = a->request;
	struct proxy *p = r->proxy;
	struct block *b;
	int n;

	if (head->status == 100)
		return;
	if (r->state != REQUEST_RUNNING || r->client == NULL || r->minor_zero ||
	    r->interims >= INTERIMS_MAX ||
	    (r->interims > 0 && r->interim_from != a->index)) {
		p->metrics.interims_dropped++;
		return;
	}
	b = block_take(&p->loop.blocks);
	n = b == NULL ? -1
		      : http_write_response(
			    head, NULL, b->data + b->begin, block_room(b) - 2);
	if (n < 0) {
		block_give(&p->loop.blocks, b);
		p->metrics.interims_dropped++;
		return;
	}
	memcpy(b->data + b->begin + n, "\r\n", 2);
	b->end = b->begin + (uint32_t)n + 2;
	chain_append(&r->client->out, b);
	r->interims++;
	r->interim_from = a->index;
	p->metrics.interims++;
	client_flush(r->client);
}

/* Read a number of at most nine digits; -1 if the text is anything else. */
static int64_t
number(struct slice s)
{
	int64_t n = 0;

	if (s.length == 0 || s.length > 9)
		return -1;
	for (size_t i = 0; i < s.length; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -1;
		n = n * 10 + (s.at[i] - '0');
	}
	return n;
}

void
pushback_note(
    struct proxy *p, const struct attempt *a, const struct http_head *head)
{
	const struct race_attempt *race = &a->request->race.attempt[a->index];
	const struct http_field *field =
	    http_field_tailor(head, "tailor-pushback");
	int64_t hold_ns = -1;

	if (field != NULL) {
		hold_ns = number(field->value) * NS_PER_MS;
		if (hold_ns < 0 && !slice_is(field->value, "-1"))
			return; /* malformed */
	} else {
		field = http_field_find(head, HTTP_FIELD_RETRY_AFTER);
		if ((head->status != 503 && head->status != 429) ||
		    field == NULL || a->index == 0)
			return;
		hold_ns = number(field->value) * NS_PER_S;
		if (hold_ns < 0)
			return; /* a date */
	}
	p->metrics.pushbacks++;
	hedging_pushback(
	    &p->hedging, (unsigned)race->server, hold_ns, instant_now());
}
