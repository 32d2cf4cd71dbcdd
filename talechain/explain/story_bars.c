/*
 * story_bars.c: what of a story is drawn where.
 *
 * Stages on the lanes of Tailor, the client and the servers, pauses on those
 * of JVMs, what ran on each CPU that the request touched, what was waited for
 * on the lane of delays; arrows for the request's bytes and for who woke
 * whom.  There are bounds to all of it: a picture of thousands of bars shows
 * nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/explain/explainer.h"

/* What one kind of thing may take of the bounds in story.h. */
#define WAKE_NEAR_NS (20 * NS_PER_US) /* of what it leads to */
#define DELAYS_MAX 300
#define SPELLS_MAX 300
#define FLOWS_MAX 40

/* Draw like, cut to the picture; nothing if an end is not known. */
static void
bar_add(struct telling *tl, const struct story_bar *like)
{
	struct story *s = tl->s;
	struct story_bar b = *like;

	if (b.begin_ns == NEVER || b.end_ns == NEVER)
		return;
	b.begin_ns = telling_cut(tl, b.begin_ns);
	b.end_ns = telling_cut(tl, b.end_ns);
	if (b.begin_ns >= b.end_ns || s->bars >= STORY_BARS_MAX)
		return;
	s->bar = telling_grow(
	    &tl->failed, s->bar, s->bars, &tl->bar_room, sizeof(*s->bar));
	if (!tl->failed)
		s->bar[s->bars++] = b;
}

static void
bar_stage(struct telling *tl, unsigned lane, int64_t begin, int64_t end,
    const char *name)
{
	struct story_bar b = {
	    .kind = STORY_BAR_STAGE,
	    .cause = TALE_CAUSE_PROXY,
	    .lane = lane,
	    .cpu = -1,
	    .tid = tl->s->lane != NULL ? tl->s->lane[lane].tid : 0,
	    .begin_ns = begin,
	    .end_ns = end,
	};

	if (tl->s->lane != NULL && tl->s->lane[lane].kind == STORY_LANE_SERVER)
		b.cause = TALE_CAUSE_WORK;
	if (tl->s->lane != NULL && tl->s->lane[lane].kind == STORY_LANE_CLIENT)
		b.cause = TALE_CAUSE_CLIENT_SEND;
	snprintf(b.name, sizeof(b.name), "%s", name);
	bar_add(tl, &b);
}

static void
draw_stages(struct telling *tl)
{
	const struct story_chain *c = &tl->chain;
	unsigned proxy = lane_get(tl, STORY_LANE_PROXY, -1, 0);
	int64_t given = NEVER;
	int i;

	for (i = TALE_ATTEMPTS - 1; i >= 0; i--)
		if (c->attempt[i].made)
			given = c->attempt[i].written;
	bar_stage(tl, proxy, c->first_byte, c->received, "read request");
	bar_stage(tl, proxy, c->received, given, "choose and write");
	bar_stage(tl, proxy, c->committed, c->finished, "forward answer");
	if (!tl->t->client.same_host && c->client_gave == NEVER &&
	    c->client_net == NEVER)
		return;
	proxy = lane_get(tl, STORY_LANE_CLIENT, -1, 0);
	bar_stage(tl, proxy, c->scheduled, c->client_sent, "send");
	bar_stage(tl, proxy, c->client_net,
	    c->client_read != NEVER ? c->client_read : c->client_received,
	    "answer unread");
}

/* What a server did about the request, as far as anybody said. */
static void
draw_server(struct telling *tl, int i)
{
	const struct story_attempt *a = &tl->chain.attempt[i];
	struct claim at = {.attempt = i, .tid = a->app_tid[2]};
	int64_t end = a->complete != NEVER ? a->complete : tl->s->total_ns;

	if (!a->made)
		return;
	if (a->app_finish != NEVER && a->app_start != NEVER) {
		bar_stage(tl, lane_of_claim(tl, &at), a->app_start,
		    a->app_finish, "request");
		at.tid = a->app_tid[0];
		bar_stage(tl, lane_of_claim(tl, &at), a->app_receive,
		    a->app_start, "queued");
	} else if (a->taken != NEVER && a->sent != NEVER) {
		at.tid = a->sender;
		bar_stage(
		    tl, lane_of_claim(tl, &at), a->taken, a->sent, "request");
	} else {
		at.tid = 0;
		bar_stage(tl, lane_of_claim(tl, &at), a->written, end,
		    a->first_byte != NEVER ? "until the answer"
					   : "no answer yet");
	}
}

