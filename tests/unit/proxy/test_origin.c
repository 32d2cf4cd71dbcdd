/* Goal: a trusted proxy's word about its client counts, a client's own word
 * about itself never. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "proxy/client/peer.h"

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
};

static struct config config;

/* The front is 10.0.0.1; 10.0.0.0/8 is trusted, 192.0.2.0/24 is allowed. */
static void
origin_of(const char *front, const char *lines, struct peer *out)
{
	struct http_refusal refusal = {0};
	struct sockaddr_storage address = {0};
	struct sockaddr_in *in = (void *)&address;
	static struct http_head head;
	struct peer peer;
	char text[1024];

	in->sin_family = AF_INET;
	assert_int_equal(inet_pton(AF_INET, front, &in->sin_addr), 1);
	peer_describe(&config, &address, &peer);
	snprintf(
	    text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
	if (http_parse_request(&limits, text, strlen(text), &head, &refusal))
		fail_msg("%s", refusal.reason);
	origin_find(&config, &peer, &head, out);
}

static void
network(struct config_network *n, const char *text, unsigned bits)
{
	*n = (struct config_network){.family = AF_INET, .bits = bits};
	assert_int_equal(inet_pton(AF_INET, text, n->address), 1);
}

TEST(test_origins)
{
	static const struct {
		const char *front, *lines, *origin;
		bool allowed;
	} cases[] = {
	    {"10.0.0.1", "", "10.0.0.1", false},
	    {"10.0.0.1", "X-Forwarded-For: \r\n", "10.0.0.1", false},
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7", true},
	    /* a stranger's own word */
	    {"198.51.100.1", "X-Forwarded-For: 192.0.2.7\r\n", "198.51.100.1",
		false},
	    /* what a client wrote stands before what the front wrote */
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7, 203.0.113.5\r\n",
		"203.0.113.5", false},
	    {"10.0.0.1",
		"X-Forwarded-For: 192.0.2.7\r\nx-forwarded-for: 203.0.113.5"
		"\r\n",
		"203.0.113.5", false},
	    /* two fronts, one behind the other */
	    {"10.0.0.1",
		"X-Forwarded-For: 203.0.113.5, 192.0.2.7,10.0.0.2 ,, \r\n",
		"192.0.2.7", true},
	    {"10.0.0.1", "X-Forwarded-For: 10.0.0.9, 10.0.0.2\r\n", "10.0.0.9",
		false},
	    /* forms that fronts write */
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7:4711\r\n", "192.0.2.7",
		true},
	    {"10.0.0.1", "X-Forwarded-For: ::ffff:192.0.2.7\r\n", "192.0.2.7",
		true},
	    {"10.0.0.1", "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1",
		false},
	    {"10.0.0.1", "X-Forwarded-For: [2001:db8::1]\r\n", "2001:db8::1",
		false},
	    {"10.0.0.1", "X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8::1",
		false},
	    /* what is no address hides all before it */
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7, unix:\r\n", "unknown",
		false},
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7, unknown\r\n", "unknown",
		false},
	    {"10.0.0.1", "X-Forwarded-For: [192.0.2.7]\r\n", "unknown", false},
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7:\r\n", "unknown", false},
	    {"10.0.0.1", "X-Forwarded-For: 192.0.2.7:8o\r\n", "unknown", false},
	    {"10.0.0.1", "X-Forwarded-For: [2001:db8::1\r\n", "unknown", false},
	    {"10.0.0.1", "X-Forwarded-For: [2001:db8::1]x\r\n", "unknown",
		false},
	    {"10.0.0.1",
		"X-Forwarded-For: 192.0.2.7"
		"0000000000000000000000000000000000000000000000000000000"
		"\r\n",
		"unknown", false},
	};

	config.proxy.networks = 1;
	network(&config.proxy.trust[0], "10.0.0.0", 8);
	config.talechain.networks = 1;
	network(&config.talechain.allow[0], "192.0.2.0", 24);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peer origin;

		origin_of(cases[i].front, cases[i].lines, &origin);
		assert_string_equal(origin.address, cases[i].origin);
		assert_int_equal(origin.tale_allowed, cases[i].allowed);
	}
}
