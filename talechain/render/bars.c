/* bars.c: the bars and arrows of a story's picture.
 *
 * The lanes of Tailor, the client and the servers have the stages, and in them
 * the pieces of the path, work or waits; lanes of JVMs have pauses, those of
 * CPUs threads; arrows show the request's bytes and wake-ups.  The number of
 * each is bounded: a picture of thousands of bars shows nothing. */
#include <inttypes.h>

#include "base/array.h"
#include "talechain/events/events.h"
#include "talechain/render/scene.h"

/* Limits of one kind of bar or arrow, within the bounds in story.h. */
#define WAKE_NEAR_NS (20 * NS_PER_US) /* from a wake-up to its piece, at most */
#define DELAYS_MAX 100
#define PIECES_MAX 300
#define PIECE_PART 4000 /* request / this: shorter pieces are not drawn */
#define INTERVALS_MAX 300

void
bar_add(struct explainer *ex, const struct story_bar *like)
{
	struct story *s = ex->s;
	struct story_bar b = *like;

	if (b.begin_ns == NEVER || b.end_ns == NEVER)
		return;
	b.begin_ns = moment_cut(ex->t, b.begin_ns);
	b.end_ns = moment_cut(ex->t, b.end_ns);
	if (b.begin_ns >= b.end_ns || s->bars >= STORY_BARS_MAX)
		return;
	ARRAY_ADD(&ex->failed, s->bar, s->bars, b);
}

static void
bar_stage(struct explainer *ex, unsigned lane, int64_t begin, int64_t end,
    const char *name)
{
	struct story_bar b = {
	    .kind = STORY_BAR_STAGE,
	    .cause = TALE_CAUSE_PROXY,
	    .lane = lane,
	    .cpu = -1,
	    .tid = ex->s->lane != NULL ? ex->s->lane[lane].tid : 0,
	    .begin_ns = begin,
	    .end_ns = end,
	};

	if (ex->s->lane != NULL && ex->s->lane[lane].kind == STORY_LANE_SERVER)
		b.cause = TALE_CAUSE_WORK;
	if (ex->s->lane != NULL && ex->s->lane[lane].kind == STORY_LANE_CLIENT)
		b.cause = TALE_CAUSE_CLIENT_SEND;
	snprintf(b.name, sizeof(b.name), "%s", name);
	bar_add(ex, &b);
}

static void
draw_stages(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	unsigned proxy = lane_get(ex, STORY_LANE_PROXY, -1, 0);
	int64_t given = NEVER;

	for (int i = TALE_ATTEMPTS - 1; i >= 0; i--)
		if (c->attempt[i].made)
			given = c->attempt[i].written;
	bar_stage(ex, proxy, c->first_byte, c->received, "read request");
	bar_stage(ex, proxy, c->received, given, "choose and write");
	bar_stage(ex, proxy, c->committed, c->finished, "forward response");
	if (!ex->t->client.same_host && c->client_gave == NEVER &&
	    c->client_net == NEVER)
		return;
	proxy = lane_get(ex, STORY_LANE_CLIENT, -1, 0);
	bar_stage(ex, proxy, c->scheduled, c->client_sent, "send");
	bar_stage(ex, proxy, c->client_net,
	    c->client_read != NEVER ? c->client_read : c->client_received,
	    "response unread");
}

/* Draw what a server did with the request, as far as is known. */
static void
draw_server(struct explainer *ex, int i)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];
	int64_t end = a->complete != NEVER ? a->complete : ex->s->total_ns;

	if (!a->made)
		return;
	if (a->app_finish != NEVER && a->app_start != NEVER) {
		bar_stage(ex, lane_of_server(ex, i, a->app_tid[2]),
		    a->app_start, a->app_finish, "request");
		bar_stage(ex, lane_of_server(ex, i, a->app_tid[0]),
		    a->app_receive, a->app_start, "queued");
	} else if (a->taken != NEVER && a->sent != NEVER) {
		bar_stage(ex, lane_of_server(ex, i, a->sender), a->taken,
		    a->sent, "request");
		if (a->closed != NEVER)
			bar_stage(ex, lane_of_server(ex, i, a->closer), a->sent,
			    a->closed, "until it closed");
	} else {
		bar_stage(ex, lane_of_server(ex, i, 0), a->written, end,
		    a->first_byte != NEVER ? "until the response"
					   : "no response yet");
	}
}