static void
draw_pauses(struct telling *tl)
{
	const struct tale *t = tl->t;
	static const enum tale_cause cause[HAZARD_KIND_COUNT] = {
	    [HAZARD_GC] = TALE_CAUSE_GC,
	    [HAZARD_SAFEPOINT] = TALE_CAUSE_SAFEPOINT,
	    [HAZARD_EXIT] = TALE_CAUSE_EXIT,
	};
	struct story_bar b = {.kind = STORY_BAR_DELAY, .cpu = -1};
	size_t i;

	for (i = 0; i < t->pauses && i < DELAYS_MAX; i++) {
		b.cause = cause[t->pause[i].kind];
		b.lane = lane_get(tl, STORY_LANE_JVM, t->pause[i].server, 0);
		b.begin_ns = instant_since(t->pause[i].begin, t->t0);
		b.end_ns = instant_since(t->pause[i].end, t->t0);
		snprintf(b.name, sizeof(b.name), "%s, %s",
		    hazard_kind_name(t->pause[i].kind),
		    talechain_cause_name(t->pause[i].cause));
		bar_add(tl, &b);
	}
}

/* Whether a segment is a wait, not work of somebody. */
static bool
is_delay(enum tale_cause cause)
{
	switch ((int)cause) {
	case TALE_CAUSE_WORK:
	case TALE_CAUSE_PROXY:
	case TALE_CAUSE_NETWORK:
	case TALE_CAUSE_UNKNOWN:
	case TALE_CAUSE_BLIND:
	case TALE_CAUSE_LOST:
		return false;
	}
	return true;
}

/* Segments on the lane of delays, the longest if there are too many. */
static void
draw_delays(struct telling *tl)
{
	const struct story *s = tl->s;
	struct story_bar b = {.kind = STORY_BAR_DELAY, .cpu = -1};
	int64_t least_ns = 0;
	size_t i, count;

	do {
		for (i = 0, count = 0; i < s->segments; i++)
			count += is_delay(s->segment[i].cause) &&
				 s->segment[i].end_ns - s->segment[i].begin_ns >
				     least_ns;
		if (count > DELAYS_MAX)
			least_ns = least_ns > 0 ? 2 * least_ns : 1000;
	} while (count > DELAYS_MAX);
	b.lane = lane_get(tl, STORY_LANE_DELAYS, -1, 0);
	for (i = 0; i < s->segments; i++) {
		if (!is_delay(s->segment[i].cause) ||
		    s->segment[i].end_ns - s->segment[i].begin_ns <= least_ns)
			continue;
		b.cause = s->segment[i].cause;
		b.begin_ns = s->segment[i].begin_ns;
		b.end_ns = s->segment[i].end_ns;
		b.cpu = tl->told[i].cpu;
		b.tid = tl->told[i].tid;
		snprintf(
		    b.name, sizeof(b.name), "%s", tale_cause_words(b.cause));
		bar_add(tl, &b);
	}
}

/* When nobody was looking. */
static void
draw_blinds(struct telling *tl)
{
	const struct tale *t = tl->t;
	struct story_bar b = {.kind = STORY_BAR_BLIND,
	    .cause = TALE_CAUSE_BLIND,
	    .cpu = -1,
	    .name = "not observed"};
	unsigned drawn = 0;

	for (size_t i = 0; i < t->entries && drawn < DELAYS_MAX / 3; i++) {
		if (t->entry[i].slot.event.type != TALECHAIN_META_BLIND)
			continue;
		b.lane = lane_get(tl, STORY_LANE_OBSERVER, -1, 0);
		b.end_ns = telling_at(tl, t->entry[i].at);
		b.begin_ns =
		    b.end_ns - tale_event_latency_ns(&t->entry[i].slot.event);
		bar_add(tl, &b);
		drawn++;
	}
}

