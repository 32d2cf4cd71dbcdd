/*
 * test_corpus.c: the conformance corpus against the gate.
 *
 * Reads corpus/requests.txt and responses.txt (their format is in the
 * README next to them; the test runs in the root of the sources).  Each case
 * is fed whole, byte by byte and, if short, cut in two at each place; the
 * outcome must be the one written down, each time.  What passes is written
 * again and must pass again unchanged.
 */
#include "tests/unit/http/corpus/run.h"

#include <inttypes.h>

#include "tests/unit/unit.h"

#define CORPUS "tests/unit/http/corpus/"
#define TEXT_MAX (128 * 1024)
#define CUT_MAX 600 /* longer messages are not cut at each place */

enum outcome {
	OUTCOME_NONE,
	OUTCOME_REFUSE,
	OUTCOME_MORE,
	OUTCOME_PASS,
	OUTCOME_ANY
};

struct text {
	char at[TEXT_MAX];
	size_t length;
};

struct test_case {
	char name[80];
	struct run_input input;
	enum outcome outcome;
	unsigned status;
	char reason[40];
	enum http_framing framing;
	uint64_t content_length;
	bool told, close, expect, upgrade, cut;
	struct text in, out, body, rest;
};

static unsigned cases, failures;

static void
report(const struct test_case *c, const char *how, const char *what)
{
	print_error("%s, %s: %s\n", c->name, how, what);
	failures++;
}

static const char *
framing_line(const struct test_case *c, char *line, size_t capacity)
{
	bool length = c->framing == HTTP_FRAMING_LENGTH || c->told;

	line[0] = '\0';
	if (c->framing == HTTP_FRAMING_CHUNKED)
		return "Transfer-Encoding: chunked\r\n";
	if (length)
		snprintf(line, capacity, "Content-Length: %" PRIu64 "\r\n",
		    c->content_length);
	return line;
}

/* All that the gate should have written: the case's lines and its own. */
static void
expected_head(const struct test_case *c, struct text *t)
{
	const char *host = strstr(c->out.at, "\r\nHost: ");
	char length[64];

	if (!c->input.request) {
		t->length = (size_t)snprintf(t->at, sizeof(t->at),
		    "%.*s%s%s\r\n", (int)c->out.length, c->out.at,
		    framing_line(c, length, sizeof(length)),
		    c->close ? "Connection: close\r\n" : "");
		return;
	}
	t->length = (size_t)snprintf(t->at, sizeof(t->at),
	    "%.*sX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\n",
	    (int)c->out.length, c->out.at);
	if (host != NULL) {
		host += strlen("\r\nHost: ");
		t->length += (size_t)snprintf(t->at + t->length,
		    sizeof(t->at) - t->length, "X-Forwarded-Host: %.*s\r\n",
		    (int)strcspn(host, "\r"), host);
	}
	t->length +=
	    (size_t)snprintf(t->at + t->length, sizeof(t->at) - t->length,
		"Tailor-Request: 000000000000002a\r\n%s\r\n",
		framing_line(c, length, sizeof(length)));
}

static const char *
check_head(const struct test_case *c, const struct run *r)
{
	static struct text expected;

	expected_head(c, &expected);
	if (r->written_length != (int)expected.length ||
	    memcmp(r->written, expected.at, expected.length) != 0) {
		print_error("expected:\n%.*s\nwritten:\n%.*s\n",
		    (int)expected.length, expected.at, r->written_length,
		    r->written);
		return "head written otherwise";
	}
	if (r->head.framing != c->framing)
		return "framing";
	if (c->framing == HTTP_FRAMING_LENGTH &&
	    r->head.content_length != c->content_length)
		return "content length";
	if (r->head.keep_alive == c->close)
		return "keep-alive";
	if (r->head.expect_continue != c->expect)
		return "expect";
	if (r->head.upgrade != c->upgrade)
		return "upgrade";
	return NULL;
}