static void
draw_pauses(struct explainer *ex)
{
	const struct tale *t = ex->t;
	struct story_bar b = {.kind = STORY_BAR_DELAY, .cpu = -1};

	for (size_t i = 0; i < t->pauses && i < DELAYS_MAX; i++) {
		b.cause = tale_cause_of_hazard(t->pause[i].kind);
		b.lane = lane_get(ex, STORY_LANE_JVM, t->pause[i].server, 0);
		b.begin_ns = instant_since(t->pause[i].begin, t->t0);
		b.end_ns = instant_since(t->pause[i].end, t->t0);
		snprintf(b.name, sizeof(b.name), "%s, %s",
		    hazard_kind_name(t->pause[i].kind),
		    talechain_cause_name(t->pause[i].cause));
		bar_add(ex, &b);
	}
}

/* True if a piece is drawn as such.  Pauses and blind times have lanes of their
 * own, and bytes under way are an arrow. */
static bool
piece_is_drawn(const struct story *s, size_t i)
{
	enum story_lane_kind lane = s->lane[s->segment[i].lane].kind;

	return s->segment[i].cause != TALE_CAUSE_NETWORK &&
	       lane != STORY_LANE_JVM && lane != STORY_LANE_OBSERVER;
}

/* Draw a piece, cut at the edges of its lane's stages (the first bars). */
static void
piece_add(struct explainer *ex, const struct story_bar *like, size_t stages)
{
	const struct story_bar *bar = ex->s->bar;
	struct story_bar b = *like;

	for (; b.begin_ns < like->end_ns; b.begin_ns = b.end_ns) {
		b.end_ns = like->end_ns;
		for (size_t i = 0; i < stages; i++) {
			if (bar[i].lane != b.lane)
				continue;
			if (bar[i].begin_ns > b.begin_ns &&
			    bar[i].begin_ns < b.end_ns)
				b.end_ns = bar[i].begin_ns;
			if (bar[i].end_ns > b.begin_ns &&
			    bar[i].end_ns < b.end_ns)
				b.end_ns = bar[i].end_ns;
		}
		bar_add(ex, &b);
		bar = ex->s->bar;
	}
}

/* Draw a piece of the path on its lane, and within it the request that it
 * waited for. */
static void
draw_piece(struct explainer *ex, size_t i, size_t stages)
{
	static const enum story_bar_kind kinds[] = {
	    [TALE_NATURE_WORK] = STORY_BAR_WORK,
	    [TALE_NATURE_DELAY] = STORY_BAR_DELAY,
	    [TALE_NATURE_BLIND] = STORY_BAR_BLIND,
	};
	const struct story_segment *g = &ex->s->segment[i];
	const struct claim *c = &ex->segment_claim[i];
	struct story_bar b = {.kind = kinds[tale_causes[g->cause].nature],
	    .cause = g->cause,
	    .lane = g->lane,
	    .cpu = c->cpu,
	    .tid = c->tid,
	    .begin_ns = g->begin_ns,
	    .end_ns = g->end_ns};

	snprintf(b.name, sizeof(b.name), "%s", tale_cause_label(b.cause));
	piece_add(ex, &b, stages);
	b.request = claim_request(c);
	if (b.request == 0)
		return;
	b.kind = STORY_BAR_REQUEST;
	snprintf(b.name, sizeof(b.name), "request %016" PRIx64, b.request);
	piece_add(ex, &b, stages);
}

/* Draw the path; only its longest pieces if there are too many. */
static void
draw_pieces(struct explainer *ex)
{
	const struct story *s = ex->s;
	size_t i, count, stages = s->bars;
	int64_t least_ns = s->total_ns / PIECE_PART;

	do {
		for (i = 0, count = 0; i < s->segments; i++)
			count += piece_is_drawn(s, i) &&
				 segment_ns(&s->segment[i]) > least_ns;
		if (count > PIECES_MAX)
			least_ns = least_ns > 0 ? 2 * least_ns : 1000;
	} while (count > PIECES_MAX);
	for (i = 0; i < s->segments; i++)
		if (piece_is_drawn(s, i) &&
		    segment_ns(&s->segment[i]) > least_ns)
			draw_piece(ex, i, stages);
}