/* What the threads that took part did on their CPUs, the longest first. */
static void
draw_spells(struct telling *tl)
{
	const struct spell *p;
	struct story_bar b;
	int64_t least_ns = 0;
	size_t i, count;

	do {
		for (i = 0, count = 0; i < tl->spells; i++)
			count += tl->spell[i].end_ns - tl->spell[i].begin_ns >
				 least_ns;
		if (count > SPELLS_MAX)
			least_ns = least_ns > 0 ? 2 * least_ns : 1000;
	} while (count > SPELLS_MAX);
	for (i = 0; i < tl->spells; i++) {
		p = &tl->spell[i];
		if (p->cpu < 0 || p->cpu > INT16_MAX ||
		    p->end_ns - p->begin_ns <= least_ns)
			continue;
		b = (struct story_bar){
		    .cpu = p->cpu,
		    .tid = p->tid,
		    .begin_ns = p->begin_ns,
		    .end_ns = p->end_ns,
		};
		if (p->state == SPELL_RUN) {
			b.kind = STORY_BAR_STAGE;
			b.cause = p->tid == tl->chain.proxy_tid
				      ? TALE_CAUSE_PROXY
				      : TALE_CAUSE_WORK;
		} else if ((p->state == SPELL_READY ||
			       p->state == SPELL_PREEMPTED) &&
			   p->other != 0) {
			b.kind = STORY_BAR_OTHER;
			b.tid = p->other;
		} else {
			continue;
		}
		b.lane = lane_get(tl, STORY_LANE_CPU, p->cpu, 0);
		words_thread(tl, b.tid, b.name, sizeof(b.name));
		bar_add(tl, &b);
	}
}

static void
arrow_add(struct telling *tl, const struct story_arrow *like)
{
	struct story *s = tl->s;
	struct story_arrow a = *like;

	if (a.from_ns == NEVER || a.to_ns == NEVER || a.from_ns > a.to_ns ||
	    a.to_ns < 0 || a.from_ns > s->total_ns ||
	    s->arrows >= STORY_ARROWS_MAX)
		return;
	a.from_ns = telling_cut(tl, a.from_ns);
	a.to_ns = telling_cut(tl, a.to_ns);
	s->arrow = telling_grow(&tl->failed, s->arrow, s->arrows,
	    &tl->arrow_room, sizeof(*s->arrow));
	if (!tl->failed)
		s->arrow[s->arrows++] = a;
}

static void
flow(struct telling *tl, unsigned from, int64_t from_ns, unsigned to,
    int64_t to_ns, const char *name)
{
	struct story_arrow a = {STORY_ARROW_FLOW, from, to, from_ns, to_ns, ""};

	snprintf(a.name, sizeof(a.name), "%s", name);
	arrow_add(tl, &a);
}

/* The first of two that happened. */
static int64_t
either(int64_t a, int64_t b)
{
	return a != NEVER ? a : b;
}

static void
draw_flow_server(struct telling *tl, int i, unsigned proxy)
{
	const struct story_attempt *a = &tl->chain.attempt[i];
	struct claim taker = {.attempt = i, .tid = a->taker};
	struct claim worker = {.attempt = i, .tid = a->app_tid[1]};
	struct claim sender = {.attempt = i, .tid = a->sender};
	unsigned in, at, out;

	if (!a->made)
		return;
	if (taker.tid == 0)
		taker.tid = a->app_tid[0];
	if (sender.tid == 0)
		sender.tid = a->app_tid[2];
	in = lane_of_claim(tl, &taker);
	out = lane_of_claim(tl, &sender);
	flow(tl, proxy, a->written, in, either(a->taken, a->app_receive),
	    "request");
	if (worker.tid != 0) {
		at = lane_of_claim(tl, &worker);
		if (at != in)
			flow(tl, in, either(a->app_receive, a->taken), at,
			    a->app_start, "handed over");
	}
	flow(tl, out, either(a->sent, a->app_finish), proxy,
	    either(a->first_byte, a->complete), "answer");
}

