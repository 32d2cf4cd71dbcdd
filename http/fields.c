/* fields.c: field lines.
 *
 * Reads "name: value" lines as in RFC 9110 5.5 and 5.6.2, sets the id of fields
 * that the proxy uses, and marks fields that must not be forwarded: hop-by-hop
 * fields, fields that we write ourselves, our own control fields, and in
 * requests names with an underscore, because a server that turns "-" into "_"
 * cannot distinguish them from names with "-".  Fields that Connection names
 * have a mark of their own, but never a field that is needed by others, such as
 * Host or Authorization.
 *
 * Cost: one table look-up per byte, and for each name a compare with those of
 * the table that have its length and first letter. */
#include "http/gate.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

enum trait {
	TRAIT_HOP = 1,	     /* for one connection only: never forwarded */
	TRAIT_OURS = 2,	     /* written by us, in requests and responses */
	TRAIT_REQUEST = 4,   /* dropped from requests only */
	TRAIT_PROTECTED = 8, /* Connection cannot have it removed */
	TRAIT_ONCE = 16,     /* a request has one at most */
};

#define NAME(text) text, sizeof(text) - 1

static const struct {
	const char *name;
	size_t length;
	enum http_field_id id;
	unsigned char traits;
} known[] = {
    {NAME("host"), HTTP_FIELD_HOST, TRAIT_REQUEST | TRAIT_PROTECTED},
    {NAME("connection"), HTTP_FIELD_CONNECTION, TRAIT_HOP},
    {NAME("content-length"), HTTP_FIELD_CONTENT_LENGTH, TRAIT_OURS},
    {NAME("transfer-encoding"), HTTP_FIELD_TRANSFER_ENCODING, TRAIT_HOP},
    {NAME("keep-alive"), HTTP_FIELD_KEEP_ALIVE, TRAIT_HOP},
    {NAME("proxy-connection"), HTTP_FIELD_PROXY_CONNECTION, TRAIT_HOP},
    {NAME("te"), HTTP_FIELD_TE, TRAIT_HOP},
    {NAME("trailer"), HTTP_FIELD_TRAILER, TRAIT_HOP},
    {NAME("upgrade"), HTTP_FIELD_UPGRADE, TRAIT_HOP},
    {NAME("http2-settings"), HTTP_FIELD_HTTP2_SETTINGS, TRAIT_HOP},
    {NAME("expect"), HTTP_FIELD_EXPECT, TRAIT_REQUEST | TRAIT_ONCE},
    {NAME("x-request-id"), HTTP_FIELD_REQUEST_ID, TRAIT_PROTECTED},
    {NAME("traceparent"), HTTP_FIELD_TRACEPARENT, TRAIT_PROTECTED},
    {NAME("tracestate"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("via"), HTTP_FIELD_VIA, TRAIT_PROTECTED},
    {NAME("x-forwarded-for"), HTTP_FIELD_X_FORWARDED_FOR, TRAIT_PROTECTED},
    {NAME("x-forwarded-proto"), HTTP_FIELD_X_FORWARDED_PROTO, TRAIT_PROTECTED},
    {NAME("x-forwarded-host"), HTTP_FIELD_X_FORWARDED_HOST, TRAIT_PROTECTED},
    {NAME("forwarded"), HTTP_FIELD_FORWARDED, TRAIT_PROTECTED},
    {NAME("x-real-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("x-client-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("x-cluster-client-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("true-client-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("cf-connecting-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("fastly-client-ip"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("server-timing"), HTTP_FIELD_SERVER_TIMING, 0},
    {NAME("content-type"), HTTP_FIELD_CONTENT_TYPE, TRAIT_PROTECTED},
    {NAME("accept"), HTTP_FIELD_ACCEPT, 0},
    {NAME("authorization"), HTTP_FIELD_AUTHORIZATION,
	TRAIT_PROTECTED | TRAIT_ONCE},
    {NAME("cookie"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("date"), HTTP_FIELD_DATE, 0},
    {NAME("retry-after"), HTTP_FIELD_RETRY_AFTER, 0},
    {NAME("x-accel-buffering"), HTTP_FIELD_X_ACCEL_BUFFERING, 0},
    /* dropped: our own "Connection: close" would name a field "close" */
    {NAME("close"), HTTP_FIELD_OTHER, TRAIT_HOP},
    /* dropped: only serves to set HTTP_PROXY of a CGI program */
    {NAME("proxy"), HTTP_FIELD_OTHER, TRAIT_REQUEST},
    {NAME("set-cookie"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("content-encoding"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("content-range"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("cache-control"), HTTP_FIELD_OTHER, TRAIT_PROTECTED},
    {NAME("if-modified-since"), HTTP_FIELD_OTHER, TRAIT_ONCE},
    {NAME("if-unmodified-since"), HTTP_FIELD_OTHER, TRAIT_ONCE},
    {NAME("if-range"), HTTP_FIELD_OTHER, TRAIT_ONCE},
};

#define KNOWN (sizeof(known) / sizeof(known[0]))
#define OPTIONS_MAX 100 /* members of all Connection fields together */

/* Return the index of a name in known, or -1. */
static int
known_find(struct slice name)
{
	char first = name.length > 0 ? (char)(name.at[0] | 0x20) : '\0';

	for (size_t i = 0; i < KNOWN; i++)
		if (known[i].length == name.length &&
		    known[i].name[0] == first &&
		    strncasecmp(known[i].name, name.at, name.length) == 0)
			return (int)i;
	return -1;
}

static void
field_recognise(struct http_field *field)
{
	int k = known_find(field->name);

	field->id = HTTP_FIELD_OTHER;
	field->traits = 0;
	field->drop = field->named = false;
	if (k >= 0) {
		field->id = known[k].id;
		field->traits = known[k].traits;
	} else if (slice_begins(field->name, "tailor-") ||
		   slice_begins(field->name, "x-tailor-")) {
		field->id = HTTP_FIELD_TAILOR;
	}
}

/* True for fields that say where a message ends or which host it is for.  HTAB
 * is white space in them, too (RFC 9110 5.6.3), but not for some servers. */
static bool
is_framing(enum http_field_id id)
{
	return id == HTTP_FIELD_HOST || id == HTTP_FIELD_CONTENT_LENGTH ||
	       id == HTTP_FIELD_TRANSFER_ENCODING;
}

static const char *
field_read(struct slice line, struct http_field *field)
{
	const char *colon = memchr(line.at, ':', line.length);
	struct slice value;

	if (colon == NULL)
		return "no_colon";
	field->name = (struct slice){line.at, (size_t)(colon - line.at)};
	if (!slice_all(field->name, HTTP_CHAR_TOKEN))
		return "field_name";
	value.at = colon + 1;
	value.length = line.length - field->name.length - 1;
	if (value.length > 0 && !slice_all(value, HTTP_CHAR_VALUE))
		return "control_byte";
	field->value = slice_trim(value);
	field_recognise(field);
	if (is_framing(field->id) &&
	    memchr(value.at, '\t', value.length) != NULL)
		return "tab";
	return NULL;
}

/* True if the newest field, which may occur once, has occurred before. */
static bool
is_second(const struct http_head *head)
{
	const struct http_field *new = &head->field[head->fields];

	if (!(new->traits &TRAIT_ONCE))
		return false;
	for (unsigned i = 0; i < head->fields; i++)
		if (slice_same(head->field[i].name, new->name))
			return true;
	return false;
}

struct http_refusal
fields_read(const struct http_limits *limits, bool request, struct slice rest,
    struct http_head *head)
{
	static const struct http_refusal many = {431, "too_many_fields"};
	struct http_refusal refusal = {400, NULL};
	struct slice line;

	assert(limits->fields_max <= HTTP_FIELDS_MAX);
	head->fields = 0;
	for (;;) {
		if (!line_take(&rest, &line)) {
			refusal.reason = "line_end";
			return refusal;
		}
		if (line.length == 0)
			break;
		if (head->fields == limits->fields_max)
			return many;
		refusal.reason = field_read(line, &head->field[head->fields]);
		if (refusal.reason == NULL && request && is_second(head))
			refusal.reason = "field_twice";
		if (refusal.reason != NULL)
			return refusal;
		head->fields++;
	}
	if (rest.length != 0)
		refusal.reason = "line_end";
	return refusal;
}

unsigned
http_field_count(const struct http_head *head, enum http_field_id id)
{
	unsigned n = 0;

	for (unsigned i = 0; i < head->fields; i++)
		n += head->field[i].id == id;
	return n;
}

bool
field_is_forwarded(const struct http_field *field)
{
	return field->id == HTTP_FIELD_FORWARDED ||
	       slice_begins(field->name, "x-forwarded-");
}

bool
field_may_trail(struct slice name)
{
	/* beside those that are known above for other reasons */
	static const char *const needed_before[] = {"age", "allow", "expires",
	    "location", "max-forwards", "pragma", "proxy-authenticate",
	    "proxy-authorization", "range", "vary", "warning",
	    "www-authenticate"};

	if (known_find(name) >= 0 || slice_begins(name, "tailor-") ||
	    slice_begins(name, "x-tailor-") ||
	    slice_begins(name, "x-forwarded-") ||
	    slice_begins(name, "content-") || slice_begins(name, "if-") ||
	    slice_begins(name, "access-control-"))
		return false;
	for (size_t i = 0; i < sizeof(needed_before) / sizeof(char *); i++)
		if (slice_is(name, needed_before[i]))
			return false;
	return true;
}

bool
http_is_stream(const struct http_head *head)
{
	static const char stream[] = "text/event-stream";
	const struct http_field *type, *buffering;
	const size_t n = sizeof(stream) - 1;

	type = http_field_find(head, HTTP_FIELD_CONTENT_TYPE);
	buffering = http_field_find(head, HTTP_FIELD_X_ACCEL_BUFFERING);
	return (type != NULL && type->value.length >= n &&
		   slice_is((struct slice){type->value.at, n}, stream)) ||
	       (buffering != NULL && slice_is(buffering->value, "no"));
}

bool
http_takes_trailers(const struct http_head *head)
{
	struct slice rest, item;

	for (unsigned i = 0; i < head->fields; i++) {
		if (head->field[i].id != HTTP_FIELD_TE)
			continue;
		rest = head->field[i].value;
		while (list_next(&rest, &item))
			if (slice_is(item, "trailers"))
				return true;
	}
	return false;
}

/* True for fields that authenticate.  Called for each field of each request, so
 * lengths are compared first. */
static bool
is_authentication(struct slice name)
{
	switch (name.length) {
	case sizeof("authorization") - 1:
		return slice_begins(name, "authorization");
	case sizeof("www-authenticate") - 1:
		return slice_begins(name, "www-authenticate");
	case sizeof("proxy-authenticate") - 1:
		return slice_begins(name, "proxy-authenticate");
	case sizeof("proxy-authorization") - 1:
		return slice_begins(name, "proxy-authorization");
	}
	return false;
}

static bool
is_scheme(struct slice challenge, const char *scheme)
{
	size_t n = strlen(scheme);

	return slice_begins(challenge, scheme) &&
	       (challenge.length == n || challenge.at[n] == ' ' ||
		   challenge.at[n] == '\t');
}

bool
http_field_binds(struct slice name, struct slice value)
{
	struct slice item;

	if (!is_authentication(name))
		return false;
	/* Commas within quotes are not recognised, which is harmless here. */
	while (list_next(&value, &item))
		if (is_scheme(item, "ntlm") || is_scheme(item, "negotiate"))
			return true;
	return false;
}

bool
http_binds_connection(const struct http_head *head)
{
	for (unsigned i = 0; i < head->fields; i++)
		if (http_field_binds(head->field[i].name, head->field[i].value))
			return true;
	return false;
}

/* True if the name, with "_" read as "-", is one of ours. */
static bool
name_imitates(struct slice name)
{
	char plain[24];
	struct slice s = {plain, name.length};

	if (s.length > sizeof(plain))
		s.length = sizeof(plain); /* the prefixes are shorter */
	for (size_t i = 0; i < s.length; i++)
		plain[i] = name.at[i] == '_' ? '-' : name.at[i];
	if (slice_begins(s, "x-forwarded-") || slice_begins(s, "x-tailor-") ||
	    slice_begins(s, "tailor-"))
		return true;
	return s.length == name.length && known_find(s) >= 0;
}

static bool
is_dropped(const struct http_limits *limits, bool request,
    const struct http_field *field)
{
	unsigned drop = TRAIT_HOP | TRAIT_OURS | (request ? TRAIT_REQUEST : 0);

	if (field->id == HTTP_FIELD_TAILOR || (field->traits & drop) != 0)
		return true;
	if (request && memchr(field->name.at, '_', field->name.length) != NULL)
		return !limits->underscore_pass || name_imitates(field->name);
	return false;
}

/* Mark the fields that an option of Connection names, unless they are
 * protected. */
static void
option_mark(struct http_head *head, struct slice option)
{
	int k = known_find(option);

	if (k >= 0 && (known[k].traits & TRAIT_PROTECTED))
		return;
	for (unsigned i = 0; i < head->fields; i++)
		if (slice_same(head->field[i].name, option) &&
		    !field_is_forwarded(&head->field[i]))
			head->field[i].named = true;
}

const char *
fields_drop(
    const struct http_limits *limits, bool request, struct http_head *head)
{
	struct slice rest, option;
	unsigned options = 0;

	for (unsigned i = 0; i < head->fields; i++)
		head->field[i].drop =
		    is_dropped(limits, request, &head->field[i]);
	for (unsigned i = 0; i < head->fields; i++) {
		if (head->field[i].id != HTTP_FIELD_CONNECTION)
			continue;
		rest = head->field[i].value;
		while (list_next(&rest, &option)) {
			if (++options > OPTIONS_MAX)
				return "connection_options";
			option_mark(head, option);
		}
	}
	return NULL;
}
