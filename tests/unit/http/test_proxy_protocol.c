/* Goal: a PROXY header is read as its specification says, whole and byte by
 * byte, and nothing else is taken for one. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/http.h"

#define SIGNATURE "\r\n\r\n\0\r\nQUIT\n"

struct header {
	const char *bytes;
	size_t length;
	const char
	    *source; /* "address port", "" unspecified, "local", NULL bad */
};
#define HEADER(text, source)                       \
	{                                          \
		(text), sizeof(text) - 1, (source) \
	}

static const struct header headers[] = {
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n", "192.0.2.1 56324"),
    HEADER("PROXY TCP6 2001:db8::1 ::1 1 65535\r\n", "2001:db8::1 1"),
    HEADER("PROXY UNKNOWN\r\n", ""),
    HEADER("PROXY UNKNOWN ffff::1 whatever\r\n", ""),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 0 0\r\n", "192.0.2.1 0"),
    HEADER("GET / HTTP/1.1\r\nHost: a\r\n\r\n", NULL),
    HEADER("proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n", NULL),
    HEADER("PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.999 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY TCP4 2001:db8::1 ::1 1 2\r\n", NULL),
    HEADER("PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY TCP4 192.0.2.1\0 192.0.2.2 1 2\r\n", NULL),
    HEADER("PROXY \r\n", NULL),
    HEADER("PROXY UNKNOWN 0123456789012345678901234567890123456789012345678901"
	   "23456789012345678901234567890123456789012345678901\r\n",
	NULL),
    HEADER(SIGNATURE "\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\xdc\x04\x01"
		     "\xbb",
	"192.0.2.1 56324"),
    /* with something appended: a type, a length, a value */
    HEADER(SIGNATURE "\x21\x11\0\x10\xc0\0\x02\x01\xc0\0\x02\x02\xdc\x04\x01"
		     "\xbb\x04\0\x01x",
	"192.0.2.1 56324"),
    HEADER(SIGNATURE
	"\x21\x21\0\x24 \x01\r\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0"
	"\0\0\0\0\0\0\0\x02\0\x50\0\x51",
	"2001:db8::1 80"),
    HEADER(SIGNATURE "\x20\x00\0\0", "local"),
    HEADER(SIGNATURE "\x20\x11\0\x02xx", "local"),
    HEADER(SIGNATURE "\x21\x00\0\0", ""),
    HEADER(SIGNATURE "\x21\x31\0\0", ""),
    HEADER(SIGNATURE "\x11\x11\0\x0c............", NULL),   /* version 1 */
    HEADER(SIGNATURE "\x22\x11\0\x0c............", NULL),   /* command 2 */
    HEADER(SIGNATURE "\x21\x12\0\x0c............", NULL),   /* UDP */
    HEADER(SIGNATURE "\x21\x11\0\x0b...........", NULL),    /* too short */
    HEADER(SIGNATURE "\x21\x11\xff\xff............", NULL), /* too long */
    HEADER("\r\n\r\n\0\r\nQUIT\r", NULL),
};

static void
source_text(const struct sockaddr_storage *a, char *out, size_t size)
{
	char host[INET6_ADDRSTRLEN];

	out[0] = '\0';
	if (a->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)a;

		inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
		snprintf(out, size, "%s %u", host, ntohs(in->sin_port));
	} else if (a->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const void *)a;

		inet_ntop(AF_INET6, &in->sin6_addr, host, sizeof(host));
		snprintf(out, size, "%s %u", host, ntohs(in->sin6_port));
	}
}

/* Feed the first n bytes from memory of exactly that size. */
static enum proxy_header
feed(const struct header *h, size_t n, size_t extra, size_t *used,
    struct sockaddr_storage *source)
{
	char *exact = malloc(n + extra > 0 ? n + extra : 1);
	enum proxy_header p;

	memcpy(exact, h->bytes, n);
	memset(exact + n, 'G', extra);
	*used = 12345;
	p = proxy_header_read(exact, n + extra, used, source);
	free(exact);
	return p;
}

TEST(test_headers)
{
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		const struct header *h = &headers[i];
		struct sockaddr_storage source;
		char text[64];
		size_t used;
		enum proxy_header p = PROXY_HEADER_MORE, taken;

		for (size_t n = 0; n < h->length && p == PROXY_HEADER_MORE; n++)
			p = feed(h, n, 0, &used, &source);
		if (p == PROXY_HEADER_MORE) /* not refused early */
			p = feed(h, h->length, 0, &used, &source);
		if (h->source == NULL) {
			if (p != PROXY_HEADER_BAD)
				fail_msg("case %zu is taken", i);
			continue;
		}
		taken = strcmp(h->source, "local") == 0 ? PROXY_HEADER_LOCAL
							: PROXY_HEADER_READ;
		if (p != taken)
			fail_msg("case %zu is not taken", i);
		assert_int_equal(used, h->length);
		source_text(&source, text, sizeof(text));
		assert_string_equal(
		    text, taken == PROXY_HEADER_LOCAL ? "" : h->source);
		/* what follows is not touched */
		p = feed(h, h->length, 7, &used, &source);
		assert_int_equal(p, taken);
		assert_int_equal(used, h->length);
	}
}
