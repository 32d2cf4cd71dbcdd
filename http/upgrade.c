/* upgrade.c: which upgrades may pass.
 *
 * Only WebSocket: an upgrade that the two sides understand differently is a
 * smuggled request, and h2c is the known case. */
#include "http/http.h"

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
http_upgrade_wanted(const struct http_head *head)
{
	return head->method == HTTP_METHOD_GET && head->minor == 1 &&
	       head->framing == HTTP_FRAMING_NONE && names_websocket(head) &&
	       count_named(head, "sec-websocket-key") == 1;
}

bool
http_upgrade_agreed(const struct http_head *head)
{
	return head->minor == 1 && names_websocket(head) &&
	       count_named(head, "sec-websocket-accept") == 1;
}
