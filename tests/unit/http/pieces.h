/*
 * pieces.h: for tests of the body decoder: a message in memory, and how
 * it is fed in pieces.
 */
#pragma once

#include "tests/unit/unit.h"

#include "http/http.h"

#define MESSAGE_MAX 16384

struct bytes {
	char at[MESSAGE_MAX];
	size_t length;
};

void bytes_add(struct bytes *b, const char *at, size_t length);
void bytes_text(struct bytes *b, const char *text);

/* Feed what lies in [*at, end); as many events as that takes. */
enum http_body_event feed_piece(struct http_body *b, const struct bytes *m,
    size_t *at, size_t end, struct bytes *payload);
