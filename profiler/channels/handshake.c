/* handshake.c: parse the line with which a writer requests a channel:
 *
 *	TALECHAIN 1 <kind> <slot_log2> <tid> <name>\n
 *
 * A pure function over bytes from outside.  Only one spelling of a request is
 * accepted: the parsed request is printed, which must give the same bytes. */
#include "profiler/channels/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* True if these bytes are exactly this request. */
static bool
is_spelt(const struct handshake *h, const char *text, size_t length)
{
	char line[HANDSHAKE_BYTES];
	int n = snprintf(line, sizeof(line), "TALECHAIN 1 %u %u %u %s",
	    (unsigned)h->kind, h->slot_log2, h->tid, h->name);

	return n == (int)length && memcmp(line, text, length) == 0;
}

int
handshake_parse(
    struct handshake *out, const char *text, size_t length, const char **why)
{
	static const char hello[] = "TALECHAIN 1 ";
	size_t known = length < sizeof(hello) - 1 ? length : sizeof(hello) - 1;
	const char *end = length > 0 ? memchr(text, '\n', length) : NULL;
	char line[HANDSHAKE_BYTES];
	unsigned kind;

	*why = "not a request of protocol version 1";
	if (memcmp(text, hello, known) != 0)
		return -EPROTO;
	*why = "line too long";
	if (end == NULL && length < HANDSHAKE_BYTES)
		return -EAGAIN;
	if (end == NULL || end - text >= HANDSHAKE_BYTES)
		return -EPROTO;
	*why = "bytes after the request";
	if (end + 1 != text + length)
		return -EPROTO;
	memcpy(line, text, (size_t)(end - text));
	line[end - text] = '\0';
	memset(out, 0, sizeof(*out));
	*why = "expected a kind, a size, a thread id and 1 to 31 of A-Z a-z "
	       "0-9 . _ -";
	if (sscanf(line, "TALECHAIN 1 %u %u %u %31[A-Za-z0-9._-]", &kind,
		&out->slot_log2, &out->tid, out->name) != 4)
		return -EPROTO;
	out->kind = (enum talechain_kind)kind;
	if (!is_spelt(out, text, (size_t)(end - text)) || out->tid == 0)
		return -EPROTO;
	*why = "bad kind";
	if (kind < TALECHAIN_KIND_APP || kind > TALECHAIN_KIND_KERNEL)
		return -EPROTO;
	*why = "bad size, expected 6 to 20";
	if (out->slot_log2 < TALECHAIN_SLOT_LOG2_MIN ||
	    out->slot_log2 > TALECHAIN_SLOT_LOG2_MAX)
		return -EPROTO;
	return 0;
}
