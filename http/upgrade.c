/* upgrade.c: the upgrades that may pass: only WebSocket.
 *
 * An upgrade that the two sides understand differently can smuggle a request,
 * as is known of h2c. */
#include "http/http.h"

static unsigned
count_named(const struct http_head *head, const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < head->fields; i++)
		n += slice_is(head->field[i].name, name);
	return n;
}

/* Check Connection and Upgrade, in a request or a response. */
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
