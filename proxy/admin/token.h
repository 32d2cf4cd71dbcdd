/* token.h: the secret with which timelines may be read from anywhere.
 *
 * It stands in a file (talechain.token_file), not in the configuration, which
 * is shown to people.  It is never logged.  Proxy thread only. */
#pragma once

#include "http/http.h"

#define TOKEN_MIN 16 /* bytes */
#define TOKEN_MAX 256
#define TOKEN_WHY 512

struct token {
	char text[TOKEN_MAX];
	size_t length; /* 0: there is none */
};

/* Read the token: the file's only line, 16 to 256 visible ASCII characters.  A
 * path of "" is no token.  Returns 0, or -EPERM if all users may read or write
 * the file, -EINVAL if it holds something else, or what opening it fails with;
 * *out is unchanged then, and why says what to do. */
int token_read(const char *path, struct token *out, char why[TOKEN_WHY]);

/* True if a request has the token: "Authorization: Bearer TOKEN".  The time
 * that the comparison takes depends on the lengths only. */
bool token_is_in(const struct token *t, const struct http_head *head);
