/*
 * fuzz_proxy_protocol.c: libFuzzer target, the PROXY protocol's header.
 *
 * Aborts if
 *   - the outcome of the whole depends on how much came before: a header that
 *     is read must have been MORE at each shorter length, and one that is
 *     refused must stay so;
 *   - more is used than there was, or than a header may have;
 *   - what follows a header changes what was read of it.
 */
#include "http/http.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

/* From memory of exactly that size, so that reading beyond is seen. */
static enum proxy_header
feed(const uint8_t *data, size_t n, size_t *used, struct sockaddr_storage *a)
{
	char *exact = malloc(n > 0 ? n : 1);
	enum proxy_header p;

	check(exact != NULL, "memory");
	if (n > 0)
		memcpy(exact, data, n);
	p = proxy_header_read(exact, n, used, a);
	free(exact);
	return p;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_storage source, again;
	enum proxy_header whole, part = PROXY_HEADER_MORE;
	size_t used = 0, used_again = 0, n;

	if (size > PROXY_HEADER_MAX + 64)
		size = PROXY_HEADER_MAX + 64;
	whole = feed(data, size, &used, &source);
	for (n = 0; n < size && part == PROXY_HEADER_MORE; n++)
		part = feed(data, n, &used_again, &again);
	if (part == PROXY_HEADER_MORE)
		part = feed(data, size, &used_again, &again);
	check(part == whole, "depends on the pieces");
	if (whole != PROXY_HEADER_READ && whole != PROXY_HEADER_LOCAL)
		return 0;
	check(used <= size && used <= PROXY_HEADER_MAX, "used too much");
	check(used == used_again, "what follows counts");
	check(memcmp(&source, &again, sizeof(source)) == 0, "another source");
	check(whole != PROXY_HEADER_LOCAL || source.ss_family == AF_UNSPEC,
	    "LOCAL has no client");
	check(source.ss_family == AF_UNSPEC || source.ss_family == AF_INET ||
		  source.ss_family == AF_INET6,
	    "a family");
	return 0;
}