/* Draw the blind intervals of the observer. */
static void
draw_blinds(struct explainer *ex)
{
	const struct tale *t = ex->t;
	struct story_bar b = {.kind = STORY_BAR_BLIND,
	    .cause = TALE_CAUSE_BLIND,
	    .cpu = -1,
	    .name = "not observed"};
	unsigned drawn = 0;

	for (size_t i = 0; i < t->entries && drawn < DELAYS_MAX / 3; i++) {
		if (t->entry[i].slot.event.type != TALECHAIN_META_BLIND)
			continue;
		b.lane = lane_get(ex, STORY_LANE_OBSERVER, -1, 0);
		b.end_ns = moment_at(ex->t, t->entry[i].at);
		b.begin_ns =
		    b.end_ns - tale_event_latency_ns(&t->entry[i].slot.event);
		bar_add(ex, &b);
		drawn++;
	}
}

/* The first piece of the path that ends after a moment. */
static size_t
piece_from(const struct story *s, int64_t ns)
{
	return FIRST_WHERE(i, s->segments, s->segment[i].end_ns > ns);
}

/* Kind of a thread's run, by the piece of the path that the run is in. */
static enum story_bar_kind
run_kind(const struct claim *c)
{
	if (claim_request(c) != 0)
		return STORY_BAR_REQUEST;
	switch ((int)c->cause) {
	case TALE_CAUSE_PAGE_FAULT:
	case TALE_CAUSE_RECLAIM:
	case TALE_CAUSE_SOFTIRQ:
	case TALE_CAUSE_STEAL:
	case TALE_CAUSE_IRQ:
		return STORY_BAR_DELAY;
	}
	return tale_causes[c->cause].nature == TALE_NATURE_WORK
		   ? STORY_BAR_WORK
		   : STORY_BAR_OTHER;
}

/* Draw a thread's run: the parts in which it had the request, and other
 * work. */
static void
draw_run(struct explainer *ex, const struct story_bar *run)
{
	const struct story *s = ex->s;
	const struct story_segment *g;
	struct story_bar b = *run, part;

	thread_name(ex, b.tid, b.name, sizeof(b.name));
	for (size_t i = piece_from(s, b.begin_ns);
	     i < s->segments && s->segment[i].begin_ns < run->end_ns; i++) {
		g = &s->segment[i];
		part = b;
		part.kind = run_kind(&ex->segment_claim[i]);
		if (ex->segment_claim[i].tid != b.tid ||
		    part.kind == STORY_BAR_OTHER)
			continue;
		part.cause = g->cause;
		part.request = claim_request(&ex->segment_claim[i]);
		if (part.begin_ns < g->begin_ns)
			part.begin_ns = g->begin_ns;
		part.end_ns = run->end_ns < g->end_ns ? run->end_ns : g->end_ns;
		b.end_ns = part.begin_ns;
		bar_add(ex, &b);
		bar_add(ex, &part);
		b.begin_ns = part.end_ns;
		b.end_ns = run->end_ns;
	}
	bar_add(ex, &b);
}

/* Draw the turns of the threads that had the CPU for which another waited, but
 * for those too short to see. */
static void
draw_turns(struct explainer *ex, const struct thread_interval *wait,
    const struct story_bar *like)
{
	struct story_bar b = *like;
	struct cpu_turns turns;
	struct cpu_turn turn;

	turns_begin(ex, wait, &turns);
	while (turns_next(ex, &turns, &turn)) {
		if (turn.end_ns - turn.begin_ns <= ex->s->total_ns / PIECE_PART)
			continue;
		b.begin_ns = turn.begin_ns;
		b.end_ns = turn.end_ns;
		b.tid = turn.tid;
		thread_name(ex, b.tid, b.name, sizeof(b.name));
		bar_add(ex, &b);
	}
}

/* Draw what the threads that took part did on their CPUs; only the longest
 * intervals if there are too many. */
