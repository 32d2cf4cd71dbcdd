/* pack.c: a tale as bytes, and back.
 *
 * One function walks a tale's fields for both directions: what is written
 * and what is read cannot disagree.  After the first failure each call does
 * nothing, and reads zero. */
#include "talechain/store/pack.h"

#include "talechain/events/termination.h"
#include "talechain/tale/tale_struct.h"

#define PACK_VERSION 6
/* Most time between a request's first instant and any other. */
#define SPAN_MAX_NS (INT64_C(7200) * NS_PER_S)
/* Latest instant, so that differences of two cannot overflow. */
#define INSTANT_MAX_NS ((uint64_t)INT64_MAX / 2)

/* --- numbers and texts ---------------------------------------------------- */

struct codec {
	bool packing;
	int err;
	uint8_t *out; /* packing: owned by the caller's struct packed */
	const uint8_t *in;
	size_t at, length; /* length: of in, or room in out */
};

static void
put_byte(struct codec *c, uint8_t byte)
{
	size_t room;
	uint8_t *grown;

	if (c->at == c->length) {
		room = c->length < 1024 ? 2048 : 2 * c->length;
		grown = realloc(c->out, room);
		if (grown == NULL) {
			c->err = -ENOMEM;
			return;
		}
		c->out = grown;
		c->length = room;
	}
	c->out[c->at++] = byte;
}

static uint8_t
get_byte(struct codec *c)
{
	if (c->at == c->length) {
		c->err = -EPROTO;
		return 0;
	}
	return c->in[c->at++];
}

