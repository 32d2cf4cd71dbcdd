/* slice.c: cutting one request out of the timeline stream.
 *
 * A request knows between which positions of the stream it lived.  Passes from
 * a little before to a little after copy what concerns the request: events with
 * its id, events of its servers in that time, the kernel's events of its
 * sockets and threads (slice_kernel.c), and reports of losses.  Then everything
 * is put in order of time.
 *
 * Applications write some of these events: so their number is limited, and a
 * stamp is only believed if it can be true.  Why things happened is not decided
 * here. */

#include "base/array.h"
#include "talechain/events/events.h"
#include "talechain/tale/chain.h"
#include "talechain/tale/slice.h"

#define RATES_MAX (TALE_EVENTS_MAX / 8)
#define REST_NS (10 * NS_PER_S) /* a client's reading is followed this long */
#define RATE_LATE_NS (25 * NS_PER_MS) /* a period ends after the request */
#define RATE_RECENT_NS NS_PER_S	      /* older ones: rates are not recorded */
#define SWEEP_SLOTS 64 /* most of one sweep; these may be out of order */

/* Take an event of a server, or note it if it is from before the window. */
static int
slice_server(struct slicer *s, const struct timeline_slot *slot)
{
	if (slice_touches(s, slot))
		return slice_add(s, slot);
	if (slot->event.ts < s->from.ns)
		stream_state_mark(&s->state, slot);
	return 0;
}

/* Take a RATE event of a server of the request, or of a CPU, if its period and
 * the request overlap. */
static int
slice_rate(struct slicer *s, const struct timeline_slot *slot)
{
	int64_t interval_ns =
	    (int64_t)(slot->event.arg[3] & ((UINT64_C(1) << 40) - 1));
	struct instant ts = {slot->event.ts};

	if (instant_before(ts, s->tale->t0) ||
	    instant_before(s->to, tale_earlier(ts, interval_ns)) ||
	    (slot->server >= 0 && tale_attempt_of(s->tale, slot->server) < 0))
		return 0;
	if (s->rates >= RATES_MAX) {
		s->tale->omitted++;
		return 0;
	}
	s->rates++;
	return slice_add(s, slot);
}

/* True if a slot comes after all that is the request's, but for rates. */
static bool
slice_late(const struct slicer *s, const struct timeline_slot *slot)
{
	return s->position >= s->tale->request.stream_end &&
	       slot->read_ns > s->to.ns;
}

/* True if an event is of a collection.  One on a server without the request is
 * of interest, too: a pause that the request did not meet. */
static bool
is_collection(const struct talechain_event *e)
{
	return (e->type == TALECHAIN_PAUSE_BEGIN ||
		   e->type == TALECHAIN_PAUSE_END) &&
	       e->arg[1] == HAZARD_GC;
}

/* Take one slot of the stream if it concerns the request. */
static int
slice_slot(struct slicer *s, const struct timeline_slot *slot)
{
	struct tale *t = s->tale;
	uint64_t request;
	int attempt;

	if (slot->event.type == TALECHAIN_RATE)
		return slice_rate(s, slot);
	if (slice_late(s, slot))
		return 0;
	if (slot->event.type >> 12 == 0)
		return slice_kernel(s, slot);
	if (talechain_event_request(&slot->event, &request))
		return request == t->request.id ? slice_add(s, slot) : 0;
	switch (slot->event.type) {
	case TALECHAIN_JVM_THREAD:
		stream_state_java(&s->state, s->position, slot);
		return 0;
	case TALECHAIN_META_LOST:
		if (!slice_touches(s, slot)) {
			if (slot->event.ts < s->from.ns)
				stream_state_lost(&s->state, slot->event.ts);
			return 0;
		}
		if (__builtin_add_overflow(t->lost_channels, slot->event.arg[1],
			&t->lost_channels))
			t->lost_channels = UINT64_MAX;
		return slice_add(s, slot);
	case TALECHAIN_META_UNSAMPLED:
		if (slot->event.arg[0] <= s->from.ns)
			stream_state_lost(&s->state, slot->event.arg[0]);
		else if (slot->event.ts <= s->to.ns)
			return slice_add(s, slot);
		return 0;
	case TALECHAIN_META_BLIND:
	case TALECHAIN_PROXY_SWAP:
		return slice_touches(s, slot) ? slice_add(s, slot) : 0;
	case TALECHAIN_JVM_GC_BEGIN:
	case TALECHAIN_JVM_GC_END:
	case TALECHAIN_JVM_SAFEPOINT_BEGIN:
	case TALECHAIN_JVM_SAFEPOINT_END:
	case TALECHAIN_JVM_YIELDPOINT:
	case TALECHAIN_JVM_START:
	case TALECHAIN_JVM_DEATH:
	case TALECHAIN_JVM_RATES:
	case TALECHAIN_SERVER_START:
	case TALECHAIN_SERVER_EXIT:
	case TALECHAIN_PAUSE_BEGIN:
	case TALECHAIN_PAUSE_END:
		attempt = tale_attempt_of(t, tale_event_server(slot));
		return attempt >= 0 || is_collection(&slot->event)
			   ? slice_server(s, slot)
			   : 0;
	}
	return 0;
}

