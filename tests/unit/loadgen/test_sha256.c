/* Goal: SHA-256 is the published one, in pieces of any size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "loadgen/send/sha256.h"

static void
hex(struct sha256 *s, char out[2 * SHA256_BYTES + 1])
{
	uint8_t digest[SHA256_BYTES];

	sha256_finish(s, digest);
	for (size_t i = 0; i < SHA256_BYTES; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

/* Goal: the examples of FIPS 180-4, among them a million times "a". */
static void
test_vectors(void **state)
{
	static const struct {
		const char *text;
		const char *digest;
	} all[] = {
	    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852"
		 "b855"},
	    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f2"
		    "0015ad"},
	    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		"248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06"
		"c1"},
	};
	struct sha256 s;
	char found[2 * SHA256_BYTES + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		sha256_init(&s);
		sha256_update(&s, all[i].text, strlen(all[i].text));
		hex(&s, found);
		assert_string_equal(found, all[i].digest);
	}
	sha256_init(&s);
	for (unsigned i = 0; i < 1000000; i++)
		sha256_update(&s, "a", 1);
	hex(&s, found);
	assert_string_equal(found, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a49"
				   "7200e046d39ccc7112cd0");
}

/* Goal: how the bytes are cut does not matter, around the block's ends. */
static void
test_pieces(void **state)
{
	char bytes[200], whole[2 * SHA256_BYTES + 1], cut[2 * SHA256_BYTES + 1];
	struct sha256 s;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 3);
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		sha256_init(&s);
		sha256_update(&s, bytes, n);
		hex(&s, whole);
		for (size_t piece = 1; piece <= 66; piece += 13) {
			sha256_init(&s);
			for (size_t at = 0; at < n; at += piece)
				sha256_update(&s, bytes + at,
				    piece < n - at ? piece : n - at);
			hex(&s, cut);
			assert_string_equal(cut, whole);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vectors),
	    cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