static void
code_u64(struct codec *c, uint64_t *v)
{
	uint64_t left = *v, value = 0;
	unsigned shift = 0;
	uint8_t byte;

	if (c->packing) {
		for (; left >= 0x80 && c->err == 0; left >>= 7)
			put_byte(c, (uint8_t)(left | 0x80));
		if (c->err == 0)
			put_byte(c, (uint8_t)left);
		return;
	}
	do {
		byte = c->err == 0 ? get_byte(c) : 0;
		if (shift == 63 && byte > 1)
			c->err = -EPROTO;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (c->err == 0 && byte >= 0x80 && shift <= 63);
	if (byte >= 0x80)
		c->err = -EPROTO;
	*v = c->err == 0 ? value : 0;
}

/* Map small numbers of either sign to small unsigned ones. */
static uint64_t
zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static int64_t
unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

static void
code_i64(struct codec *c, int64_t *v)
{
	uint64_t coded = zigzag(*v);

	code_u64(c, &coded);
	*v = unzigzag(coded);
}

/* An int within [min, max], or [0, max]; others are refused when read. */
static void
code_int(struct codec *c, int *v, int min, int max)
{
	int64_t wide = *v;

	code_i64(c, &wide);
	if (!c->packing && c->err == 0 && (wide < min || wide > max))
		c->err = -EPROTO;
	*v = c->err == 0 ? (int)wide : min;
}

static void
code_unsigned(struct codec *c, unsigned *v, unsigned max)
{
	uint64_t wide = *v;

	code_u64(c, &wide);
	if (!c->packing && c->err == 0 && wide > max)
		c->err = -EPROTO;
	*v = c->err == 0 ? (unsigned)wide : 0;
}

static void
code_bool(struct codec *c, bool *v)
{
	unsigned wide = *v;

	code_unsigned(c, &wide, 1);
	*v = wide != 0;
}

/* A terminated text; one that does not fit in size is refused when read. */
static void
code_text(struct codec *c, char *text, size_t size)
{
	uint64_t n = c->packing ? strnlen(text, size - 1) : 0;

	code_u64(c, &n);
	if (c->packing) {
		for (uint64_t i = 0; i < n && c->err == 0; i++)
			put_byte(c, (uint8_t)text[i]);
		return;
	}
	text[0] = '\0';
	if (c->err == 0 && (n >= size || n > c->length - c->at))
		c->err = -EPROTO;
	if (c->err < 0)
		return;
	memcpy(text, c->in + c->at, n);
	text[n] = '\0';
	/* A NUL inside would hide the bytes after it. */
	if (strlen(text) != n)
		c->err = -EPROTO;
	c->at += n;
}

/* --- tales ---------------------------------------------------------------- */

/* An instant, as its difference from base; 0: not set; 1: base itself. */
static void
code_instant(struct codec *c, struct instant *v, struct instant base)
{
	int64_t since = instant_since(*v, base);
	uint64_t coded = zigzag(since) + 1;

	if (!instant_is_set(*v))
		coded = 0;
	code_u64(c, &coded);
	if (c->packing)
		return;
	*v = INSTANT_NONE;
	if (coded == 0 || c->err < 0)
		return;
	since = unzigzag(coded - 1);
	if (since > SPAN_MAX_NS || since < -SPAN_MAX_NS ||
	    (since < 0 && (uint64_t)-since >= base.ns))
		c->err = -EPROTO;
	else
		*v = instant_plus(base, since);
}

static void
code_attempt(struct codec *c, struct tale_attempt *a, struct instant base)
{
	code_int(c, &a->server, -1, 255);
	code_unsigned(c, &a->server_pid, UINT32_MAX);
	code_u64(c, &a->cookie);
	code_text(c, a->server_name, sizeof(a->server_name));
	code_text(c, a->trigger, sizeof(a->trigger));
	code_text(c, a->outcome, sizeof(a->outcome));
	code_instant(c, &a->written, base);
	code_instant(c, &a->first_byte, base);
	code_instant(c, &a->complete, base);
	code_int(c, &a->status, 0, 999);
}

/* The instant from which a request's others are counted. */
static struct instant
request_base(const struct tale_request *r)
{
	return instant_is_set(r->first_byte) ? r->first_byte : r->received;
}

static void
code_request(struct codec *c, struct tale_request *r)
{
	struct instant base = request_base(r);
	unsigned termination = r->termination;

	code_u64(c, &r->id);
	code_text(c, r->external_id, sizeof(r->external_id));
	code_text(c, r->method, sizeof(r->method));
	code_text(c, r->target, sizeof(r->target));
	code_int(c, &r->status, 0, 999);
	code_u64(c, &base.ns);
	if (!c->packing && c->err == 0 && base.ns > INSTANT_MAX_NS)
		c->err = -EPROTO;
	code_instant(c, &r->connecting, base);
	code_unsigned(c, &r->synacks, UINT32_MAX);
	code_instant(c, &r->arrived, base);
	code_instant(c, &r->accepted, base);
	code_instant(c, &r->first_byte, base);
	code_instant(c, &r->received, base);
	code_instant(c, &r->committed, base);
	code_instant(c, &r->finished, base);
	code_instant(c, &r->acknowledged, base);
	code_unsigned(c, &r->resent, UINT32_MAX);
	/* Packed again, it would have another base. */
	if (!c->packing && c->err == 0 && request_base(r).ns != base.ns)
		c->err = -EPROTO;
	code_u64(c, &r->stream_begin);
	code_u64(c, &r->stream_end);
	code_u64(c, &r->cookie);
	for (int i = 0; i < TALE_ATTEMPTS; i++)
		code_attempt(c, &r->attempt[i], base);
	code_unsigned(c, &termination, TERMINATION_COUNT - 1);
	r->termination = (uint8_t)termination;
	code_text(c, r->reason, sizeof(r->reason));
	code_text(c, r->refusal, sizeof(r->refusal));
}

static void
code_client(struct codec *c, struct tale_client *k)
{
	code_u64(c, &k->scheduled.ns);
	code_u64(c, &k->sent.ns);
	code_u64(c, &k->received.ns);
	code_bool(c, &k->same_host);
	if (!c->packing && c->err == 0 &&
	    (k->scheduled.ns > INSTANT_MAX_NS || k->sent.ns > INSTANT_MAX_NS ||
		k->received.ns > INSTANT_MAX_NS))
		c->err = -EPROTO;
}

/* One event, as differences from the event before it. */
static void
code_slot(struct codec *c, struct timeline_slot *slot, uint64_t *ts)
{
	struct talechain_event *e = &slot->event;
	int64_t step = (int64_t)(e->ts - *ts);
	int64_t late = (int64_t)(slot->read_ns - e->ts);
	unsigned type = e->type, version = e->version, flags = e->flags;

	code_i64(c, &step);
	code_i64(c, &late);
	code_unsigned(c, &type, UINT16_MAX);
	code_unsigned(c, &version, UINT8_MAX);
	code_unsigned(c, &flags, UINT8_MAX);
	code_unsigned(c, &e->tid, UINT32_MAX);
	code_unsigned(c, &e->pid, UINT32_MAX);
	code_unsigned(c, &e->cpu, UINT32_MAX);
	for (int i = 0; i < 4; i++)
		code_u64(c, &e->arg[i]);
	code_u64(c, &e->seq);
	code_u64(c, &slot->seq);
	code_unsigned(c, &slot->channel, UINT32_MAX);
	code_int(c, &slot->server, -1, INT32_MAX);
	if (!c->packing) {
		e->ts = *ts + (uint64_t)step;
		slot->read_ns = e->ts + (uint64_t)late;
		e->type = (uint16_t)type;
		e->version = (uint8_t)version;
		e->flags = (uint8_t)flags;
	}
	*ts = e->ts;
}

static void
pack_events(struct codec *c, const struct tale *t)
{
	uint64_t entries = t->entries, ts = t->request.received.ns;

	code_u64(c, &entries);
	for (size_t i = 0; i < t->entries && c->err == 0; i++) {
		struct tale_entry e = t->entry[i];

		code_slot(c, &e.slot, &ts);
		code_bool(c, &e.doubtful);
	}
}

static void
unpack_events(struct codec *c, struct tale *t)
{
	uint64_t entries = 0, ts = t->request.received.ns;

	code_u64(c, &entries);
	/* An event has at least twelve numbers. */
	if (c->err == 0 &&
	    (entries > TALE_ENTRIES_MAX || entries > (c->length - c->at) / 12))
		c->err = -EPROTO;
	if (c->err < 0 || entries == 0)
		return;
	t->entry = calloc(entries, sizeof(t->entry[0]));
	if (t->entry == NULL) {
		c->err = -ENOMEM;
		return;
	}
	t->entries = t->capacity = entries;
	for (size_t i = 0; i < t->entries && c->err == 0; i++) {
		struct tale_entry *e = &t->entry[i];

		code_slot(c, &e->slot, &ts);
		code_bool(c, &e->doubtful);
		e->at.ns = e->doubtful ? e->slot.read_ns : e->slot.event.ts;
		if (e->at.ns > INSTANT_MAX_NS ||
		    (i > 0 && instant_before(e->at, e[-1].at)))
			c->err = -EPROTO;
	}
}

static void
code_losses(struct codec *c, struct tale *t)
{
	code_u64(c, &t->lost_stream);
	code_u64(c, &t->lost_channels);
	code_u64(c, &t->omitted);
	code_bool(c, &t->stale);
}

int
tale_pack(struct packed *out, const struct tale *t)
{
	struct codec c = {.packing = true};
	/* code_ functions only read when packing: a shallow copy will do. */
	struct tale copy = *t;
	uint64_t version = PACK_VERSION;

	code_u64(&c, &version);
	code_request(&c, &copy.request);
	code_client(&c, &copy.client);
	code_losses(&c, &copy);
	pack_events(&c, t);
	*out = (struct packed){c.out, c.at};
	return c.err;
}

/* Rebuild the rest of a tale whose events have been read. */
static int
tale_complete(struct tale *t)
{
	int err;

	tale_bounds_set(t);
	err = tale_relearn(t);
	if (err < 0)
		return err;
	tale_blinds_sum(t);
	return tale_pauses_find(t);
}

int
tale_unpack(struct tale **out, const uint8_t *bytes, size_t length)
{
	struct codec c = {.in = bytes, .length = length};
	struct tale *t = calloc(1, sizeof(*t));
	uint64_t version = 0;

	if (t == NULL)
		return -ENOMEM;
	code_u64(&c, &version);
	if (c.err == 0 && version != PACK_VERSION)
		c.err = -EPROTO;
	code_request(&c, &t->request);
	code_client(&c, &t->client);
	code_losses(&c, t);
	if (c.err == 0)
		unpack_events(&c, t);
	if (c.err == 0 && c.at != length)
		c.err = -EPROTO;
	if (c.err == 0)
		c.err = tale_complete(t);
	if (c.err < 0)
		tale_free(&t);
	else
		*out = t;
	return c.err;
}
