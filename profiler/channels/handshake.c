/* handshake.c: parse the line with which a writer requests a channel:
 *
 *	TALECHAIN 1 <kind> <slot_log2> <tid> <name>\n
 *
 * A pure function over bytes from outside: exactly one space between fields,
 * decimal numbers without sign or leading zero, a name of [A-Za-z0-9._-].  No
 * byte is read twice, none past length. */
#include "profiler/channels/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A decimal number of at most nine digits, then the given byte. */
static bool
parse_number(const char **p, const char *end, char after, uint32_t *out)
{
	const char *first = *p;
	uint32_t v = 0;

	while (*p < end && **p >= '0' && **p <= '9' && *p - first < 9)
		v = v * 10 + (uint32_t)(*(*p)++ - '0');
	if (*p == first || (*first == '0' && *p - first > 1))
		return false;
	if (*p == end || *(*p)++ != after)
		return false;
	*out = v;
	return true;
}

static bool
parse_name(const char *p, const char *end, char *out)
{
	size_t n = (size_t)(end - p), i;
	bool good;

	if (n == 0 || n > TALECHAIN_NAME_BYTES - 1)
		return false;
	for (i = 0; i < n; i++) {
		good = (p[i] >= 'a' && p[i] <= 'z') ||
		       (p[i] >= 'A' && p[i] <= 'Z') ||
		       (p[i] >= '0' && p[i] <= '9') || p[i] == '.' ||
		       p[i] == '_' || p[i] == '-';
		if (!good)
			return false;
	}
	memcpy(out, p, n);
	out[n] = '\0';
	return true;
}

int
handshake_parse(
    struct handshake *out, const char *text, size_t length, const char **why)
{
	static const char hello[] = "TALECHAIN 1 ";
	const size_t hello_bytes = sizeof(hello) - 1;
	size_t known = length < hello_bytes ? length : hello_bytes;
	const char *p = text + hello_bytes, *end;
	uint32_t kind;

	*why = "not a request of protocol version 1";
	if (memcmp(text, hello, known) != 0)
		return -EPROTO;
	end = length > 0 ? memchr(text, '\n', length) : NULL;
	if (end == NULL) {
		*why = "line too long";
		return length < HANDSHAKE_BYTES ? -EAGAIN : -EPROTO;
	}
	if (p >= end)
		return -EPROTO;
	memset(out, 0, sizeof(*out));
	*why = "bad kind";
	if (!parse_number(&p, end, ' ', &kind) || kind < TALECHAIN_KIND_APP ||
	    kind > TALECHAIN_KIND_KERNEL)
		return -EPROTO;
	out->kind = (enum talechain_kind)kind;
	*why = "bad size, expected 6 to 20";
	if (!parse_number(&p, end, ' ', &out->slot_log2) ||
	    out->slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    out->slot_log2 > TALECHAIN_SLOT_LOG2_MAX)
		return -EPROTO;
	*why = "bad thread id";
	if (!parse_number(&p, end, ' ', &out->tid) || out->tid == 0)
		return -EPROTO;
	*why = "bad name, expected 1 to 31 of A-Z a-z 0-9 . _ -";
	if (!parse_name(p, end, out->name))
		return -EPROTO;
	*why = "bytes after the request";
	if (end + 1 != text + length)
		return -EPROTO;
	return 0;
}
