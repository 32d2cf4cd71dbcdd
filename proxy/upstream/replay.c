/* replay.c: copies of finished requests, written and remembered. */
#include "proxy/upstream/replay.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/path_pattern.h"
#include "http/writer.h"

int
replay_table_init(struct replay_table *t)
{
	t->place = calloc(REPLAY_MAX, sizeof(*t->place));
	return t->place == NULL ? -ENOMEM : 0;
}

void
replay_table_fini(struct replay_table *t)
{
	free(t->place);
	t->place = NULL;
}

const char *
replay_refusal_name(enum replay_refusal refusal)
{
	static const char *const names[] = {
	    [REPLAY_BODY] = "body",
	    [REPLAY_CREDENTIALS] = "credentials",
	    [REPLAY_EXCLUDED] = "excluded",
	    [REPLAY_PATH] = "path",
	    [REPLAY_SIZE] = "size",
	};

	return NAME_IN(names, refusal);
}

/* --- what may be copied --------------------------------------------------- */

/* The target in a request line like "GET /path?query HTTP/1.1". */
static struct slice
target_of(struct slice line)
{
	const char *begin = memchr(line.at, ' ', line.length);
	const char *end = memrchr(line.at, ' ', line.length);

	if (begin == NULL || begin == end)
		return (struct slice){"*", 1}; /* there is none */
	return (struct slice){begin + 1, (size_t)(end - begin - 1)};
}

static bool
is_excluded(const struct config *c, struct path path)
{
	for (unsigned i = 0; i < c->warmup.exclude_patterns; i++)
		if (path_pattern_matches(c->warmup.exclude[i], path))
			return true;
	return false;
}

static bool
is_added(const struct config *c, struct slice name)
{
	for (unsigned i = 0; i < c->warmup.field_names; i++)
		if (slice_is(name, c->warmup.fields[i]))
			return true;
	return false;
}

/* True if a field's name is a word, given in lower case.  The first letter
 * nearly always decides: this runs for every field of many requests. */
static bool
is_named(struct slice name, const char *word)
{
	return name.length > 0 && (name.at[0] | 0x20) == word[0] &&
	       slice_is(name, word);
}

/* True for a field that may be copied: those below describe the request and not
 * its sender; warmup.fields adds others. */
static bool
is_permitted(const struct config *c, struct slice name)
{
	static const char *const always[] = {"host", "accept", "accept-charset",
	    "accept-encoding", "accept-language", "user-agent", "range",
	    "x-forwarded-proto", "x-forwarded-host"};

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (is_named(name, always[i]))
			return true;
	return is_added(c, name);
}

static bool
is_credential(struct slice name)
{
	return is_named(name, "authorization") || is_named(name, "cookie");
}

static int
refuse(enum replay_refusal *out, enum replay_refusal refusal)
{
	*out = refusal;
	return -1;
}

/* Copy the field lines that may be copied. */
static int
write_fields(const struct config *c, struct slice lines, struct writer *w,
    enum replay_refusal *refusal)
{
	struct slice line;

	while (line_take(&lines, &line)) {
		const char *colon = memchr(line.at, ':', line.length);
		struct slice name = {line.at, 0}, value = {NULL, 0};

		if (colon != NULL) {
			name.length = (size_t)(colon - line.at);
			value = slice_trim((struct slice){
			    colon + 1, line.length - name.length - 1});
		}
		/* NTLM's or Negotiate's are of no use on another connection. */
		if (http_field_binds(name, value) ||
		    (is_credential(name) && !is_permitted(c, name)))
			return refuse(refusal, REPLAY_CREDENTIALS);
		if (is_permitted(c, name))
			writer_put(w, line.at, line.length + strlen("\r\n"));
	}
	return 0;
}

int
replay_write(const struct config *c, struct slice head, char *out,
    size_t capacity, enum replay_refusal *refusal)
{
	struct writer w = {.at = out, .capacity = capacity};
	struct slice line = {head.at, 0}, target;
	struct path path;

	if (!line_take(&head, &line))
		return refuse(refusal, REPLAY_PATH);
	target = target_of(line);
	if (!path_read(target.at, target.length, &path))
		return refuse(refusal, REPLAY_PATH);
	if (is_excluded(c, path))
		return refuse(refusal, REPLAY_EXCLUDED);
	writer_put(&w, line.at, line.length + strlen("\r\n"));
	if (write_fields(c, head, &w, refusal) < 0)
		return -1;
	/* Without this field a server may take the request for a local one, and
	 * grant rights that the client did not have. */
	if (!is_added(c, (struct slice){"x-forwarded-for", 15}))
		writer_text(&w, "X-Forwarded-For: unknown\r\n");
	return w.full ? refuse(refusal, REPLAY_SIZE) : (int)w.length;
}

/* --- what is remembered --------------------------------------------------- */

static bool
is_wanted(const struct config *c, const struct replay_source *r)
{
	return (c->warmup.requests > 0 || c->warmup.mirror > 0) &&
	       http_method_is_safe(r->method) && r->status / 100 == 2 &&
	       !r->opted_out && !r->hostless;
}

/* Store a request in its place.  If it is refused, the old one stays. */
static void
replay_store(struct replay_table *t, const struct config *c,
    const struct replay_source *r)
{
	char text[REPLAY_HEAD_BYTES];
	enum replay_refusal refusal;
	struct slice rest = r->head, line;
	struct replay *place;
	uint64_t hash;
	int n;

	if (!line_take(&rest, &line))
		return;
	hash = hash_bytes(line.at, line.length);
	place = &t->place[hash % REPLAY_MAX];
	if (place->length > 0 && place->hash == hash)
		return;
	n = replay_write(c, r->head, text, sizeof(text), &refusal);
	if (n < 0) {
		t->refused[refusal]++;
		return;
	}
	memcpy(place->text, text, (size_t)n);
	place->length = (uint16_t)n;
	place->method = r->method;
	place->hash = hash;
}

void
replay_record(struct replay_table *t, const struct config *c,
    const struct replay_source *r)
{
	if (!is_wanted(c, r))
		return;
	if (r->has_body)
		t->refused[REPLAY_BODY]++;
	else
		replay_store(t, c, r);
}

void
replay_table_review(struct replay_table *t, const struct config *c)
{
	char text[REPLAY_HEAD_BYTES];
	enum replay_refusal refusal;

	for (unsigned i = 0; i < REPLAY_MAX; i++) {
		struct replay *r = &t->place[i];
		struct slice head = {r->text, r->length};
		int n = 0;

		if (r->length > 0)
			n = replay_write(c, head, text, sizeof(text), &refusal);
		r->length = n > 0 ? (uint16_t)n : 0;
		if (n > 0)
			memcpy(r->text, text, (size_t)n);
	}
}

const struct replay *
replay_next(const struct replay_table *t, unsigned *at)
{
	for (unsigned i = 0; i < REPLAY_MAX; i++) {
		const struct replay *r = &t->place[(*at)++ % REPLAY_MAX];

		if (r->length > 0)
			return r;
	}
	return NULL;
}