static const char *
check_body(const struct test_case *c, const struct run *r)
{
	size_t rest = c->input.length - r->used;

	if (r->body_done == c->cut)
		return c->cut ? "not cut" : "body not complete";
	if (r->payload_length != c->body.length ||
	    memcmp(r->payload, c->body.at, c->body.length) != 0)
		return "payload";
	if (rest != c->rest.length ||
	    memcmp(c->input.bytes + r->used, c->rest.at, rest) != 0)
		return "rest";
	return NULL;
}

static const char *
check_run(const struct test_case *c, const struct run *r)
{
	const char *wrong;

	if (c->outcome == OUTCOME_REFUSE) {
		if (r->refusal.reason == NULL)
			return "passed";
		if (r->refusal.status != c->status ||
		    strcmp(r->refusal.reason, c->reason) != 0) {
			print_error(
			    "%u %s\n", r->refusal.status, r->refusal.reason);
			return "refused for another reason";
		}
		return NULL;
	}
	if (r->refusal.reason != NULL) {
		print_error("%u %s\n", r->refusal.status, r->refusal.reason);
		return "refused";
	}
	if (c->outcome == OUTCOME_MORE)
		return r->head_done ? "complete" : NULL;
	if (!r->head_done)
		return "not complete";
	if (c->outcome == OUTCOME_PASS) {
		wrong = check_head(c, r);
		if (wrong == NULL)
			wrong = check_body(c, r);
		if (wrong != NULL)
			return wrong;
	}
	return run_not_fixed(r, &c->input);
}

static void
run_case(struct test_case *c)
{
	struct run_input *in = &c->input;
	const char *wrong;
	struct run *whole, *cut;
	char how[40];

	cases++;
	/* exactly as long as it is, for the sanitizer to see over-reads */
	in->length = c->in.length;
	in->bytes = test_malloc(in->length);
	memcpy((void *)(uintptr_t)in->bytes, c->in.at, in->length);
	whole = run_message(in, in->length, 1);
	wrong = check_run(c, whole);
	if (wrong != NULL)
		report(c, "whole", wrong);
	for (size_t at = 0; at < in->length; at++) {
		if (at > 0 && in->length > CUT_MAX)
			break;
		cut =
		    run_message(in, at == 0 ? 1 : at, at == 0 ? 1 : in->length);
		wrong = run_differs(whole, cut);
		snprintf(how, sizeof(how),
		    at == 0 ? "byte by byte" : "cut at %zu", at);
		if (wrong != NULL)
			report(c, how, wrong);
		run_free(&cut);
	}
	run_free(&whole);
	test_free((void *)(uintptr_t)in->bytes);
}

