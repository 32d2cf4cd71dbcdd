/* proxy_protocol.c: both versions of the PROXY header.
 *
 *  v1   "PROXY" SP "TCP4"|"TCP6" SP source SP destination SP port SP port CRLF
 *       "PROXY UNKNOWN" anything CRLF; at most 107 bytes
 *
 *        0          12      13      14       16
 *  v2   +----------+-------+-------+--------+-----------------------------+
 *       |signature |ver:cmd|fam:pro| length | addresses, ports, more      |
 *       +----------+-------+-------+--------+-----------------------------+
 *
 * A load balancer in front of Tailor writes the header first on a connection,
 * to name its client.  The header is read only on listeners that are configured
 * for it, and must be there: an optional header could be forged by any client.
 * Pure function over memory. */
#include "http/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define LINE_MAX_V1 107
#define HEAD_V2 16

static const char signature[12] = "\r\n\r\n\0\r\nQUIT\n";

/* Take the next word, up to a single space or the end.  NULL: none. */
static char *
word_next(char **rest)
{
	char *word = *rest, *space;

	if (word == NULL || *word == '\0' || *word == ' ')
		return NULL;
	space = strchr(word, ' ');
	if (space != NULL)
		*space++ = '\0';
	*rest = space;
	return word;
}

/* Read a port without leading zeros or signs; -1: not a port. */
static int
port_read(const char *word)
{
	int port = 0;

	if (word == NULL || *word == '\0' || strlen(word) > 5 ||
	    (word[0] == '0' && word[1] != '\0'))
		return -1;
	for (; *word != '\0'; word++) {
		if (*word < '0' || *word > '9')
			return -1;
		port = port * 10 + (*word - '0');
	}
	return port <= 65535 ? port : -1;
}

static void
source_set(struct sockaddr_storage *out, int family, const void *address,
    uint16_t port_be)
{
	memset(out, 0, sizeof(*out));
	if (family == AF_INET) {
		struct sockaddr_in *in = (void *)out;

		in->sin_family = AF_INET;
		in->sin_port = port_be;
		memcpy(&in->sin_addr, address, 4);
	} else {
		struct sockaddr_in6 *in6 = (void *)out;

		in6->sin6_family = AF_INET6;
		in6->sin6_port = port_be;
		memcpy(&in6->sin6_addr, address, 16);
	}
}

/* Read the text after "PROXY ", which is modified.  False if malformed. */
static bool
line_read(char *text, struct sockaddr_storage *source)
{
	char *rest = text, *family = word_next(&rest), *from, *to;
	uint8_t address[16], other[16];
	int af, port;

	if (family == NULL)
		return false;
	if (strcmp(family, "UNKNOWN") == 0)
		return true;
	if (strcmp(family, "TCP4") == 0)
		af = AF_INET;
	else if (strcmp(family, "TCP6") == 0)
		af = AF_INET6;
	else
		return false;
	from = word_next(&rest);
	to = word_next(&rest);
	port = port_read(word_next(&rest));
	if (from == NULL || to == NULL || port < 0 ||
	    port_read(word_next(&rest)) < 0 || rest != NULL ||
	    inet_pton(af, from, address) != 1 || inet_pton(af, to, other) != 1)
		return false;
	source_set(source, af, address, htons((uint16_t)port));
	return true;
}

static enum proxy_header
read_v1(const char *buf, size_t length, size_t *used,
    struct sockaddr_storage *source)
{
	static const char begin[] = "PROXY ";
	const size_t first = sizeof(begin) - 1;
	char text[LINE_MAX_V1 + 1];
	const char *lf;
	size_t n = length < LINE_MAX_V1 ? length : LINE_MAX_V1;

	if (memcmp(buf, begin, n < first ? n : first) != 0)
		return PROXY_HEADER_BAD;
	lf = memchr(buf, '\n', n);
	if (lf == NULL)
		return length < LINE_MAX_V1 ? PROXY_HEADER_MORE
					    : PROXY_HEADER_BAD;
	*used = (size_t)(lf - buf) + 1;
	if (*used < first + 2 || lf[-1] != '\r' ||
	    memchr(buf, '\0', *used) != NULL)
		return PROXY_HEADER_BAD;
	memcpy(text, buf + first, *used - first - 2);
	text[*used - first - 2] = '\0';
	return line_read(text, source) ? PROXY_HEADER_READ : PROXY_HEADER_BAD;
}

/* Read the block of addresses of command PROXY; false: malformed. */
static bool
addresses_read(uint8_t family, const char *block, size_t length,
    struct sockaddr_storage *source)
{
	uint16_t port;

	switch (family) {
	case 0x11: /* TCP over IPv4: two addresses, two ports */
		if (length < 12)
			return false;
		memcpy(&port, block + 8, 2);
		source_set(source, AF_INET, block, port);
		return true;
	case 0x21: /* TCP over IPv6 */
		if (length < 36)
			return false;
		memcpy(&port, block + 32, 2);
		source_set(source, AF_INET6, block, port);
		return true;
	case 0x00: /* unspecified */
	case 0x31: /* a Unix stream: its address is of no use here */
		return true;
	default: /* datagrams, or unassigned */
		return false;
	}
}

static enum proxy_header
read_v2(const char *buf, size_t length, size_t *used,
    struct sockaddr_storage *source)
{
	uint8_t version, family;
	size_t block;

	if (length < HEAD_V2)
		return PROXY_HEADER_MORE;
	version = (uint8_t)buf[12];
	family = (uint8_t)buf[13];
	block = (size_t)(uint8_t)buf[14] << 8 | (uint8_t)buf[15];
	if ((version & 0xf0) != 0x20 || (version & 0x0f) > 1 ||
	    HEAD_V2 + block > PROXY_HEADER_MAX)
		return PROXY_HEADER_BAD;
	if (length < HEAD_V2 + block)
		return PROXY_HEADER_MORE;
	*used = HEAD_V2 + block;
	if ((version & 0x0f) == 0) /* LOCAL: the rest is ignored */
		return PROXY_HEADER_LOCAL;
	return addresses_read(family, buf + HEAD_V2, block, source)
		   ? PROXY_HEADER_READ
		   : PROXY_HEADER_BAD;
}

enum proxy_header
proxy_header_read(const char *buf, size_t length, size_t *used,
    struct sockaddr_storage *source)
{
	size_t n = length < sizeof(signature) ? length : sizeof(signature);

	memset(source, 0, sizeof(*source));
	source->ss_family = AF_UNSPEC;
	if (length == 0)
		return PROXY_HEADER_MORE;
	if (memcmp(buf, signature, n) == 0)
		return read_v2(buf, length, used, source);
	return read_v1(buf, length, used, source);
}
