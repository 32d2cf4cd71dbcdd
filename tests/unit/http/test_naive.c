/*
 * test_naive.c: the body decoder against a naive one.
 *
 * The naive decoder has the whole message in front of it and works line by
 * line, with none of the decoder's states; both are given random messages,
 * most of them damaged somewhere, and the decoder gets them in random pieces.
 */
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ROUNDS 60000

/* A valid chunked message and its payload. */
static void
message_draw(struct bytes *message, struct bytes *payload)
{
	static const char *const extensions[] = {
	    "", "", "", ";a", ";a=b", ";a=\"b;\\\"\"", ";a;b=c"};
	static const char *const trailers[] = {"", "", "x: y\r\n",
	    "a:\r\nb:c\r\n", "Hosts: a\r\n", "x-content-length:1\r\n",
	    "hos: a\r\nhost-: b\r\n"};
	char text[64];

	message->length = payload->length = 0;
	for (uint64_t n = unit_draw(6); n > 0; n--) {
		size_t size = 1 + unit_draw(unit_draw(4) == 0 ? 300 : 20);

		snprintf(text, sizeof(text), unit_draw(2) ? "%.*zx" : "%.*zX",
		    (int)unit_draw(5), size);
		bytes_text(message, text);
		bytes_text(message, extensions[unit_draw(7)]);
		bytes_text(message, "\r\n");
		for (size_t i = 0; i < size; i++) {
			char c = "\r\n0;a1:\0"[unit_draw(8)];

			bytes_add(message, &c, 1);
			bytes_add(payload, &c, 1);
		}
		bytes_text(message, "\r\n");
	}
	bytes_text(message, unit_draw(2) ? "0" : "00");
	bytes_text(message, extensions[unit_draw(7)]);
	bytes_text(message, "\r\n");
	bytes_text(message, trailers[unit_draw(7)]);
	bytes_text(message, "\r\n");
}

/* Change, insert or remove a byte, where it matters more often than not. */
static void
message_damage(struct bytes *m)
{
	size_t at = unit_draw(m->length);
	char c = "\r\n;:= \t\"\\0aFg\0\x7f\x80"[unit_draw(16)];

	switch (unit_draw(3)) {
	case 0:
		m->at[at] = c;
		break;
	case 1:
		memmove(m->at + at + 1, m->at + at, m->length - at);
		m->at[at] = c;
		m->length++;
		break;
	default:
		memmove(m->at + at, m->at + at + 1, m->length - at - 1);
		m->length--;
	}
}

enum verdict { VERDICT_DONE, VERDICT_MORE, VERDICT_BAD };

static bool
is_token(char c)
{
	return c != '\0' && strchr("!#$%&'*+-.^_`|~0123456789"
				   "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
				c) != NULL;
}

