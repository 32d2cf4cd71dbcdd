/* collect.c: a request of Tailor's own that makes a server collect, and the
 * heap that a server reports in its responses.
 *
 * The request is for hedging.steer without an agent: the server's own handler
 * calls its runtime's collector (System.gc()) and then responds.  Nothing
 * depends on that response, because Tailor sees the collection itself.  A
 * request that is not needed any more is closed; the collection goes on.
 *
 * A heap that Tailor cannot see (Go, Node) is known from a field of the
 * server's responses, "Tailor-Heap: USED FULL COLLECTIONS": bytes in use, the
 * use at which it collects, and its collections so far.  A malformed field is
 * counted and ignored.
 *
 * Costs one connection per request, as a health check does. */

#include <string.h>

#include "base/log.h"
#include "proxy/upstream/connection.h"
#include "proxy/upstream/server.h"
#include "proxy/upstream/upstream.h"

#define COLLECT_TIMEOUT_NS (10 * NS_PER_S)
/* A response with fewer collections that comes this late was not overtaken: it
 * is of another process, which counts its own collections. */
#define OVERTAKEN_NS NS_PER_S
/* With only malformed fields for this time, the heap is unknown. */
#define MALFORMED_NS NS_PER_S
#define MALFORMED_LOG_NS (60 * NS_PER_S)

/* Read a number, and the space after it, from the start of the text. */
static bool
number_take(struct slice *s, uint64_t *out)
{
	size_t i = 0;

	for (*out = 0; i < s->length && s->at[i] >= '0' && s->at[i] <= '9';
	     i++) {
		*out = *out * 10 + (uint64_t)(s->at[i] - '0');
		if (*out > HEAP_NUMBER_MAX)
			return false;
	}
	if (i == 0 || (i < s->length && s->at[i] != ' '))
		return false;
	i += i < s->length;
	*s = (struct slice){s->at + i, s->length - i};
	return true;
}

bool
collect_heap_parse(struct slice text, struct server_heap *h)
{
	/* A space at the end is refused, too. */
	return text.length > 0 && text.at[text.length - 1] != ' ' &&
	       number_take(&text, &h->used) && number_take(&text, &h->full) &&
	       number_take(&text, &h->collections) && text.length == 0 &&
	       h->full > 0;
}

static bool
is_doubled(const struct http_head *head, const struct http_field *f)
{
	const struct http_field *g = f + 1;

	for (; g < head->field + head->fields; g++)
		if (g->id == HTTP_FIELD_TAILOR &&
		    slice_is(g->name, "tailor-heap"))
			return true;
	return false;
}

/* Count a malformed value, and log it.  The value before stays valid for
 * MALFORMED_NS. */
static void
heap_malformed(struct server *s, struct slice text, struct instant now)
{
	char value[80];
	size_t n =
	    text.length < sizeof(value) ? text.length : sizeof(value) - 1;

	s->heap_malformed++;
	if (instant_is_set(s->heap.seen) &&
	    instant_since(now, s->heap.seen) >= MALFORMED_NS)
		s->heap.seen = INSTANT_NONE;
	if (instant_is_set(s->heap_logged) &&
	    instant_since(now, s->heap_logged) < MALFORMED_LOG_NS)
		return;
	s->heap_logged = now;
	memcpy(value, text.at, n);
	value[n] = '\0';
	log_event(LOG_LEVEL_WARNING, "heap_malformed",
	    "server=%s value=\"%s\" total=%llu why=\"Tailor-Heap must be sent "
	    "once, as USED FULL COLLECTIONS\" costs=\"no steering by it\"",
	    s->config->name, value, (unsigned long long)s->heap_malformed);
}

void
collect_heap_note(
    struct server *s, const struct http_head *head, struct instant now)
{
	const struct http_field *f = http_field_tailor(head, "tailor-heap");
	struct server_heap h = {.seen = now};

	if (f == NULL)
		return;
	if (is_doubled(head, f) || !collect_heap_parse(f->value, &h)) {
		heap_malformed(s, f->value, now);
		return;
	}
	if (instant_is_set(s->heap.seen) &&
	    h.collections < s->heap.collections &&
	    instant_since(now, s->heap.seen) < OVERTAKEN_NS)
		return;
	if (instant_is_set(s->heap.seen) &&
	    h.collections >= s->heap.collections)
		h.live =
		    h.collections > s->heap.collections ? h.used : s->heap.live;
	s->heap = h;
}

static void
on_collect_head(struct connection *u, const struct http_head *head)
{
	struct server *s = u->user;

	s->collect.status = head->status;
}

static void
collect_failed(struct server *s, const char *why)
{
	log_event(LOG_LEVEL_WARNING, "collect_failed",
	    "server=%s target=%s why=%s status=%u", s->config->name,
	    s->config->collect_target, why, s->collect.status);
}

static void
on_collect_end(const struct exchange_result *result)
{
	struct server *s = result->user;

	s->collect.link = NULL;
	timer_clear(&s->upstream->loop->timers, &s->collect.timer);
	if (!exchange_answered(result->end))
		collect_failed(s, result->why);
	else if (s->collect.status >= 400)
		collect_failed(s, "status");
}

static const struct exchange_ops collect_ops = {
    .once = true,
    .head = on_collect_head,
    .end = on_collect_end,
};

static void
on_collect_timer(void *user, bool forced)
{
	struct server *s = user;

	(void)forced;
	collect_failed(s, "no_answer");
	collect_stop(s);
}

void
collect_init(struct server *s)
{
	timer_init(&s->collect.timer, on_collect_timer, s);
}

void
collect_begin(struct server *s)
{
	size_t length;

	collect_stop(s);
	length = server_write_get(s, s->config->collect_target, s->collect.text,
	    sizeof(s->collect.text));
	s->collect.status = 0;
	if (connection_get(s, &collect_ops, s, REUSE_NONE, &s->collect.link) <
	    0) {
		s->collect.link = NULL;
		collect_failed(s, "no_connection");
		return;
	}
	timer_arm(
	    &s->upstream->loop->timers, &s->collect.timer, COLLECT_TIMEOUT_NS);
	server_send_get(s->collect.link, s->collect.text, length);
}

void
collect_stop(struct server *s)
{
	timer_clear(&s->upstream->loop->timers, &s->collect.timer);
	if (s->collect.link != NULL)
		connection_close(s->collect.link);
	s->collect.link = NULL;
}
