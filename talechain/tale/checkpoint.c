/* checkpoint.c: following the stream's state, and finding it again. */
#include "talechain/tale/checkpoint.h"

struct tale_checkpoints {
	struct timeline_reader *reader; /* borrowed */
	struct stream_state live;
	struct stream_state saved[CHECKPOINTS]; /* by position; 0: none */
};

int
tale_checkpoints_new(
    struct tale_checkpoints **out, struct timeline_reader *reader)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return -ENOMEM;
	(*out)->reader = reader;
	return 0;
}

size_t
tale_checkpoints_bytes(void)
{
	return sizeof(struct tale_checkpoints);
}

struct timeline_reader *
checkpoints_reader(const struct tale_checkpoints *c)
{
	return c->reader;
}

void
tale_checkpoints_free(struct tale_checkpoints **cp)
{
	free(*cp);
	*cp = NULL;
}

/* --- one slot ------------------------------------------------------------- */

static void
place_set(struct state_thread *places, uint32_t key, uint64_t position)
{
	places[key % STATE_PLACES] =
	    (struct state_thread){key, (uint32_t)position};
}

void
stream_state_switch(
    struct stream_state *s, uint64_t position, const struct timeline_slot *slot)
{
	uint32_t in = tale_low(slot->event.arg[0]), out = slot->event.tid;
	struct state_thread *place = &s->left[in % STATE_PLACES];

	if (slot->event.ts < s->lost_ns)
		return;
	if (place->tid == in)
		place->tid = 0;
	if (out != 0)
		place_set(s->left, out, position);
}

void
stream_state_lost(struct stream_state *s, uint64_t until_ns)
{
	memset(s->left, 0, sizeof(s->left));
	if (until_ns > s->lost_ns)
		s->lost_ns = until_ns;
}

struct state_thread *
stream_state_named(struct stream_state *s, uint32_t tid)
{
	struct state_thread *place = &s->name[2 * (uint64_t)tid % STATE_PLACES];

	if (place[0].tid == tid || (place[0].tid == 0 && place[1].tid != tid))
		return place;
	if (place[1].tid == tid || place[1].tid == 0 ||
	    (int32_t)(place[1].low - place[0].low) < 0)
		place++;
	return place;
}

void
stream_state_name(
    struct stream_state *s, uint64_t position, const struct timeline_slot *slot)
{
	uint32_t tid = tale_low(slot->event.arg[0]);

	*stream_state_named(s, tid) =
	    (struct state_thread){tid, (uint32_t)position};
}

void
stream_state_java(
    struct stream_state *s, uint64_t position, const struct timeline_slot *slot)
{
	uint64_t arg = slot->event.arg[0];

	place_set(
	    s->java, state_java_key(arg >> 32, (unsigned)(arg & 3)), position);
}

void
stream_state_mark(struct stream_state *s, const struct timeline_slot *slot)
{
	int server = tale_event_server(slot);
	struct timeline_slot *open;
	struct tale_mark m;

	if (server < 0 || !tale_mark_of(&slot->event, &m) || m.pid != 0)
		return;
	open = &s->open[server % STATE_SERVERS][m.source][m.kind];
	*open = *slot;
	if (!m.begins)
		open->seq = 0;
}

/* The two ports of a connection, the lower one first. */
static uint32_t
port_pair(uint16_t a, uint16_t b)
{
	return a < b ? (uint32_t)a << 16 | b : (uint32_t)b << 16 | a;
}

static struct state_flow *
flow_place(struct stream_state *s, uint32_t ports)
{
	return &s->flow[(ports ^ ports >> 16) % STATE_PLACES];
}

static void
flow_begins(struct state_flow *f, unsigned end, uint64_t position)
{
	if (f->under_way[end])
		return;
	f->under_way[end] = true;
	f->begun[end] = (uint32_t)position;
}

/* Follow a connection's flow.  An end that sends bytes responds to all bytes
 * that were under way to it. */
static void
state_flow(
    struct stream_state *s, uint64_t position, const struct talechain_event *e)
{
	uint16_t local = event_local(e);
	uint16_t remote = event_remote(e);
	uint32_t ports = port_pair(local, remote);
	struct state_flow *f = flow_place(s, ports);
	unsigned end = local > remote;

	if (f->ports != ports)
		*f = (struct state_flow){.ports = ports};
	if (e->type == TALECHAIN_TCP_RECV) {
		flow_begins(f, end, position);
	} else {
		f->under_way[end] = false;
		flow_begins(f, !end, position);
	}
}

/* Note a call on a socket, by its thread and, if it sent, by its local port. */
static void
state_call(
    struct stream_state *s, uint64_t position, const struct talechain_event *e)
{
	place_set(s->call, e->tid, position);
	if (e->type == TALECHAIN_SOCK_SEND)
		place_set(s->forward, event_local(e), position);
}

