/*
 * repeat.c: which requests may be sent twice, and which are kept to be sent
 * again to a restarted server or a standby.
 */
#include <string.h>

#include "proxy/proxy.h"

bool
proxy_may_repeat(struct proxy *p, const struct http_head *head, bool *opted_out)
{
	*opted_out = false;
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_TAILOR &&
		    slice_is(head->field[i].name, "x-tailor-hedge") &&
		    slice_is(head->field[i].value, "off"))
			*opted_out = true;
	switch (head->method) {
	case HTTP_METHOD_GET:
	case HTTP_METHOD_HEAD:
	case HTTP_METHOD_OPTIONS:
		return true;
	case HTTP_METHOD_POST:
	case HTTP_METHOD_PUT:
	case HTTP_METHOD_DELETE:
	case HTTP_METHOD_PATCH:
	case HTTP_METHOD_OTHER:
		break;
	}
	return rules_match(&p->rules, head->method_text, head->target);
}

static void
blank_digits(char *text, size_t length, const char *name)
{
	char *at = memmem(text, length, name, strlen(name));

	if (at == NULL)
		return;
	for (at += strlen(name); at < text + length && *at != '\r'; at++)
		*at = '0';
}

void
proxy_replay_record(struct proxy *p, const struct request *r)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	struct replay *place;
	size_t n = r->head.iov_len;

	if ((p->config->warmup.requests == 0 &&
		p->config->warmup.mirror <= 0) ||
	    r->opted_out || n > REPLAY_HEAD_BYTES ||
	    (r->credentials && !p->config->warmup.credentials))
		return;
	for (const char *t = r->target; *t != '\0'; t++)
		h = (h ^ (uint8_t)*t) * UINT64_C(0x100000001b3);
	h ^= h >> 29;
	place = &p->replay[h % REPLAY_MAX];
	if (place->length > 0 && place->target_hash == h)
		return;
	memcpy(place->text, r->head.iov_base, n);
	place->length = (uint16_t)n;
	place->method = r->method;
	place->target_hash = h;
	/* Its events must not be taken for those of the real request. */
	blank_digits(place->text, n, "Tailor-Request: ");
}