/* Count the request's slots among those that were overwritten before we read
 * them. */
static void
slice_lost(struct slicer *s, uint64_t from, uint64_t to)
{
	const struct tale_request *r = &s->tale->request;
	uint64_t end = r->stream_end > 0 ? r->stream_end : s->stop;

	if (!s->final || to <= r->stream_begin)
		return; /* only slots before the request */
	s->tale->stale = true;
	if (from < r->stream_begin)
		from = r->stream_begin;
	if (to > end)
		to = end;
	if (to > from)
		s->tale->lost_stream += to - from;
}

/* True if nothing of a request, nor a rate, comes after a slot. */
static bool
slice_over(const struct slicer *s, const struct timeline_slot *slot)
{
	int64_t late_ns = s->final && s->rates_read ? RATE_LATE_NS : 0;

	return slice_late(s, slot) &&
	       slot->read_ns > s->to.ns + (uint64_t)late_ns;
}

/* Make one pass over the slots in [from, stop): visit gets each of them.  0 or
 * -ENOMEM. */
static int
slice_run(struct slicer *s, uint64_t from, uint64_t stop,
    int (*visit)(struct slicer *s, const struct timeline_slot *slot))
{
	struct timeline_slot slot;
	uint64_t position, lost;
	int err;

	position = timeline_seek(s->reader, from);
	slice_lost(s, from, position);
	while (position < stop) {
		switch (timeline_read(s->reader, &slot, &lost)) {
		case TIMELINE_READ_NONE:
			return 0;
		case TIMELINE_READ_LOST:
			slice_lost(s, position, position + lost);
			break;
		case TIMELINE_READ_OK:
			s->position = position;
			if (s->final && position >= s->state.position)
				s->state.position = position + 1;
			s->rates_read |= slot.event.type == TALECHAIN_RATE;
			if (slice_over(s, &slot))
				return 0;
			err = visit(s, &slot);
			if (err < 0)
				return err;
			break;
		}
		position = timeline_reader_position(s->reader);
	}
	return 0;
}

static int
entry_compare(const void *va, const void *vb)
{
	const struct tale_entry *a = va, *b = vb;

	return COMPARE(a->at.ns, b->at.ns) ?: COMPARE(a->slot.seq, b->slot.seq);
}

/* Bring entries into their order, each slot once: two rules may take one. */
static void
entries_sort(struct tale *t)
{
	size_t kept = 0;

	if (t->entries > 0)
		qsort(t->entry, t->entries, sizeof(t->entry[0]), entry_compare);
	for (size_t i = 0; i < t->entries; i++)
		if (kept == 0 ||
		    t->entry[i].slot.seq != t->entry[kept - 1].slot.seq)
			t->entry[kept++] = t->entry[i];
	t->entries = kept;
}

/* Copy a request; its strings are terminated, whatever the caller's are. */
static void
request_copy(struct tale_request *out, const struct tale_request *in)
{
	*out = *in;
	out->external_id[sizeof(out->external_id) - 1] = '\0';
	out->method[sizeof(out->method) - 1] = '\0';
	out->target[sizeof(out->target) - 1] = '\0';
	out->reason[sizeof(out->reason) - 1] = '\0';
	out->refusal[sizeof(out->refusal) - 1] = '\0';
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		struct tale_attempt *a = &out->attempt[i];

		a->server_name[sizeof(a->server_name) - 1] = '\0';
		a->trigger[sizeof(a->trigger) - 1] = '\0';
		a->outcome[sizeof(a->outcome) - 1] = '\0';
	}
}

/* True if a pause of a server was open as the window began.  A pause that began
 * more than TALE_LOOKBACK_SLOTS before may have ended unseen. */
static bool
is_open(const struct slicer *s, const struct timeline_slot *open, int server)
{
	uint64_t position = open->seq / 2 - 1;

	return open->seq != 0 && tale_event_server(open) == server &&
	       position + TALE_LOOKBACK_SLOTS >= s->begin;
}

/* Take the pauses that began before the window and have not ended. */
static int
slice_open_add(struct slicer *s)
{
	const struct timeline_slot *open;
	int server, err = 0;

	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		server = s->tale->request.attempt[i].server;
		if (server < 0 || tale_attempt_of(s->tale, server) != i)
			continue;
		open = &s->state.open[server % STATE_SERVERS][0][0];
		for (int k = 0; k < SOURCES * HAZARD_KIND_COUNT; k++)
			if (err == 0 && is_open(s, &open[k], server))
				err = slice_add(s, &open[k]);
	}
	for (server = 0; server < STATE_SERVERS && err == 0; server++) {
		open = &s->state.open[server][SOURCE_HAZARD][HAZARD_GC];
		if (tale_attempt_of(s->tale, server) < 0 &&
		    is_open(s, open, server))
			err = slice_add(s, open);
	}
	return err;
}

/* The position of the first slot that was read after the window's begin, less
 * SWEEP_SLOTS.  The stream is in the order of reading, but for one sweep's
 * slots. */
