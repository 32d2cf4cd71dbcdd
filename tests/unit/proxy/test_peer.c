/* Goal: connections are counted by address exactly, and permissions follow
 * the configured networks; a trusted proxy's word about its client counts, a
 * client's own word about itself never. */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "proxy/client/peer.h"

static struct config config;

static struct peer
peer_of(const char *text)
{
	struct sockaddr_storage a = {0};
	struct peer p;

	if (strcmp(text, "unix") == 0) {
		a.ss_family = AF_UNIX;
	} else if (strchr(text, ':') != NULL) {
		struct sockaddr_in6 *in6 = (void *)&a;

		in6->sin6_family = AF_INET6;
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	} else {
		struct sockaddr_in *in = (void *)&a;

		in->sin_family = AF_INET;
		assert_int_equal(inet_pton(AF_INET, text, &in->sin_addr), 1);
	}
	peer_describe(&config, &a, &p);
	return p;
}

static void
network(struct config_network *n, int family, const char *text, unsigned bits)
{
	n->family = family;
	n->bits = bits;
	assert_int_equal(inet_pton(family, text, n->address), 1);
}

TEST(test_permissions)
{
	static const struct {
		const char *address, *text;
		bool trusted, tale;
	} cases[] = {
	    {"10.1.2.3", "10.1.2.3", true, false},
	    {"10.127.255.255", "10.127.255.255", true, false},
	    {"10.128.0.0", "10.128.0.0", false, false},
	    {"::ffff:10.1.2.3", "10.1.2.3", true, false},
	    {"127.0.0.1", "127.0.0.1", false, true},
	    {"2001:db8::1", "2001:db8::1", true, false},
	    {"2001:db9::1", "2001:db9::1", false, false},
	    {"unix", "unix", false, false},
	};
	struct sockaddr_storage other = {.ss_family = AF_UNSPEC};
	struct peer p;

	config.proxy.networks = 2;
	network(&config.proxy.trusted_proxies[0], AF_INET, "10.0.0.0", 9);
	network(&config.proxy.trusted_proxies[1], AF_INET6, "2001:db8::", 32);
	config.talechain.networks = 1;
	network(&config.talechain.allow[0], AF_INET, "127.0.0.0", 8);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		p = peer_of(cases[i].address);
		assert_string_equal(p.address, cases[i].text);
		assert_int_equal(p.trusted, cases[i].trusted);
		assert_int_equal(p.tale_allowed, cases[i].tale);
		assert_int_equal(
		    p.local, strcmp(cases[i].address, "unix") == 0);
	}
	/* goal: unix is a name in the lists like any other */
	config.proxy.trusted_proxies[config.proxy.networks++].family = AF_UNIX;
	p = peer_of("unix");
	assert_true(p.trusted && !p.tale_allowed);
	config.talechain.allow[config.talechain.networks++].family = AF_UNIX;
	p = peer_of("unix");
	assert_true(p.trusted && p.tale_allowed);
	/* and names no peer whose address could not be read */
	peer_describe(&config, &other, &p);
	assert_string_equal(p.address, "unknown");
	assert_true(!p.local && !p.trusted && !p.tale_allowed);
	memset(&config, 0, sizeof(config));
}

/* Goal: a proxy's clients do not share its address's limits. */
TEST(test_trusted_are_not_counted)
{
	struct peer_table t;
	struct peer proxy;

	config.proxy.networks = 1;
	network(&config.proxy.trusted_proxies[0], AF_INET, "10.0.0.0", 8);
	proxy = peer_of("10.0.0.1");
	memset(&config, 0, sizeof(config));
	assert_int_equal(peer_table_init(&t, 100), 0);
	assert_null(peer_enter(&t, &proxy));
	assert_int_equal(t.addresses, 0);
	peer_table_fini(&t);
}

TEST(test_who_counts_together)
{
	struct peer_table t;
	struct peer a = peer_of("2001:db8:1:2::1");
	struct peer same = peer_of("2001:db8:1:2:ffff::2");
	struct peer other = peer_of("2001:db8:1:3::1");
	struct peer v4 = peer_of("192.0.2.1"), mapped, local = peer_of("unix");
	struct peer_count *n[5];

	mapped = peer_of("::ffff:192.0.2.1");
	assert_int_equal(peer_table_init(&t, 100), 0);
	n[0] = peer_enter(&t, &a);
	n[1] = peer_enter(&t, &same);
	n[2] = peer_enter(&t, &other);
	n[3] = peer_enter(&t, &v4);
	n[4] = peer_enter(&t, &mapped);
	assert_ptr_equal(n[0], n[1]);
	assert_ptr_not_equal(n[0], n[2]);
	assert_ptr_equal(n[3], n[4]);
	assert_int_equal(n[0]->connections, 2);
	assert_null(peer_enter(&t, &local));
	peer_leave(&t, NULL);
	for (int i = 0; i < 5; i++)
		peer_leave(&t, n[i]);
	assert_int_equal(t.addresses, 0);
	peer_table_fini(&t);
}

/* A random walk beside an array that counts. */
TEST(test_against_an_array)
{
	enum { ADDRESSES = 300, STEPS = 200000 };
	static unsigned truth[ADDRESSES];
	static struct peer_count *held[ADDRESSES];
	struct peer_table t;
	unsigned present = 0;

	/* few buckets, so that chains form */
	assert_int_equal(peer_table_init(&t, 1), 0);
	for (int step = 0; step < STEPS; step++) {
		unsigned i = (unsigned)unit_draw(ADDRESSES);
		char text[32];
		struct peer p;

		snprintf(text, sizeof(text), "10.0.%u.%u", i / 200, i % 200);
		p = peer_of(text);
		if (unit_draw(2) == 0) {
			present += truth[i]++ == 0;
			held[i] = peer_enter(&t, &p);
			assert_int_equal(held[i]->connections, truth[i]);
		} else if (truth[i] > 0) {
			present -= --truth[i] == 0;
			peer_leave(&t, held[i]);
		}
		assert_int_equal(t.addresses, present);
	}
	peer_table_fini(&t);
}

static const struct http_limits limits = {
    .head_max = 16384,
    .fields_max = HTTP_FIELDS_MAX,
};

/* The front is 10.0.0.1; 10.0.0.0/8 is trusted, 192.0.2.0/24 is allowed. */
static void
origin_of(const char *front, const char *lines, struct peer *out)
{
	struct http_refusal refusal = {0};
	static struct http_head head;
	struct peer peer = peer_of(front);
	char text[1024];

	snprintf(
	    text, sizeof(text), "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines);
	if (http_parse_request(&limits, text, strlen(text), &head, &refusal))
		fail_msg("%s", refusal.reason);
	origin_find(&config, &peer, &head, out);
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
	network(&config.proxy.trusted_proxies[0], AF_INET, "10.0.0.0", 8);
	config.talechain.networks = 1;
	network(&config.talechain.allow[0], AF_INET, "192.0.2.0", 24);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peer origin;

		origin_of(cases[i].front, cases[i].lines, &origin);
		assert_string_equal(origin.address, cases[i].origin);
		assert_int_equal(origin.tale_allowed, cases[i].allowed);
	}
	memset(&config, 0, sizeof(config));
}