static void
draw_intervals(struct explainer *ex)
{
	const struct thread_interval *p;
	struct story_bar b;
	int64_t least_ns = 0;
	size_t i, count;

	do {
		for (i = 0, count = 0; i < ex->intervals; i++)
			count +=
			    ex->interval[i].end_ns - ex->interval[i].begin_ns >
			    least_ns;
		if (count > INTERVALS_MAX)
			least_ns = least_ns > 0 ? 2 * least_ns : 1000;
	} while (count > INTERVALS_MAX);
	for (i = 0; i < ex->intervals; i++) {
		p = &ex->interval[i];
		if (p->cpu < 0 || p->cpu > INT16_MAX ||
		    p->end_ns - p->begin_ns <= least_ns)
			continue;
		b = (struct story_bar){
		    .kind = STORY_BAR_OTHER,
		    .lane = lane_get(ex, STORY_LANE_CPU, p->cpu, 0),
		    .cpu = p->cpu,
		    .tid = p->tid,
		    .begin_ns = p->begin_ns,
		    .end_ns = p->end_ns,
		};
		if (p->state == THREAD_RUN) {
			draw_run(ex, &b);
		} else if ((p->state == THREAD_READY ||
			       p->state == THREAD_PREEMPTED) &&
			   p->other != 0) {
			draw_turns(ex, p, &b);
		}
	}
}

void
arrow_add(struct explainer *ex, const struct story_arrow *like)
{
	struct story *s = ex->s;
	struct story_arrow a = *like;

	if (a.from_ns == NEVER || a.to_ns == NEVER || a.from_ns > a.to_ns ||
	    a.to_ns < 0 || a.from_ns > s->total_ns ||
	    s->arrows >= STORY_ARROWS_MAX)
		return;
	a.from_ns = moment_cut(ex->t, a.from_ns);
	a.to_ns = moment_cut(ex->t, a.to_ns);
	ARRAY_ADD(&ex->failed, s->arrow, s->arrows, a);
}

static void
flow(struct explainer *ex, unsigned from, int64_t from_ns, unsigned to,
    int64_t to_ns, const char *name)
{
	struct story_arrow a = {STORY_ARROW_FLOW, from, to, from_ns, to_ns, ""};

	snprintf(a.name, sizeof(a.name), "%s", name);
	arrow_add(ex, &a);
}

/* a, or b if a did not happen. */
static int64_t
either(int64_t a, int64_t b)
{
	return a != NEVER ? a : b;
}

static void
draw_flow_server(struct explainer *ex, int i, unsigned proxy)
{
	const struct chain_attempt *a = &ex->chain.attempt[i];
	unsigned in, at, out;

	if (!a->made)
		return;
	in = lane_of_server(ex, i, a->taker != 0 ? a->taker : a->app_tid[0]);
	out = lane_of_server(ex, i, a->sender != 0 ? a->sender : a->app_tid[2]);
	flow(ex, proxy, a->written, in, either(a->taken, a->app_receive),
	    "request");
	if (a->app_tid[1] != 0) {
		at = lane_of_server(ex, i, a->app_tid[1]);
		if (at != in)
			flow(ex, in, either(a->app_receive, a->taken), at,
			    a->app_start, "handed over");
	}
	flow(ex, out, either(a->sent, a->app_finish), proxy,
	    either(a->first_byte, a->complete), "response");
}

static void
draw_flows(struct explainer *ex)
{
	const struct tale_chain *c = &ex->chain;
	unsigned proxy = lane_get(ex, STORY_LANE_PROXY, -1, 0), client;

	for (int i = 0; i < TALE_ATTEMPTS; i++)
		draw_flow_server(ex, i, proxy);
	if (!ex->t->client.same_host && c->client_gave == NEVER &&
	    c->client_net == NEVER)
		return;
	client = lane_get(ex, STORY_LANE_CLIENT, -1, 0);
	flow(ex, client, either(c->client_gave, c->client_sent), proxy,
	    c->first_byte, "request");
	flow(ex, proxy, either(c->committed, c->finished), client,
	    either(c->client_read, c->client_received), "response");
}

/* The event with which a woken thread ran, if it is near the wake-up; or
 * NULL. */
static const struct tale_entry *
wake_followed(const struct tale *t, size_t wakeup)
{
	const struct talechain_event *v, *w = &t->entry[wakeup].slot.event;
	size_t end = wakeup + 256;

	for (size_t i = wakeup + 1; i < t->entries && i < end; i++) {
		v = &t->entry[i].slot.event;
		if (v->type == TALECHAIN_SCHEDULE &&
		    tale_low(v->arg[0]) == w->arg[0])
			return &t->entry[i];
	}
	return NULL;
}

