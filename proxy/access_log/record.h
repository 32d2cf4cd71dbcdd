/* record.h: one line of the access log before it is text.
 *
 * Filled in by the proxy thread, turned into text by the log's own thread. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCESS_TARGET_MAX 1024 /* a longer target is cut, and ends in "..." */
#define ACCESS_FIELD_MAX 512   /* likewise a header field */
#define ACCESS_LINE_MAX \
	((size_t)18 * 1024) /* every byte escaped, and the rest */

/* Durations are in ns; -1: the period never began or ended. */
struct access_record {
	unsigned format;	      /* enum config_access */
	int64_t wall_ns;	      /* of the first byte, since 1970 */
	int64_t receive_ns;	      /* first byte to whole request */
	int64_t queue_ns;	      /* whole request to winning attempt */
	int64_t connect_ns;	      /* winning attempt to first byte sent */
	int64_t upstream_ns;	      /* first byte sent to response's first */
	int64_t send_ns;	      /* commit to last byte sent to client */
	int64_t total_ns;	      /* first byte in to last byte out */
	uint64_t bytes_in, bytes_out; /* request body; whole response */
	int status;		      /* 499: the client left */
	int minor;		      /* client's HTTP/1.minor; -1: unknown */
	bool reused;		      /* the winner's connection was kept */
	unsigned attempts, attempt;   /* how many; which one won, from 1 */
	unsigned connections, inflight;
	char id[65];
	char trace_id[33]; /* "": none */
	char client[INET6_ADDRSTRLEN + 8];
	char method[16];
	char upstream[32];   /* "": Tailor itself responded */
	char trigger[16];    /* of the second attempt; "": none */
	char termination[3]; /* "SH"; "--": the response is whole */
	char flags[64];	     /* "": none */
	char target[ACCESS_TARGET_MAX];
	/* Header fields of the request; "": absent. */
	char host[ACCESS_FIELD_MAX];
	char referer[ACCESS_FIELD_MAX];
	char user_agent[ACCESS_FIELD_MAX];
};

/* Remove the query from the target and the Referer; or shorten the client's
 * address to its network. */
void access_redact_query(struct access_record *r);
void access_redact_client(struct access_record *r);

/* Write one line, with its newline, into out (ACCESS_LINE_MAX bytes, not
 * terminated); returns its length.  Whatever bytes the record holds, it is
 * one line of printable ASCII (text, combined) or of JSON. */
size_t access_format(const struct access_record *r, char *out);
