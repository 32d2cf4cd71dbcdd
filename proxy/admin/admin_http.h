/*
 * admin_http.h: what every handler of the admin listener needs: who may ask,
 * parameters, replies.
 *
 * Over libevent's HTTP server.  Proxy thread only.
 */
#ifndef TAILOR_PROXY_ADMIN_ADMIN_HTTP_H
#define TAILOR_PROXY_ADMIN_ADMIN_HTTP_H

#include <event2/http.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

#include "base/json.h"

struct proxy;
struct reload_result;

/* The admin listener. */
struct admin {
	int (*reload)(void *user, struct reload_result *out);
	void *user; /* of reload */
	struct proxy *proxy;
	struct evhttp *http; /* owned */
	int fd;		     /* owned by http once accepted */
	bool inherited;	     /* systemd's socket */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

/* Whether to go on; if not (foreign, or another method) it is answered. */
bool admin_admit(const struct admin *a, struct evhttp_request *r,
    enum evhttp_cmd_type wanted);

/* Answer with a whole body, never cached. */
void admin_reply(struct evhttp_request *r, int status, const char *type,
    const char *text, size_t length);
/* {"error": text} */
void admin_reply_error(struct evhttp_request *r, int status, const char *text);
/* 200 with a finished document, which is taken. */
void admin_reply_json(struct evhttp_request *r, struct json *j);

/* A number from the query string, bent into [1, max]. */
unsigned admin_query_number(struct evhttp_request *r, const char *name,
    unsigned fallback, unsigned max);

/* A parameter of the query string into out; false if it is not there or too
 * long. */
bool admin_query_text(
    struct evhttp_request *r, const char *name, char *out, size_t size);

#endif
