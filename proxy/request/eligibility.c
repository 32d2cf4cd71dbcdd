/* eligibility.c: which requests may be sent twice (E1), and which clients
 * forbid that (E7). */
#include "proxy/request/request.h"

#include <string.h>

#include "base/path_pattern.h"
#include "proxy/request/proxy.h"

/* True if a rule of hedging.repeatable, "METHOD /path", is for this request. */
static bool
rule_matches(const char *rule, struct slice method, struct path path)
{
	size_t n = strcspn(rule, " ");

	return n == method.length && memcmp(rule, method.at, n) == 0 &&
	       path_pattern_matches(rule + n + 1, path);
}

static bool
is_allowed(const struct config *c, const struct http_head *head)
{
	struct path path;

	if (c->hedging.repeatables == 0 ||
	    !path_read(head->target.at, head->target.length, &path))
		return false;
	for (unsigned i = 0; i < c->hedging.repeatables; i++)
		if (rule_matches(
			c->hedging.repeatable[i], head->method_text, path))
			return true;
	return false;
}

bool
proxy_may_repeat(struct proxy *p, const struct http_head *head, bool *opted_out)
{
	*opted_out = false;
	for (unsigned i = 0; i < head->fields; i++)
		if (head->field[i].id == HTTP_FIELD_TAILOR &&
		    slice_is(head->field[i].name, "x-tailor-hedge") &&
		    slice_is(head->field[i].value, "off"))
			*opted_out = true;
	return http_method_is_safe(head->method) || is_allowed(p->config, head);
}
