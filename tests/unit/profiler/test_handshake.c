/*
 * Goal: a request for a channel is understood only if it is exactly one; the
 * real emitter's always is.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

#include "profiler/channels/channel.h"

static int
parse(const char *text, struct handshake *h)
{
	const char *why = NULL;
	int err = handshake_parse(h, text, strlen(text), &why);

	assert_non_null(why);
	return err;
}

/* Goal: every field comes out as it went in. */
TEST(test_good)
{
	struct handshake h;

	assert_int_equal(parse("TALECHAIN 1 2 12 4711 jvm-17.a_B\n", &h), 0);
	assert_int_equal(h.kind, TALECHAIN_KIND_JVM);
	assert_int_equal(h.slot_log2, 12);
	assert_int_equal(h.tid, 4711);
	assert_string_equal(h.name, "jvm-17.a_B");
	assert_int_equal(
	    parse("TALECHAIN 1 1 6 1 0123456789012345678901234567890\n", &h),
	    0);
	assert_int_equal(strlen(h.name), 31);
	assert_int_equal(parse("TALECHAIN 1 1 20 999999999 x\n", &h), 0);
}

/* Goal: nothing else is. */
TEST(test_bad)
{
	static const char *const bad[] = {
	    "\n",
	    "GET / HTTP/1.1\n",
	    "TALECHAIN 2 1 12 1 x\n",
	    "talechain 1 1 12 1 x\n",
	    "TALECHAIN 1 \n",
	    "TALECHAIN 1 0 12 1 x\n",
	    "TALECHAIN 1 5 12 1 x\n",
	    "TALECHAIN 1 01 12 1 x\n",
	    "TALECHAIN 1 +1 12 1 x\n",
	    "TALECHAIN 1 1  12 1 x\n",
	    "TALECHAIN 1 1 5 1 x\n",
	    "TALECHAIN 1 1 21 1 x\n",
	    "TALECHAIN 1 1 4294967302 1 x\n",
	    "TALECHAIN 1 1 12 0 x\n",
	    "TALECHAIN 1 1 12 -1 x\n",
	    "TALECHAIN 1 1 12 99999999999 x\n",
	    "TALECHAIN 1 1 12 1\n",
	    "TALECHAIN 1 1 12 1 \n",
	    "TALECHAIN 1 1 12 1 a b\n",
	    "TALECHAIN 1 1 12 1 ../x\n",
	    "TALECHAIN 1 1 12 1 x\r\n",
	    "TALECHAIN 1 1 12 1 x\nmore",
	    "TALECHAIN 1 1 12 1 x\n\n",
	    "TALECHAIN 1 1 12 1 01234567890123456789012345678901\n",
	};
	struct handshake h;
	const char *why;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (parse(bad[i], &h) != -EPROTO)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(
	    handshake_parse(&h, "TALECHAIN 1 1 12 1 a\0b\n", 23, &why),
	    -EPROTO);
}

/* Goal: each beginning of a good line waits for more, and a long one does
 * not wait for ever. */
TEST(test_incomplete)
{
	static const char line[] = "TALECHAIN 1 1 12 4711 worker\n";
	char text[HANDSHAKE_BYTES];
	struct handshake h;
	const char *why;
	size_t n;

	for (n = 0; n < sizeof(line) - 1; n++)
		assert_int_equal(handshake_parse(&h, line, n, &why), -EAGAIN);
	memset(text, 'a', sizeof(text));
	memcpy(text, line, sizeof(line) - 2);
	assert_int_equal(
	    handshake_parse(&h, text, sizeof(text) - 1, &why), -EAGAIN);
	assert_int_equal(
	    handshake_parse(&h, text, sizeof(text), &why), -EPROTO);
}
