/* http.h: the HTTP/1.1 gate: checks messages and writes them again.
 *
 * A strict gate checks the raw bytes of a head before http-parser parses it,
 * because http-parser hides folded lines, bare LF and NUL from its callbacks
 * and its Debian build is the lenient one.  A message is never
 * forwarded as it came: it is written again from its parsed parts.  Bodies
 * are decoded here, not by http-parser, so that chunk lines are strict too.
 *
 * Pure functions over memory: no sockets, no allocation, no clock.
 * http-parser's types and macros appear in no header.
 *
 * Cost: one pass to find the end of a head, one to check it, one to parse. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "http/slice.h"

#define HTTP_FIELDS_MAX 100 /* compiled maximum; limits may be lower */

struct http_limits {
	size_t head_max;      /* whole head; 431 beyond, or 414 */
	unsigned fields_max;  /* 1 .. HTTP_FIELDS_MAX, 431 beyond */
	uint64_t body_max;    /* 413 beyond */
	bool underscore_pass; /* pass field names with "_" (else dropped) */
	bool upgrade_asked;   /* responses: a 101 is allowed */
};

enum http_method {
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_OPTIONS,
	HTTP_METHOD_POST,
	HTTP_METHOD_PUT,
	HTTP_METHOD_DELETE,
	HTTP_METHOD_PATCH,
	HTTP_METHOD_OTHER, /* known to http-parser, forwarded as written */
};

/* Methods that a 405 names as allowed; less usual ones pass too. */
#define HTTP_METHODS_ALLOWED "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

enum http_framing {
	HTTP_FRAMING_NONE,    /* no body at all */
	HTTP_FRAMING_LENGTH,  /* Content-Length bytes */
	HTTP_FRAMING_CHUNKED, /* chunks */
	HTTP_FRAMING_CLOSE,   /* the response ends with the connection */
};

/* Fields the proxy itself looks at; all others are HTTP_FIELD_OTHER. */
enum http_field_id {
	HTTP_FIELD_OTHER,
	HTTP_FIELD_HOST,
	HTTP_FIELD_CONNECTION,
	HTTP_FIELD_CONTENT_LENGTH,
	HTTP_FIELD_TRANSFER_ENCODING,
	HTTP_FIELD_KEEP_ALIVE,
	HTTP_FIELD_PROXY_CONNECTION,
	HTTP_FIELD_TE,
	HTTP_FIELD_TRAILER,
	HTTP_FIELD_UPGRADE,
	HTTP_FIELD_HTTP2_SETTINGS,
	HTTP_FIELD_EXPECT,
	HTTP_FIELD_REQUEST_ID, /* x-request-id */
	HTTP_FIELD_TRACEPARENT,
	HTTP_FIELD_VIA,
	HTTP_FIELD_X_FORWARDED_FOR,
	HTTP_FIELD_X_FORWARDED_PROTO,
	HTTP_FIELD_X_FORWARDED_HOST,
	HTTP_FIELD_FORWARDED,
	HTTP_FIELD_SERVER_TIMING,
	HTTP_FIELD_CONTENT_TYPE,
	HTTP_FIELD_AUTHORIZATION,
	HTTP_FIELD_ACCEPT,
	HTTP_FIELD_DATE,
	HTTP_FIELD_RETRY_AFTER,
	HTTP_FIELD_X_ACCEL_BUFFERING,
	HTTP_FIELD_TAILOR, /* any field whose name begins with Tailor- or
			      X-Tailor- */
};

struct http_field {
	struct slice name, value; /* value without surrounding white space */
	enum http_field_id id;
	unsigned char traits; /* enum trait of fields.c */
	bool drop;  /* hop-by-hop, or not forwarded for another reason */
	bool named; /* Connection names it, and may have it removed */
};

#define HTTP_KEEP_ALIVE_S_MAX 86400

struct http_head {
	/* requests */
	enum http_method method;
	struct slice method_text;
	struct slice target;	/* origin-form, or "*" for OPTIONS; for an
				   absolute-form with an empty path: "/",
				   "?query" (written as "/?query"), or empty
				   with OPTIONS (written as "*") */
	struct slice authority; /* from Host or an absolute-form target */
	bool https;		/* the absolute-form target says so */
	bool expect_continue;
	bool upgrade; /* has "Connection: upgrade" and Upgrade; both
			 are stripped */
	/* responses */
	unsigned status;
	struct slice reason;
	unsigned keep_alive_s; /* Keep-Alive: timeout=, at most
				  HTTP_KEEP_ALIVE_S_MAX; 0: not given */
	/* both */
	unsigned minor; /* HTTP/1.minor, 0 or 1 */
	enum http_framing framing;
	uint64_t content_length; /* valid with HTTP_FRAMING_LENGTH */
	bool has_content_length; /* also on bodiless responses (HEAD, 304) */
	bool keep_alive;
	unsigned fields;
	struct http_field field[HTTP_FIELDS_MAX];
};