static void
draw_flows(struct telling *tl)
{
	const struct story_chain *c = &tl->chain;
	unsigned proxy = lane_get(tl, STORY_LANE_PROXY, -1, 0), client;

	for (int i = 0; i < TALE_ATTEMPTS; i++)
		draw_flow_server(tl, i, proxy);
	if (!tl->t->client.same_host && c->client_gave == NEVER &&
	    c->client_net == NEVER)
		return;
	client = lane_get(tl, STORY_LANE_CLIENT, -1, 0);
	flow(tl, client, either(c->client_gave, c->client_sent), proxy,
	    c->first_byte, "request");
	flow(tl, proxy, either(c->committed, c->finished), client,
	    either(c->client_read, c->client_received), "answer");
}

/* The event by which a thread that was woken ran, or NULL; looks on a bit. */
static const struct tale_entry *
wake_followed(const struct tale *t, size_t wakeup)
{
	const struct talechain_event *v, *w = &t->entry[wakeup].slot.event;
	size_t i, end = wakeup + 256;

	for (i = wakeup + 1; i < t->entries && i < end; i++) {
		v = &t->entry[i].slot.event;
		if (v->type == TALECHAIN_SCHEDULE &&
		    tale_low(v->arg[0]) == w->arg[0])
			return &t->entry[i];
	}
	return NULL;
}

/* Whether the request is in the hands of a thread at a moment, or about to. */
static bool
on_the_path(const struct telling *tl, uint32_t tid, int64_t ns)
{
	const struct story *s = tl->s;
	size_t low = 0, high = s->segments, middle, i;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (s->segment[middle].end_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	/* The wake-up ends a wait and begins what follows it at once. */
	for (i = low > 0 ? low - 1 : 0; i < s->segments && i <= low + 2; i++)
		if (tl->told[i].tid == tid &&
		    s->segment[i].begin_ns <= ns + WAKE_NEAR_NS &&
		    s->segment[i].end_ns >= ns - WAKE_NEAR_NS)
			return true;
	return false;
}

/* Who made a thread of the request runnable, to when and where it ran. */
static void
draw_wakes(struct telling *tl)
{
	const struct tale *t = tl->t;
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
		a.from_ns = telling_at(tl, t->entry[i].at);
		a.to_ns = telling_at(tl, ran->at);
		if (!on_the_path(tl, (uint32_t)v->arg[0], a.to_ns))
			continue;
		a.from_lane = lane_get(tl, STORY_LANE_CPU, (int)v->cpu, 0);
		a.to_lane =
		    lane_get(tl, STORY_LANE_CPU, (int)ran->slot.event.cpu, 0);
		snprintf(a.name, sizeof(a.name), "woken by %s",
		    tale_high(v->arg[2]) == TALECHAIN_CONTEXT_TASK
			? words_thread(tl, v->tid, name, sizeof(name))
		    : tale_high(v->arg[2]) == TALECHAIN_CONTEXT_SOFTIRQ
			? words_softirq(tale_low(v->arg[2]))
			: "an interrupt");
		arrow_add(tl, &a);
	}
}

static int
bar_compare(const void *va, const void *vb)
{
	const struct story_bar *a = va, *b = vb;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

/* Bars of a lane hold each other or are apart: what overhangs is cut. */
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
			continue; /* nobody would see it */
		stack[depth++] = kept++;
	}
	s->bars = kept;
}

void
bars_draw(struct telling *tl)
{
	draw_stages(tl);
	for (int i = 0; i < TALE_ATTEMPTS; i++)
		draw_server(tl, i);
	draw_pauses(tl);
	draw_delays(tl);
	draw_blinds(tl);
	draw_spells(tl);
	bars_nest(tl->s);
	draw_flows(tl);
	draw_wakes(tl);
}
