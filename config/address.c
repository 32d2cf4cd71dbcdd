/* address.c: addresses and networks as text; see config.h and address.h.
 *
 * No DNS: its result could differ tomorrow, or fail while the machine boots.
 * The only name known is localhost. */
#include "config/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/un.h>

#include "config/keys.h"

static int
refuse(const char **why, const char *sentence)
{
	*why = sentence;
	return -EINVAL;
}

/* A decimal number of at most max, without sign or leading zeros. */
static int
parse_number(const char *text, unsigned max, unsigned *out)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long value;

	if (digits == 0 || digits > 5 || text[digits] != '\0' ||
	    (digits > 1 && text[0] == '0'))
		return -EINVAL;
	value = strtoul(text, NULL, 10);
	if (value > max)
		return -EINVAL;
	*out = (unsigned)value;
	return 0;
}

static int
parse_unix(const char *path, struct config_address *out, const char **why)
{
	struct sockaddr_un *un = (struct sockaddr_un *)&out->address;
	size_t n = strlen(path);

	if (path[0] != '/' && !place_begins(path))
		return refuse(why, "unix: needs an absolute path");
	if (n >= sizeof(un->sun_path))
		return refuse(why, "a socket's path has at most 107 bytes");
	un->sun_family = AF_UNIX;
	memcpy(un->sun_path, path, n + 1);
	out->length =
	    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + 1);
	return 0;
}

static socklen_t
set_v4(struct sockaddr_storage *out, struct in_addr host, unsigned port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;

	in->sin_family = AF_INET;
	in->sin_addr = host;
	in->sin_port = htons((uint16_t)port);
	return sizeof(*in);
}

static socklen_t
set_v6(struct sockaddr_storage *out, struct in6_addr host, unsigned port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = host;
	in6->sin6_port = htons((uint16_t)port);
	return sizeof(*in6);
}

static int
set_host(struct config_address *out, const char *host, bool bracketed,
    unsigned port, const char **why)
{
	struct in6_addr v6 = IN6ADDR_ANY_INIT;
	struct in_addr v4;

	if (bracketed) {
		if (inet_pton(AF_INET6, host, &v6) != 1)
			return refuse(why, "no IPv6 address in the brackets");
		out->length = set_v6(&out->address, v6, port);
	} else if (host[0] == '\0') {
		v4.s_addr = htonl(INADDR_ANY);
		out->length = set_v6(&out->address, v6, port);
		(void)set_v4(&out->other, v4, port);
	} else if (strcmp(host, "localhost") == 0) {
		v4.s_addr = htonl(INADDR_LOOPBACK);
		out->length = set_v4(&out->address, v4, port);
		(void)set_v6(&out->other, in6addr_loopback, port);
	} else if (inet_pton(AF_INET, host, &v4) == 1) {
		out->length = set_v4(&out->address, v4, port);
	} else if (strchr(host, ':') != NULL) {
		return refuse(why, "IPv6 addresses need [brackets]");
	} else if (strcmp(host, "*") == 0) {
		return refuse(why, "write \":PORT\" for all addresses");
	} else {
		return refuse(why,
		    "names are not resolved; write the address, or localhost");
	}
	return 0;
}

static int
parse_inet(const char *text, struct config_address *out, const char **why)
{
	const char *colon = strrchr(text, ':');
	bool bracketed = text[0] == '[';
	char host[INET6_ADDRSTRLEN + 1];
	unsigned port;
	size_t n;

	if (strchr(text, ',') != NULL)
		return refuse(why, "only one address may be given here");
	if (colon == NULL && *text != '\0' &&
	    text[strspn(text, "0123456789")] == '\0')
		return refuse(why, "a port needs a colon before it: write "
				   "\":PORT\" or \"HOST:PORT\"");
	if (colon == NULL)
		return refuse(why, "the port is missing: write \"HOST:PORT\", "
				   "or \":PORT\" to listen");
	n = (size_t)(colon - text);
	if (bracketed) {
		if (n < 2 || text[n - 1] != ']')
			return refuse(why, "the port is missing after ]");
		text++;
		n -= 2;
	}
	if (n >= sizeof(host))
		return refuse(why, "the host is too long");
	memcpy(host, text, n);
	host[n] = '\0';
	if (strchr(colon, '/') != NULL)
		return refuse(why, "a path does not belong here: write "
				   "\"HOST:PORT\" alone");
	if (parse_number(colon + 1, 65535, &port) != 0)
		return refuse(why, "the port is not in 1..65535");
	return set_host(out, host, bracketed, port, why);
}

/* Refuse a URL; *why suggests the likely address: [::1]:80 for
 * "http://[::1]:80/x". */
static int
refuse_url(const char *text, const char **why)
{
	static _Thread_local char sentence[160];
	struct config_address meant = {0};
	const char *host = strstr(text, "://") + 3;
	size_t n = strcspn(host, "/?#");
	bool bare = n > 0 && memchr(host, ':', n) == NULL;
	char address[64];

	if (strncmp(text, "https://", 8) == 0)
		return refuse(why,
		    "TLS is not supported; write host:port of a listener "
		    "for plain HTTP");
	snprintf(address, sizeof(address), "%.*s%s", (int)n, host,
	    bare || (n > 0 && host[n - 1] == ']') ? ":80" : "");
	if (n + 4 > sizeof(address) || parse_inet(address, &meant, why) != 0)
		return refuse(
		    why, "a URL; write host:port alone, or unix:/path");
	snprintf(sentence, sizeof(sentence),
	    "a URL; write host:port alone: \"%s\"", address);
	return refuse(why, sentence);
}

