/* token.h: the secret with which timelines may be read from any address.
 *
 * The token is in a file (talechain.token_file), not in the configuration,
 * which GET /config shows.  It is never logged.  Proxy thread only. */
#pragma once

#include "http/http.h"

#define TOKEN_MIN 16 /* bytes */
#define TOKEN_MAX 256
#define TOKEN_WHY 512

struct token {
	char text[TOKEN_MAX];
	size_t length; /* 0: no token */
};

/* Read the token: the file's only line, 16 to 256 visible ASCII characters.  If
 * path is "", there is no token.  Returns 0; -EPERM if all users may read or
 * write the file; -EINVAL if the file holds no token; or the error of opening
 * it.  On error *out is unchanged, and why says what to do. */
int token_read(const char *path, struct token *out, char why[TOKEN_WHY]);

/* True if a request has the token: "Authorization: Bearer TOKEN".  The time of
 * the comparison depends on the lengths only. */
bool token_is_in(const struct token *t, const struct http_head *head);