void
stream_state_step(
    struct stream_state *s, uint64_t position, const struct timeline_slot *slot)
{
	s->position = position + 1;
	switch (slot->event.type) {
	case TALECHAIN_SCHEDULE:
		stream_state_switch(s, position, slot);
		break;
	case TALECHAIN_THREAD:
		stream_state_name(s, position, slot);
		break;
	case TALECHAIN_JVM_THREAD:
		stream_state_java(s, position, slot);
		break;
	case TALECHAIN_SOCK_SEND:
		state_call(s, position, &slot->event);
		state_flow(s, position, &slot->event);
		break;
	case TALECHAIN_SOCK_RECV:
		state_call(s, position, &slot->event);
		break;
	case TALECHAIN_TCP_RECV:
		state_flow(s, position, &slot->event);
		break;
	case TALECHAIN_PROXY_ATTEMPT:
		place_set(s->attempt, tale_low(slot->event.arg[3]), position);
		break;
	case TALECHAIN_RATE:
		s->rate_ns = slot->read_ns;
		break;
	case TALECHAIN_META_UNSAMPLED:
		s->unsampled = *slot;
		stream_state_lost(s, slot->event.arg[0]);
		break;
	case TALECHAIN_META_LOST:
		stream_state_lost(s, slot->event.ts);
		break;
	default:
		if (slot->event.type >> 12 != 0)
			stream_state_mark(s, slot);
	}
}

/* --- finding -------------------------------------------------------------- */

/* A whole position, at most s->position, from its low half. */
static uint64_t
position_of(const struct stream_state *s, uint32_t low)
{
	return s->position - (uint32_t)((uint32_t)s->position - low);
}

bool
stream_state_fetch(struct timeline_reader *reader, const struct stream_state *s,
    const struct state_thread *of, uint32_t tid, struct timeline_slot *out)
{
	uint64_t position = position_of(s, of->low), lost;

	return of->tid == tid && tid != 0 &&
	       timeline_seek(reader, position) == position &&
	       timeline_read(reader, out, &lost) == TIMELINE_READ_OK;
}

uint64_t
stream_state_flow(const struct stream_state *s, uint16_t local, uint16_t remote)
{
	uint32_t ports = port_pair(local, remote);
	const struct state_flow *f =
	    &s->flow[(ports ^ ports >> 16) % STATE_PLACES];
	unsigned end = local > remote;

	return f->ports == ports && f->under_way[end]
		   ? position_of(s, f->begun[end])
		   : s->position;
}

/* Forget everything: the slots before a position are not known. */
static void
state_clear(struct stream_state *s, uint64_t position)
{
	memset(s, 0, sizeof(*s));
	s->position = s->since = position;
}

/* Step up to a position; saves checkpoints if c is given. */
static void
state_advance(struct stream_state *s, struct tale_checkpoints *c,
    struct timeline_reader *reader, uint64_t to)
{
	uint64_t at = timeline_seek(reader, s->position), lost;
	struct timeline_slot slot;

	if (at > s->position)
		state_clear(s, at);
	while (s->position < to) {
		if (c != NULL && s->position % CHECKPOINT_SLOTS == 0)
			c->saved[s->position / CHECKPOINT_SLOTS % CHECKPOINTS] =
			    *s;
		switch (timeline_read(reader, &slot, &lost)) {
		case TIMELINE_READ_NONE:
			return;
		case TIMELINE_READ_LOST:
			state_clear(s, timeline_reader_position(reader));
			break;
		case TIMELINE_READ_OK:
			stream_state_step(s, s->position, &slot);
			break;
		}
	}
}

/* The latest checkpoint before a position, or NULL.  A checkpoint that knows
 * fewer than TALE_LOOKBACK_SLOTS slots is not used. */
static const struct stream_state *
checkpoint_before(const struct tale_checkpoints *c, uint64_t position)
{
	const struct stream_state *s =
	    &c->saved[position / CHECKPOINT_SLOTS % CHECKPOINTS];

	return s->position > 0 && s->position <= position &&
		       position - s->position < CHECKPOINT_SLOTS &&
		       position - s->since >= TALE_LOOKBACK_SLOTS
		   ? s
		   : NULL;
}

void
checkpoints_find(struct tale_checkpoints *c, struct timeline_reader *reader,
    uint64_t position, struct stream_state *out)
{
	uint64_t earliest =
	    position > TALE_LOOKBACK_SLOTS ? position - TALE_LOOKBACK_SLOTS : 0;
	const struct stream_state *saved;

	if (c != NULL && c->live.position <= position) {
		if (c->live.position < earliest)
			state_clear(&c->live, earliest);
		state_advance(&c->live, c, reader, position);
		*out = c->live;
		return;
	}
	saved = c != NULL ? checkpoint_before(c, position) : NULL;
	if (saved != NULL)
		*out = *saved;
	else
		state_clear(out, earliest);
	state_advance(out, NULL, reader, position);
}
