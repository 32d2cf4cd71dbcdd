/* Goal: a copy of a request has its request line and the fields that may be
 * copied, in their order and spelling, and nothing else of it. */
#include "tests/unit/unit.h"

#include <string.h>

#include "proxy/upstream/replay.h"

static char tenant[] = "x-tenant", cookie[] = "Cookie", admin[] = "/admin/**";
static char forwarded_for[] = "X-Forwarded-For";
static char authorization[] = "Authorization";
static const struct config plain = {0};
static const struct config added = {.warmup = {.field_names = 2,
					.fields = {tenant, cookie},
					.exclude_patterns = 1,
					.exclude = {admin}}};
static const struct config named = {
    .warmup = {.field_names = 1, .fields = {forwarded_for}}};

static const struct config authorized = {
    .warmup = {.field_names = 1, .fields = {authorization}}};

#define LINE "GET /a?b=/admin/ HTTP/1.1\r\n"
#define HOST "Host: h\r\n"
#define FOR "X-Forwarded-For: unknown\r\n"

TEST(test_copies)
{
	static const struct {
		const struct config *config;
		const char *head;
		const char *copy; /* NULL: refused */
		enum replay_refusal refusal;
	} cases[] = {
	    {&plain, LINE HOST, LINE HOST FOR, 0},
	    {&plain, LINE, LINE FOR, 0},
	    {&plain,
		LINE HOST "ACCEPT: a:b\r\nAccepts: n\r\nX-Tenant: t\r\n"
			  "Range: bytes=1-\r\nX-Range: n\r\nHostile: n\r\n"
			  "User-Agent: \r\nTailor-Request: 1\r\n",
		LINE HOST "ACCEPT: a:b\r\nRange: bytes=1-\r\n"
			  "User-Agent: \r\n" FOR,
		0},
	    {&plain,
		LINE HOST "X-Forwarded-For: 192.0.2.1\r\n"
			  "X-Forwarded-Proto: https\r\n"
			  "X-Forwarded-Host: o\r\n",
		LINE HOST "X-Forwarded-Proto: https\r\n"
			  "X-Forwarded-Host: o\r\n" FOR,
		0},
	    {&named, LINE HOST "X-Forwarded-For: 192.0.2.1\r\n",
		LINE HOST "X-Forwarded-For: 192.0.2.1\r\n", 0},
	    {&plain, LINE HOST "cookie: c\r\n", NULL, REPLAY_CREDENTIALS},
	    {&added, LINE HOST "cookie: c\r\nX-Tenant: t\r\n",
		LINE HOST "cookie: c\r\nX-Tenant: t\r\n" FOR, 0},
	    {&added, LINE HOST "cookie: c\r\nAuthorization: x\r\n", NULL,
		REPLAY_CREDENTIALS},
	    {&authorized, LINE HOST "Authorization: Basic bnRsbTo=\r\n",
		LINE HOST "Authorization: Basic bnRsbTo=\r\n" FOR, 0},
	    {&authorized, LINE HOST "authorization:ntlm TlRMTVNTUAAB\r\n", NULL,
		REPLAY_CREDENTIALS},
	    {&authorized, LINE HOST "Authorization: Negotiate YII=\r\n", NULL,
		REPLAY_CREDENTIALS},
	    {&plain, "GET /admin/x HTTP/1.1\r\n" HOST,
		"GET /admin/x HTTP/1.1\r\n" HOST FOR, 0},
	    {&added, "GET /admin/x HTTP/1.1\r\n" HOST, NULL, REPLAY_EXCLUDED},
	    {&added, "GET /x/../admin HTTP/1.1\r\n" HOST, NULL, REPLAY_PATH},
	    {&plain, "OPTIONS * HTTP/1.1\r\n" HOST, NULL, REPLAY_PATH},
	    {&plain, "", NULL, REPLAY_PATH},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct slice head = {cases[i].head, strlen(cases[i].head)};
		enum replay_refusal refusal;
		char out[REPLAY_HEAD_BYTES];
		int n = replay_write(
		    cases[i].config, head, out, sizeof(out), &refusal);

		print_message("%s\n", cases[i].head);
		if (cases[i].copy == NULL) {
			assert_true(n < 0);
			assert_int_equal(refusal, cases[i].refusal);
			continue;
		}
		assert_int_equal(n, strlen(cases[i].copy));
		assert_memory_equal(out, cases[i].copy, (size_t)n);
		/* A copy is copied as it is: a reload looks at it again. */
		head = (struct slice){cases[i].copy, (size_t)n};
		assert_int_equal(replay_write(cases[i].config, head, out,
				     sizeof(out), &refusal),
		    n);
	}
}

TEST(test_size)
{
	static const char head[] = LINE HOST "X: not counted\r\n";
	struct slice whole = {head, sizeof(head) - 1};
	size_t size = sizeof(LINE HOST FOR) - 1;
	enum replay_refusal refusal;
	char out[sizeof(LINE HOST FOR)];

	assert_int_equal(
	    replay_write(&plain, whole, out, size, &refusal), size);
	assert_true(replay_write(&plain, whole, out, size - 1, &refusal) < 0);
	assert_int_equal(refusal, REPLAY_SIZE);
}