/* Why a message was refused. */
struct http_refusal {
	unsigned status;    /* to answer the client with: 400, 414, 431, ... */
	const char *reason; /* short token for metrics: "bare_lf".  Static. */
};

enum http_scan {
	HTTP_SCAN_MORE, /* the head is not complete yet */
	HTTP_SCAN_HEAD, /* *head_length bytes are a whole head */
	HTTP_SCAN_BAD,	/* *refusal says why; nothing more is read */
};

/* Look for the end of a head at the start of buf.
 *   request  true for a request head, false for a response head
 *   scanned  bytes that earlier calls have scanned; 0 at first; updated, so
 *            that each byte of a head that trickles in is scanned once
 * One CRLF before a request head is allowed and counted into *head_length.
 * The limits on length are enforced here, on incomplete heads too; the limit
 * on the number of fields is enforced when the head is parsed. */
enum http_scan http_scan(const struct http_limits *limits, bool request,
    const char *buf, size_t length, size_t *scanned, size_t *head_length,
    struct http_refusal *refusal);

/* Parse one whole head as found by http_scan.  Slices of *out point into
 * buf.  Returns 0, or -EPROTO with *refusal set: the caller then responds with
 * that status and closes.
 * All the checks of docs/http.md: exactly one valid Host in 1.1, Content-
 * Length digits only and once, Transfer-Encoding exactly "chunked" and once
 * and only in 1.1, never both, target form, version, CONNECT and TRACE 405,
 * unknown expectations 417, names all tchar, no folding, no control bytes. */
int http_parse_request(const struct http_limits *limits, const char *buf,
    size_t head_length, struct http_head *out, struct http_refusal *refusal);

/* The same for a response to a request with that method (HEAD has no body).
 * More is allowed: the same Content-Length twice, chunks beside a
 * Content-Length, and chunks in 1.0.  1xx, 204, 304 and responses to HEAD get
 * HTTP_FRAMING_NONE whatever their fields say. */
int http_parse_response(const struct http_limits *limits,
    enum http_method method, const char *buf, size_t head_length,
    struct http_head *out, struct http_refusal *refusal);

/* Find a field by id; NULL if absent.  The first of several. */
const struct http_field *
http_field_find(const struct http_head *h, enum http_field_id id);

/* Find the first field with that name, which must begin with tailor- or
 * x-tailor-; NULL if absent. */
const struct http_field *
http_field_tailor(const struct http_head *h, const char *name);

/* True if a field authenticates its connection, not its request: credentials of
 * NTLM or Negotiate (RFC 4559), or a challenge to send them.  With either
 * scheme, all later requests on the connection are that user's. */
bool http_field_binds(struct slice name, struct slice value);

/* True if a field of the head authenticates its connection. */
bool http_binds_connection(const struct http_head *head);

/* How many fields have that id. */
unsigned http_field_count(const struct http_head *head, enum http_field_id id);

/* GET, HEAD and OPTIONS: asking twice changes nothing. */
bool http_method_is_safe(enum http_method method);

/* POST, PUT and PATCH: the body is part of the request.  With other methods a
 * server need not read the body (RFC 9110 9.3.1), and some do not. */
bool http_method_has_body(enum http_method method);

/* Fields that are added to a request for a server. */
struct http_forward {
	const char *client;	 /* its address, for X-Forwarded-For; or NULL */
	bool trusted;		 /* client: its X-Forwarded-* are kept */
	const char *request_id;	 /* value of x-request-id */
	uint64_t tailor_request; /* value of Tailor-Request, 16 hex digits */
	bool via;		 /* add Via: 1.1 tailor */
	bool forwarded;		 /* add Forwarded */
};

/* Write the request head for a server: HTTP/1.1, one Host, no hop-by-hop
 * fields, no framing, Expect removed.  The head ends before the last empty
 * line, so that each attempt can add its own fields (framing, Tailor-Attempt,
 * Tailor-Hedge; Host, if head->authority is empty) and then CRLF.  Returns the
 * length, or -ENOBUFS if capacity is too small. */
int http_write_request(const struct http_head *head,
    const struct http_forward *forward, char *out, size_t capacity);

