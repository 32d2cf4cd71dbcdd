/*
 * tunnel.c: see tunnel.h.
 */
#include "proxy/tunnel.h"

#include "proxy/attempt.h"
#include "http/slice.h"
#include "proxy/intake.h"
#include "proxy/proxy.h"

static unsigned
count_named(const struct http_head *head, const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < head->fields; i++)
		n += slice_is(head->field[i].name, name);
	return n;
}

/* Connection and Upgrade, both sides alike. */
static bool
names_websocket(const struct http_head *head)
{
	return head->upgrade &&
	       http_field_count(head, HTTP_FIELD_UPGRADE) == 1 &&
	       slice_is(http_field_find(head, HTTP_FIELD_UPGRADE)->value,
		   "websocket");
}

bool
tunnel_wanted(const struct http_head *head)
{
	return head->method == HTTP_METHOD_GET && head->minor == 1 &&
	       head->framing == HTTP_FRAMING_NONE && names_websocket(head) &&
	       count_named(head, "sec-websocket-key") == 1;
}

bool
tunnel_agreed(const struct http_head *head)
{
	return head->minor == 1 && names_websocket(head) &&
	       http_field_find(head, HTTP_FIELD_CONTENT_LENGTH) == NULL &&
	       http_field_find(head, HTTP_FIELD_TRANSFER_ENCODING) == NULL &&
	       count_named(head, "sec-websocket-accept") == 1;
}

void
tunnel_begin(struct attempt *a)
{
	struct request *r = a->request;
	struct client *c = r->client;
	struct proxy *p = r->proxy;

	r->tunnel = true;
	r->body_whole = c->ended;
	p->metrics.tunnels++;
	p->tunnels++;
	timer_clear(&p->timers, &r->deadline_timer);
	c->state = CLIENT_TUNNEL;
	client_arm(c, p->config->proxy.tunnel_timeout_ns);
	if (a->link != NULL)
		uplink_tunnel(a->link, &r->body, c->ended);
}

void
tunnel_pass(struct client *c)
{
	struct request *r = c->request;
	struct proxy *p = c->proxy;
	struct chain data = {0};

	p->metrics.request_bytes += block_bytes(c->in);
	client_arm(c, p->config->proxy.tunnel_timeout_ns);
	if (r == NULL || r->response_done) {
		block_give(&p->blocks, c->in); /* nobody is there any more */
		c->in = NULL;
		return;
	}
	chain_append(&data, c->in);
	c->in = NULL;
	chain_merge(&r->body, &data, &p->blocks);
	if (chain_held(&r->body) > STREAM_BUFFER_BYTES)
		client_pause(c);
	attempt_more(&r->attempt[r->race.winner]);
}

void
tunnel_ended(struct client *c)
{
	struct request *r = c->request;

	if (r == NULL || r->response_done)
		return;
	r->body_whole = true;
	attempt_more(&r->attempt[r->race.winner]);
}