static bool
is_value(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

/*
 * Could s be the beginning of a list of extensions?  *whole tells whether it
 * is one as it stands.
 */
static bool
naive_extensions(const char *s, size_t n, bool *whole)
{
	size_t i = 0, start;

	*whole = false;
	while (i < n) {
		if (s[i++] != ';')
			return false;
		for (start = i; i < n && is_token(s[i]);)
			i++;
		if (i == n) {
			*whole = i > start;
			return true;
		}
		if (i == start)
			return false;
		if (s[i] != '=')
			continue;
		i++;
		if (i < n && s[i] == '"') {
			for (i++; i < n && s[i] != '"'; i++) {
				if (!is_value(s[i]))
					return false;
				if (s[i] == '\\' && ++i < n && !is_value(s[i]))
					return false;
			}
			if (i >= n)
				return true;
			i++;
			continue;
		}
		for (start = i; i < n && is_token(s[i]);)
			i++;
		if (i == start)
			return i == n;
	}
	*whole = true;
	return true;
}

/* A chunk line of n bytes, without CR: could it be (the start of) one? */
static bool
naive_line(const char *s, size_t n, uint64_t *size, bool *whole)
{
	size_t digits = 0;
	char text[20] = "";

	while (digits < n && digits < 17 && s[digits] != '\0' &&
	       strchr("0123456789abcdefABCDEF", s[digits]) != NULL)
		digits++;
	*whole = false;
	if (digits > 16 || (digits == 0 && n > 0))
		return false;
	memcpy(text, s, digits);
	*size = strtoull(text, NULL, 16);
	if (!naive_extensions(s + digits, n - digits, whole))
		return false;
	*whole = *whole && digits > 0;
	return true;
}

static bool
naive_trailer(const char *s, size_t n, bool *whole)
{
	size_t i = 0;

	*whole = false;
	while (i < n && is_token(s[i]))
		i++;
	if (i == n)
		return true;
	if (i == 0 || s[i] != ':')
		return false;
	if ((i == 4 && strncasecmp(s, "host", i) == 0) ||
	    (i == 14 && strncasecmp(s, "content-length", i) == 0) ||
	    (i == 17 && strncasecmp(s, "transfer-encoding", i) == 0))
		return false;
	for (i++; i < n; i++)
		if (!is_value(s[i]))
			return false;
	*whole = true;
	return true;
}

/* Length of the line up to the first CR or LF; *end: 2 if CRLF follows. */
static size_t
naive_line_length(const char *s, size_t n, int *end)
{
	size_t i = 0;

	while (i < n && s[i] != '\r' && s[i] != '\n')
		i++;
	if (i == n)
		*end = 0;
	else if (s[i] == '\r' && i + 1 == n)
		*end = 1;
	else
		*end = s[i] == '\r' && s[i + 1] == '\n' ? 2 : -1;
	return i;
}

static enum verdict
naive_trailers(const struct bytes *m, size_t at, size_t *used)
{
	for (;;) {
		const char *s = m->at + at;
		bool whole;
		int end;
		size_t n = naive_line_length(s, m->length - at, &end);

		if (n == 0) {
			*used = at + 2;
			return end == 2	  ? VERDICT_DONE
			       : end >= 0 ? VERDICT_MORE
					  : VERDICT_BAD;
		}
		if (!naive_trailer(s, n, &whole) || end < 0)
			return VERDICT_BAD;
		if (end > 0 && !whole)
			return VERDICT_BAD;
		if (end < 2)
			return VERDICT_MORE;
		at += n + 2;
	}
}

/* Whether data that came so far is followed by what must follow it. */
static enum verdict
naive_data_end(const char *s, size_t n)
{
	if (n > 0 && s[0] != '\r')
		return VERDICT_BAD;
	if (n > 1 && s[1] != '\n')
		return VERDICT_BAD;
	return n < 2 ? VERDICT_MORE : VERDICT_DONE;
}

static enum verdict
naive_decode(const struct bytes *m, struct bytes *payload, size_t *used)
{
	size_t at = 0;

	payload->length = 0;
	for (;;) {
		const char *s = m->at + at;
		size_t rest = m->length - at;
		uint64_t size = 0;
		bool whole;
		int end;
		size_t n = naive_line_length(s, rest, &end);
		enum verdict verdict;

		if (!naive_line(s, n, &size, &whole) || end < 0)
			return VERDICT_BAD;
		if (end > 0 && !whole)
			return VERDICT_BAD;
		if (end < 2)
			return VERDICT_MORE;
		if (size == 0)
			return naive_trailers(m, at + n + 2, used);
		s += n + 2;
		rest -= n + 2;
		if (size > MESSAGE_MAX - payload->length)
			return VERDICT_BAD;
		if (rest < size) {
			bytes_add(payload, s, rest);
			return VERDICT_MORE;
		}
		bytes_add(payload, s, size);
		verdict = naive_data_end(s + size, rest - size);
		if (verdict != VERDICT_DONE)
			return verdict;
		at = (size_t)(s - m->at) + size + 2;
	}
}

static enum verdict
decode_in_pieces(const struct bytes *m, struct bytes *payload, size_t *used)
{
	enum http_body_event event = HTTP_BODY_MORE;
	struct http_body b;
	size_t at = 0, end = 0;

	payload->length = 0;
	http_body_init(&b, HTTP_FRAMING_CHUNKED, 0, MESSAGE_MAX);
	b.request = true;
	while (end < m->length) {
		end += 1 + unit_draw(unit_draw(3) == 0 ? 200 : 4);
		if (end > m->length)
			end = m->length;
		event = feed_piece(&b, m, &at, end, payload);
		if (event == HTTP_BODY_BAD)
			return VERDICT_BAD;
		if (event == HTTP_BODY_DONE)
			break;
	}
	*used = at;
	assert_int_equal(b.total, payload->length);
	assert_true(http_body_eof(&b) == (event == HTTP_BODY_DONE));
	return event == HTTP_BODY_DONE ? VERDICT_DONE : VERDICT_MORE;
}

TEST(test_against_naive)
{
	/* goal: damaged or not, both decoders see the same in a message */
	static struct bytes message, sent, expected, got;
	unsigned seen[3] = {0};

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t expected_used = 0, used = 0;
		enum verdict naive, ours;
		uint64_t damages = unit_draw(4);

		message_draw(&message, &sent);
		bytes_add(&message, "GET /", unit_draw(6));
		for (uint64_t n = 0; n < damages; n++)
			message_damage(&message);
		naive = naive_decode(&message, &expected, &expected_used);
		ours = decode_in_pieces(&message, &got, &used);
		if (naive != ours)
			print_error("round %u: naive %d, ours %d\n%.*s\n", i,
			    (int)naive, (int)ours, (int)message.length,
			    message.at);
		assert_int_equal(naive, ours);
		seen[ours]++;
		if (damages == 0)
			assert_int_equal(ours, VERDICT_DONE);
		if (ours == VERDICT_BAD)
			continue;
		assert_int_equal(got.length, expected.length);
		assert_memory_equal(got.at, expected.at, got.length);
		if (ours == VERDICT_DONE)
			assert_int_equal(used, expected_used);
	}
	print_message("%u whole, %u incomplete, %u bad\n", seen[VERDICT_DONE],
	    seen[VERDICT_MORE], seen[VERDICT_BAD]);
	assert_true(seen[VERDICT_DONE] > ROUNDS / 5);
	assert_true(seen[VERDICT_MORE] > ROUNDS / 200);
	assert_true(seen[VERDICT_BAD] > ROUNDS / 5);
}