/* Write a response head for a client, without framing and Connection, which may
 * not be decided yet, and without the last empty line.
 *   request_id  value of X-Request-Id, unless the server gave one; or NULL
 * Returns the length or -ENOBUFS. */
int http_write_response(const struct http_head *head, const char *request_id,
    char *out, size_t capacity);

/* The standard reason phrase of a status, "" if none is known. */
const char *http_reason(unsigned status);

/* Decoder of one body. */
struct http_body {
	enum http_framing framing;
	uint64_t left;	   /* LENGTH: bytes to come; CHUNKED: of this chunk */
	uint64_t total;	   /* payload so far */
	uint64_t overhead; /* chunk lines, extensions and trailers so far */
	uint64_t max;	   /* refuse beyond */
	unsigned state;
	unsigned line; /* bytes of extensions on this chunk line so far */
	unsigned digits;
	unsigned trailers; /* bytes of trailer lines so far */
	unsigned names;	   /* see trailer_name_step */
	unsigned name_bytes;
	char *keep; /* borrowed; see http_body_keep_trailers; or NULL */
	unsigned kept;
	bool request; /* a request's: trailers of framing are refused */
	bool done;
};

enum http_body_event {
	HTTP_BODY_MORE, /* all input used, body goes on */
	HTTP_BODY_DATA, /* *data is payload; call again with the rest */
	HTTP_BODY_DONE, /* body complete; *used says where it ended */
	HTTP_BODY_BAD,	/* *refusal says why; the connection is of no use */
};

/* Begin a body.  With NONE, or LENGTH of 0, b->done is true at once.  For the
 * body of a request, the caller then sets b->request. */
void http_body_init(struct http_body *b, enum http_framing framing,
    uint64_t content_length, uint64_t max);

/* Copy the trailer lines of a chunked body, each with its CRLF, to text,
 * HTTP_TRAILERS_MAX bytes; b->kept says how many there are. */
#define HTTP_TRAILERS_MAX 4096
void http_body_keep_trailers(struct http_body *b, char *text);

/* Write the lines that may be trailers: not those of framing, routing, access,
 * or fields that a recipient needs before the body (RFC 9110 6.5.1).  Returns
 * the length or -ENOBUFS. */
int http_write_trailers(struct slice lines, char *out, size_t capacity);

/* True if a client takes trailers: TE: trailers. */
bool http_takes_trailers(const struct http_head *head);

/* True if a response is written as events happen and has no planned end: its
 * client wants each piece at once (event streams, X-Accel-Buffering: no). */
bool http_is_stream(const struct http_head *head);

/* Decode the next bytes: at most one run of payload per call.  *used bytes of
 * in were consumed, whatever is returned.  If DATA has used all of in, b->done
 * says whether the body is complete.  Trailers are checked, and
 * kept if asked for.  A refusal has status 400, or 413 beyond max; for a
 * response the client gets 502 instead. */
enum http_body_event
http_body_feed(struct http_body *b, const char *in, size_t length, size_t *used,
    struct slice *data, struct http_refusal *refusal);

/* The connection ended.  True if the body is complete by that
 * (HTTP_FRAMING_CLOSE), false if it was cut short. */
bool http_body_eof(struct http_body *b);

/* --- upgrades ---------------------------------------------------------- */

/* Lines that ask a server for an upgrade, or agree to one. */
#define HTTP_UPGRADE_LINES "Connection: upgrade\r\nUpgrade: websocket\r\n"

/* True if a request asks for an upgrade that may be passed on: GET without a
 * body, exactly "Upgrade: websocket", one Sec-WebSocket-Key. */
bool http_upgrade_wanted(const struct http_head *head);

/* True if a 101 agrees to exactly such an upgrade. */
bool http_upgrade_agreed(const struct http_head *head);

/* --- the PROXY protocol ------------------------------------------------ */

#define PROXY_HEADER_MAX 4096 /* with all that version 2 may append */

enum proxy_header {
	PROXY_HEADER_MORE,  /* not whole yet */
	PROXY_HEADER_READ,  /* the header has *used bytes */
	PROXY_HEADER_LOCAL, /* likewise, but the peer is the client itself, as
			* in its health checks */
	PROXY_HEADER_BAD,   /* not a header: the connection is of no use */
};

/* Read the PROXY header at the start of a connection.
 *   source  receives the client's address and port; ss_family is AF_UNSPEC
 *           if there is none (LOCAL) or the header does not give it (UNKNOWN,
 *           UNSPEC, UNIX)
 * Further fields of version 2 are skipped, also their checksum. */
enum proxy_header proxy_header_read(const char *buf, size_t length,
    size_t *used, struct sockaddr_storage *source);