int
config_address_parse(
    const char *text, struct config_address *out, const char **why)
{
	struct config_address parsed = {0};
	int err;

	if (strncmp(text, "unix:", 5) == 0)
		err = parse_unix(text + 5, &parsed, why);
	else if (text[0] == '/')
		err = parse_unix(text, &parsed, why);
	else if (strstr(text, "://") != NULL)
		err = refuse_url(text, why);
	else
		err = parse_inet(text, &parsed, why);
	if (err != 0)
		return err;
	parsed.text = strdup(text);
	if (parsed.text == NULL) {
		*why = "out of memory";
		return -ENOMEM;
	}
	*out = parsed;
	return 0;
}

/* --- comparing -------------------------------------------------------- */

int
config_address_port(const struct config_address *a)
{
	const void *address = &a->address;
	const struct sockaddr_in *in = address;
	const struct sockaddr_in6 *in6 = address;

	if (a->address.ss_family == AF_INET)
		return ntohs(in->sin_port);
	return a->address.ss_family == AF_INET6 ? ntohs(in6->sin6_port) : -1;
}

bool
address_is_loopback(const struct config_address *a)
{
	const void *address = &a->address;
	const struct sockaddr_in *in = address;
	const struct sockaddr_in6 *in6 = address;

	if (a->address.ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> 24 == 127;
	return a->address.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

bool
config_address_is_any(const struct config_address *a)
{
	const void *address = &a->address;
	const struct sockaddr_in *in = address;
	const struct sockaddr_in6 *in6 = address;

	if (a->address.ss_family == AF_INET)
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	return a->address.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

bool
config_address_equal(
    const struct config_address *a, const struct config_address *b)
{
	return a->length == b->length && a->length > 0 &&
	       memcmp(&a->address, &b->address, a->length) == 0;
}

bool
address_may_equal(
    const struct config_address *a, const struct config_address *b)
{
	struct config_address x = *a, y = *b;

	x.address = a->other;
	y.address = b->other;
	x.length = y.length = sizeof(struct sockaddr_in6);
	return config_address_equal(a, b) ||
	       (x.address.ss_family != AF_UNSPEC &&
		   config_address_equal(&x, b)) ||
	       (y.address.ss_family != AF_UNSPEC &&
		   config_address_equal(a, &y));
}

/* --- networks --------------------------------------------------------- */

/* True if all bits after the network's are zero. */
static bool
is_masked(const struct config_network *n)
{
	for (unsigned bit = n->bits; bit < sizeof(n->address) * 8; bit++)
		if (n->address[bit / 8] & (0x80 >> bit % 8))
			return false;
	return true;
}

char *
network_format(const struct config_network *n, char out[NETWORK_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";

	if (n->family == AF_UNIX) {
		snprintf(out, NETWORK_TEXT_MAX, "unix");
		return out;
	}
	inet_ntop(n->family, n->address, host, sizeof(host));
	snprintf(out, NETWORK_TEXT_MAX, "%s/%u", host, n->bits);
	return out;
}

/* Refuse "10.0.0.1/8"; *why suggests the network that is likely meant. */
static int
refuse_unmasked(const struct config_network *n, const char **why)
{
	static _Thread_local char sentence[NETWORK_TEXT_MAX + 64];
	struct config_network meant = *n;
	char text[NETWORK_TEXT_MAX];

	for (unsigned bit = n->bits; bit < sizeof(n->address) * 8; bit++)
		meant.address[bit / 8] &= (unsigned char)~(0x80 >> bit % 8);
	snprintf(sentence, sizeof(sentence),
	    "an address within the network; write \"%s\"",
	    network_format(&meant, text));
	return refuse(why, sentence);
}

int
network_parse(const char *text, struct config_network *out, const char **why)
{
	const char *slash = strchr(text, '/');
	size_t n = slash != NULL ? (size_t)(slash - text) : strlen(text);
	struct config_network parsed = {0};
	char host[INET6_ADDRSTRLEN];

	if (strcmp(text, "unix") == 0) {
		*out = (struct config_network){.family = AF_UNIX};
		return 0;
	}
	if (n >= sizeof(host))
		return refuse(why, "the address is too long");
	memcpy(host, text, n);
	host[n] = '\0';
	parsed.family = strchr(host, ':') != NULL ? AF_INET6 : AF_INET;
	parsed.bits = parsed.family == AF_INET6 ? 128 : 32;
	if (inet_pton(parsed.family, host, parsed.address) != 1)
		return refuse(why, "it does not begin with an address");
	if (slash != NULL &&
	    parse_number(slash + 1, parsed.bits, &parsed.bits) != 0)
		return refuse(why, parsed.family == AF_INET
				       ? "the part after / is not in 0..32"
				       : "the part after / is not in 0..128");
	if (!is_masked(&parsed))
		return refuse_unmasked(&parsed, why);
	*out = parsed;
	return 0;
}
