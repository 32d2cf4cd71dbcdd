/*
 * repeat.c: which requests may be sent twice, and which are kept to be sent
 * again to a restarted server or a standby.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "proxy/proxy.h"

bool
proxy_may_repeat(
    const struct proxy *p, const struct http_head *head, bool *opted_out)
{
	char target[2048];

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
	if (p->rules.count == 0 || head->target.length >= sizeof(target))
		return false;
	memcpy(target, head->target.at, head->target.length);
	target[head->target.length] = '\0';
	for (unsigned i = 0; i < p->rules.count; i++) {
		const char *rule = p->config->hedging.allow[i];
		size_t n = strcspn(rule, " ");

		if (n == head->method_text.length &&
		    memcmp(rule, head->method_text.at, n) == 0 &&
		    regexec(&p->rules.target[i], target, 0, NULL, 0) == 0)
			return true;
	}
	return false;
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
	size_t n = block_bytes(r->head);

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
	memcpy(place->text, r->head->data + r->head->begin, n);
	place->length = (uint16_t)n;
	place->method = r->method;
	place->target_hash = h;
	/* Its events must not be taken for those of the real request. */
	blank_digits(place->text, n, "Tailor-Request: ");
}

int
repeat_rules_init(struct repeat_rules *rules, const struct config *c)
{
	rules->count = 0;
	for (unsigned i = 0; i < c->hedging.allow_rules; i++) {
		const char *rule = c->hedging.allow[i];
		const char *expression = strchr(rule, ' ');

		if (expression == NULL ||
		    regcomp(&rules->target[i], expression + 1,
			REG_EXTENDED | REG_NOSUB) != 0) {
			log_event(LOG_LEVEL_ERROR, "rule_invalid",
			    "rule=\"%s\" advice=\"hedging.allow wants METHOD, "
			    "a space, and an extended regular expression\"",
			    rule);
			repeat_rules_fini(rules);
			return -EINVAL;
		}
		rules->count++;
	}
	return 0;
}

void
repeat_rules_fini(struct repeat_rules *rules)
{
	for (unsigned i = 0; i < rules->count; i++)
		regfree(&rules->target[i]);
	rules->count = 0;
}
