/* markup.h: text and lengths of time for XML, HTML and JSON.  Private.
 *
 * Everything that came from outside goes through markup_text(), after which it
 * is printable ASCII without a character that ends an element or an attribute:
 * other bytes and backslashes appear as \xNN, as in the text rendering. */
#pragma once

#include "base/json.h"
#include "talechain/claims/story.h"

#define MARKUP_TIME 32

/* Append s, escaped for element content and quoted attributes. */
void markup_text(struct text *x, const char *s);

/* Append s like markup_text; if more than width characters would be seen, cut
 * it there, with "..." at the end. */
void markup_cut(struct text *x, const char *s, size_t width);

/* The number of visible characters of s, where \xNN counts as four. */
size_t markup_width(const char *s);

/* An array of lines of evidence or advice, up to the first empty one. */
void json_key_lines(
    struct json *j, const char *key, const char line[STORY_LINES][STORY_TEXT]);

/* A length for people, three digits, in ns, us (with the micro sign), ms or s:
 * "312 ns", "41.2 ms".  Returns out. */
char *markup_span(char out[MARKUP_TIME], int64_t ns);

/* A point in time, in ms to the microsecond: "2.310 ms".  Returns out. */
char *markup_moment(char out[MARKUP_TIME], int64_t ns);

/* When and where a story happened: "begun 2026-10-04T10:15:03.412345Z on HOST,
 * server a pid 501, Tailor 1.0"; "" if nothing is known.  Returns out, which
 * needs no escapes. */
#define ORIGIN_WORDS 320
char *origin_words(const struct story *s, char out[ORIGIN_WORDS]);
/* The client's x-request-id; "" if the client sent none. */
const char *client_id(const struct tale_request *r);