static uint64_t
slice_begin(struct slicer *s)
{
	uint64_t low = timeline_seek(s->reader, 0), middle, lost;
	uint64_t high = s->tale->request.stream_begin;
	struct timeline_slot slot;

	if (high > s->stop)
		high = s->stop;
	while (low < high) {
		middle = low + (high - low) / 2;
		if (timeline_seek(s->reader, middle) == middle &&
		    timeline_read(s->reader, &slot, &lost) ==
			TIMELINE_READ_OK &&
		    slot.read_ns >= s->from.ns)
			high = middle;
		else
			low = middle + 1;
	}
	return high > SWEEP_SLOTS ? high - SWEEP_SLOTS : 0;
}

/* Before the window only the flow of the client is of interest. */
static int
slice_flow(struct slicer *s, const struct timeline_slot *slot)
{
	unsigned type = slot->event.type;

	return type >= TALECHAIN_TCP_RECV && type <= TALECHAIN_SOCK_RECV
		   ? slice_kernel(s, slot)
		   : 0;
}

/* Make all passes, then put everything in order of time.  0 or -ENOMEM. */
static int
slice_all(struct slicer *s)
{
	struct tale *t = s->tale;
	uint64_t flow;
	int err;

	s->stop = timeline_reader_head(s->reader);
	s->begin = slice_begin(s);
	checkpoints_find(s->checkpoints, s->reader, s->begin, &s->state);
	s->rates_read = s->state.rate_ns + RATE_RECENT_NS > s->from.ns;
	err = slice_run(s, s->begin, s->stop, slice_learn_first);
	flow = slice_flow_begin(s);
	if (err == 0 && s->kernel) {
		err = slice_run(s, s->begin, s->stop, slice_learn_second);
		slice_learned(s);
	}
	if (err == 0 && flow < s->begin)
		err = slice_run(s, flow, s->begin, slice_flow);
	s->final = true;
	if (err == 0 && s->state.unsampled.seq != 0 &&
	    s->state.unsampled.event.arg[0] > s->from.ns)
		err = slice_slot(s, &s->state.unsampled);
	if (err == 0)
		err = slice_run(s, s->begin, s->stop, slice_slot);
	if (err == 0)
		err = slice_open_add(s);
	if (err == 0)
		err = slice_left(s);
	if (err == 0)
		err = slice_others(s);
	if (err == 0)
		err = slice_names(s);
	entries_sort(t);
	return err;
}

/* Take the later events of the client's connection, as far as they are there: a
 * slow client still reads when Tailor has given all to the kernel. */
static int
slice_client(struct slicer *s)
{
	struct tale *t = s->tale;
	int err;

	if (!instant_is_set(t->request.finished) || tale_read(t))
		return 0;
	s->rest_from = s->to;
	s->to = instant_plus(s->to, REST_NS);
	err = slice_run(s, s->begin, s->stop, slice_rest);
	entries_sort(t);
	return err;
}

struct slicer *
slicer_new(void)
{
	struct slicer *s = malloc(sizeof(*s));

	if (s == NULL)
		return NULL;
	memset(s, 0, offsetof(struct slicer, attempts.slot));
	s->arrivals.puts = 0;
	return s;
}

static int
slice_request(struct tale **out, struct timeline_reader *reader,
    struct tale_checkpoints *checkpoints, const struct tale_request *request,
    const struct tale_client *client, int64_t slack_ns)
{
	struct slicer *s = slicer_new();
	struct tale *t = calloc(1, sizeof(*t));
	int err = -ENOMEM;

	if (s == NULL || t == NULL)
		goto free_tale;
	s->reader = reader;
	s->checkpoints = checkpoints;
	request_copy(&t->request, request);
	if (client != NULL)
		t->client = *client;
	t->cookie[TALE_SOCKET_CLIENT] = request->cookie;
	t->cookie[TALE_SOCKET_A] = request->attempt[0].cookie;
	t->cookie[TALE_SOCKET_B] = request->attempt[1].cookie;
	tale_bounds_set(t);
	s->tale = t;
	s->from = tale_earlier(t->t0, slack_ns);
	s->to = instant_is_set(t->request.finished)
		    ? instant_plus(t->end, slack_ns)
		    : (struct instant){UINT64_MAX};
	err = slice_all(s);
	if (err == 0)
		err = slice_client(s);
	if (err < 0)
		goto free_tale;
	tale_chain_bounds(t);
	tale_blinds_sum(t);
	err = tale_pauses_find(t);
	if (err < 0)
		goto free_tale;
	*out = t;
	free(s);
	return t->stale ? -ESTALE : 0;

free_tale:
	free(s);
	tale_free(&t);
	return err;
}

int
tale_slice(struct tale **out, struct timeline_reader *reader,
    const struct tale_request *request, const struct tale_client *client,
    int64_t slack_ns)
{
	return slice_request(out, reader, NULL, request, client, slack_ns);
}

int
tale_slice_next(struct tale **out, struct tale_checkpoints *checkpoints,
    const struct tale_request *request, const struct tale_client *client,
    int64_t slack_ns)
{
	return slice_request(out, checkpoints_reader(checkpoints), checkpoints,
	    request, client, slack_ns);
}
