/* origin.c: the client for which a peer sent a request.
 *
 * A peer in proxy.trusted_proxies is a proxy, and names its client in
 * X-Forwarded-For. Rights and logs use that name; the field of any other peer
 * is ignored. */
#include "proxy/client/peer.h"

#include <arpa/inet.h>
#include <string.h>

#include "http/slice.h"

#define ENTRY_MAX (INET6_ADDRSTRLEN + 8) /* with brackets and a port */

/* Remove the last member of a list that is not empty; false: there is none. */
static bool
list_last(struct slice *rest, struct slice *item)
{
	while (rest->length > 0) {
		const char *comma = memrchr(rest->at, ',', rest->length);
		size_t before = comma != NULL ? (size_t)(comma - rest->at) : 0;
		size_t begin = comma != NULL ? before + 1 : 0;

		*item = slice_trim(
		    (struct slice){rest->at + begin, rest->length - begin});
		rest->length = before;
		if (item->length > 0)
			return true;
	}
	return false;
}

/* Cut ":8080", if it is there, off an address; false if there is other text. */
static bool
port_cut(char *colon)
{
	if (*colon != ':' || colon[1] == '\0' ||
	    colon[1 + strspn(colon + 1, "0123456789")] != '\0')
		return *colon == '\0';
	*colon = '\0';
	return true;
}

/* Read "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]" or
 * "[2001:db8::1]:80"; for any other text the family is AF_UNSPEC. */
static void
address_read(struct slice entry, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (void *)out;
	struct sockaddr_in *in = (void *)out;
	char text[ENTRY_MAX], *host = text, *end;

	*out = (struct sockaddr_storage){.ss_family = AF_UNSPEC};
	if (entry.length >= sizeof(text))
		return;
	memcpy(text, entry.at, entry.length);
	text[entry.length] = '\0';
	end = strchr(text, ':');
	if (text[0] == '[') {
		end = strchr(text, ']');
		if (end == NULL || !port_cut(end + 1))
			return;
		*end = '\0';
		host++;
	} else if (end != NULL && strchr(end + 1, ':') == NULL) {
		if (!port_cut(end))
			return;
	}
	if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1)
		in6->sin6_family = AF_INET6;
	else if (host == text && inet_pton(AF_INET, host, &in->sin_addr) == 1)
		in->sin_family = AF_INET;
}

static void
entry_describe(const struct config *c, struct slice entry, struct peer *out)
{
	struct sockaddr_storage address;

	address_read(entry, &address);
	peer_describe(c, &address, out);
}

void
origin_find(const struct config *c, const struct peer *peer,
    const struct http_head *head, struct peer *out)
{
	struct slice rest, entry;

	*out = *peer;
	if (!peer->trusted)
		return;
	for (unsigned i = head->fields; i-- > 0;) {
		if (head->field[i].id != HTTP_FIELD_X_FORWARDED_FOR)
			continue;
		rest = head->field[i].value;
		while (list_last(&rest, &entry)) {
			entry_describe(c, entry, out);
			if (!out->trusted)
				return;
		}
	}
}