static int
hex_digit(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Append a quoted text with escapes; *at is behind the closing quote after. */
static void
text_append(struct text *t, const char **at)
{
	const char *p = strchr(*at, '"');

	assert_non_null(p);
	for (p++; *p != '"'; p++) {
		char c = *p;

		assert_true(c != '\0' && t->length < sizeof(t->at));
		if (c == '\\') {
			c = *++p;
			if (c == 'x') {
				c = (char)(hex_digit(p[1]) << 4 |
					   hex_digit(p[2]));
				p += 2;
			} else {
				c = c == 'r'   ? '\r'
				    : c == 'n' ? '\n'
				    : c == 't' ? '\t'
				    : c == '0' ? '\0'
					       : c;
			}
		}
		t->at[t->length++] = c;
	}
	t->at[t->length] = '\0';
	*at = p + 1;
}

static void
text_fill(struct text *t, const char *at)
{
	unsigned long count = strtoul(at, NULL, 10);
	static struct text once;

	once.length = 0;
	text_append(&once, &at);
	assert_true(count * once.length < sizeof(t->at) - t->length);
	for (unsigned long i = 0; i < count; i++) {
		memcpy(t->at + t->length, once.at, once.length);
		t->length += once.length;
	}
}

static void
case_begin(struct test_case *c, bool request, const char *name)
{
	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->input.request = request;
	c->input.limits = (struct http_limits){
	    .head_max = 16384,
	    .fields_max = HTTP_FIELDS_MAX,
	    .body_max = 1 << 20,
	};
}

static void
read_framing(struct test_case *c, const char *rest)
{
	if (strncmp(rest, "length ", 7) == 0) {
		c->framing = HTTP_FRAMING_LENGTH;
		c->content_length = strtoull(rest + 7, NULL, 10);
	} else if (strcmp(rest, "chunked") == 0) {
		c->framing = HTTP_FRAMING_CHUNKED;
	} else {
		assert_string_equal(rest, "close");
		c->framing = HTTP_FRAMING_CLOSE;
	}
}

static void
read_option(struct test_case *c, const char *rest)
{
	unsigned n;

	if (strcmp(rest, "underscore") == 0)
		c->input.limits.underscore_pass = true;
	else if (sscanf(rest, "fields %u", &n) == 1)
		c->input.limits.fields_max = n;
	else if (sscanf(rest, "body %u", &n) == 1)
		c->input.limits.body_max = n;
	else
		fail_msg("option %s", rest);
}

static void
read_outcome(struct test_case *c, const char *word, const char *rest)
{
	if (strcmp(word, "refuse") == 0) {
		c->outcome = OUTCOME_REFUSE;
		assert_int_equal(
		    sscanf(rest, "%u %39s", &c->status, c->reason), 2);
	} else if (strcmp(word, "more") == 0) {
		c->outcome = OUTCOME_MORE;
	} else if (strcmp(word, "pass") == 0) {
		c->outcome = OUTCOME_PASS;
	} else if (strcmp(word, "pass-any") == 0) {
		c->outcome = OUTCOME_ANY;
	} else {
		fail_msg("%s: unknown word %s", c->name, word);
	}
}

static void
read_line(struct test_case *c, const char *word, const char *rest)
{
	if (strcmp(word, "in") == 0) {
		text_append(&c->in, &rest);
	} else if (strcmp(word, "fill") == 0) {
		text_fill(&c->in, rest);
	} else if (strcmp(word, "out") == 0) {
		text_append(&c->out, &rest);
		memcpy(c->out.at + c->out.length, "\r\n", 3);
		c->out.length += 2;
	} else if (strcmp(word, "body") == 0) {
		text_append(&c->body, &rest);
	} else if (strcmp(word, "rest") == 0) {
		text_append(&c->rest, &rest);
	} else if (strcmp(word, "method") == 0) {
		assert_string_equal(rest, "HEAD");
		c->input.method = HTTP_METHOD_HEAD;
	} else if (strcmp(word, "option") == 0) {
		read_option(c, rest);
	} else if (strcmp(word, "framing") == 0) {
		read_framing(c, rest);
	} else if (strcmp(word, "told") == 0) {
		c->told = true;
		c->content_length = strtoull(rest, NULL, 10);
	} else if (strcmp(word, "flags") == 0) {
		c->close = strstr(rest, "close") != NULL;
		c->expect = strstr(rest, "expect") != NULL;
		c->upgrade = strstr(rest, "upgrade") != NULL;
		c->cut = strstr(rest, "cut") != NULL;
	} else {
		read_outcome(c, word, rest);
	}
}

static void
run_file(const char *path, bool request, unsigned cases_min)
{
	struct test_case *c = test_malloc(sizeof(*c));
	FILE *file = fopen(path, "r");
	char *line = NULL, word[16];
	size_t capacity = 0;
	int after;

	if (file == NULL)
		fail_msg("%s: run the tests in the root of the sources", path);
	cases = failures = 0;
	case_begin(c, request, "");
	while (getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '#' || sscanf(line, "%15s %n", word, &after) < 1)
			continue;
		if (strcmp(word, "case") == 0) {
			if (c->outcome != OUTCOME_NONE)
				run_case(c);
			case_begin(c, request, line + after);
		} else {
			read_line(c, word, line + after);
		}
	}
	run_case(c);
	free(line);
	fclose(file);
	test_free(c);
	print_message("%s: %u cases\n", path, cases);
	assert_int_equal(failures, 0);
	assert_true(cases >= cases_min);
}

TEST(test_requests)
{
	/* goal: every request of the corpus ends as written down there */
	run_file(CORPUS "requests.txt", true, 150);
}

TEST(test_responses)
{
	/* goal: every response of the corpus ends as written down there */
	run_file(CORPUS "responses.txt", false, 40);
}