/* True if a thread has the request at a moment, or just before or after it. */
static bool
on_the_path(const struct explainer *ex, uint32_t tid, int64_t ns)
{
	const struct story *s = ex->s;
	size_t i, low = piece_from(s, ns - 1);

	/* A wake-up lies on the edge between two pieces of the path. */
	for (i = low > 0 ? low - 1 : 0; i < s->segments && i <= low + 2; i++)
		if (ex->segment_claim[i].tid == tid &&
		    s->segment[i].begin_ns <= ns + WAKE_NEAR_NS &&
		    s->segment[i].end_ns >= ns - WAKE_NEAR_NS)
			return true;
	return false;
}

/* Draw an arrow from each wake-up of a thread of the request to where the
 * thread ran. */
static void
draw_wakes(struct explainer *ex)
{
	const struct tale *t = ex->t;
	const struct talechain_event *v;
	const struct tale_entry *ran;
	struct story_arrow a = {.kind = STORY_ARROW_WAKE};
	char name[STORY_NAME];

	for (size_t i = 0; i < t->entries; i++) {
		v = &t->entry[i].slot.event;
		if (v->type != TALECHAIN_WAKEUP || v->cpu > INT16_MAX)
			continue;
		ran = wake_followed(t, i);
		if (ran == NULL || ran->slot.event.cpu > INT16_MAX)
			continue;
		a.from_ns = moment_at(ex->t, t->entry[i].at);
		a.to_ns = moment_at(ex->t, ran->at);
		if (!on_the_path(ex, (uint32_t)v->arg[0], a.to_ns))
			continue;
		a.from_lane = lane_get(ex, STORY_LANE_CPU, (int)v->cpu, 0);
		a.to_lane =
		    lane_get(ex, STORY_LANE_CPU, (int)ran->slot.event.cpu, 0);
		snprintf(a.name, sizeof(a.name), "woken by %s",
		    tale_high(v->arg[2]) == TALECHAIN_CONTEXT_TASK
			? thread_name(ex, v->tid, name, sizeof(name))
		    : tale_high(v->arg[2]) == TALECHAIN_CONTEXT_SOFTIRQ
			? talechain_softirq_name(tale_low(v->arg[2]))
			: "an interrupt");
		arrow_add(ex, &a);
	}
}

static int
bar_compare(const void *va, const void *vb)
{
	const struct story_bar *a = va, *b = vb;

	int order =
	    COMPARE(a->lane, b->lane) ?: COMPARE(a->begin_ns, b->begin_ns);

	order = order ?: COMPARE(b->end_ns, a->end_ns);
	return order ?: COMPARE(a->kind, b->kind);
}

/* Cut bars so that two bars of a lane do not overlap, or one contains the
 * other. */
static void
bars_nest(struct story *s)
{
	size_t stack[32], depth = 0, kept = 0, i;
	struct story_bar *b;

	if (s->bars > 0)
		qsort(s->bar, s->bars, sizeof(*s->bar), bar_compare);
	for (i = 0; i < s->bars; i++) {
		b = &s->bar[kept];
		*b = s->bar[i];
		if (kept > 0 && s->bar[kept - 1].lane != b->lane)
			depth = 0;
		while (
		    depth > 0 && s->bar[stack[depth - 1]].end_ns <= b->begin_ns)
			depth--;
		if (depth > 0 && b->end_ns > s->bar[stack[depth - 1]].end_ns)
			b->end_ns = s->bar[stack[depth - 1]].end_ns;
		if (depth == sizeof(stack) / sizeof(stack[0]))
			continue; /* too deep to be visible */
		stack[depth++] = kept++;
	}
	s->bars = kept;
}

void
bars_draw(struct explainer *ex)
{
	draw_stages(ex);
	for (int i = 0; i < TALE_ATTEMPTS; i++)
		draw_server(ex, i);
	draw_pieces(ex);
	draw_pauses(ex);
	draw_blinds(ex);
	draw_intervals(ex);
	draw_holders(ex);
	bars_nest(ex->s);
	draw_flows(ex);
	draw_wakes(ex);
}
