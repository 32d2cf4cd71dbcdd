/* lanes.c: the lanes of the picture, each made at its first use.
 *
 * A lane's number is the order of first use until lanes_sort(), once, at the
 * end, puts them into the order of the picture. */

#include "base/array.h"
#include "talechain/render/scene.h"

#define LANES_MAX 64
#define THREADS_MAX 256 /* most threads listed */
#define NAME_MAX_SERVER 24

static void
lane_name(const struct explainer *ex, struct story_lane *l)
{
	static const char *const fixed[] = {
	    [STORY_LANE_CLIENT] = "client",
	    [STORY_LANE_PROXY] = "Tailor",
	    [STORY_LANE_KERNEL] = "kernel",
	    [STORY_LANE_OBSERVER] = "observer",
	};
	char server[NAME_MAX_SERVER + 1], thread[NAME_SIZE];

	if (fixed[l->kind] != NULL) {
		snprintf(l->name, sizeof(l->name), "%s", fixed[l->kind]);
	} else if (l->kind == STORY_LANE_CPU) {
		snprintf(l->name, sizeof(l->name), "CPU %d", l->number);
	} else if (l->kind == STORY_LANE_HOLDER) {
		thread_name(ex, l->tid, l->name, sizeof(l->name));
	} else if (l->number < 0) {
		snprintf(l->name, sizeof(l->name), "application");
	} else {
		tale_server_name(ex->t, l->number, server, sizeof(server));
		snprintf(l->name, sizeof(l->name), "%s%s%s", server,
		    l->kind == STORY_LANE_JVM ? " jvm"
		    : l->tid != 0	      ? ": "
					      : "",
		    l->kind == STORY_LANE_JVM || l->tid == 0
			? ""
			: thread_name(ex, l->tid, thread, sizeof(thread)));
	}
}

unsigned
lane_get(
    struct explainer *ex, enum story_lane_kind kind, int number, uint32_t tid)
{
	struct story *s = ex->s;
	struct story_lane l = {.kind = kind, .number = number, .tid = tid};

	for (size_t i = 0; i < s->lanes; i++)
		if (s->lane[i].kind == kind && s->lane[i].number == number &&
		    s->lane[i].tid == tid)
			return (unsigned)i;
	/* No room for a lane: use an existing one, with less detail. */
	if (s->lanes >= LANES_MAX) {
		for (size_t i = 0; i < s->lanes; i++)
			if (s->lane[i].kind == kind &&
			    (s->lane[i].number == number ||
				kind == STORY_LANE_CPU))
				return (unsigned)i;
		return 0;
	}
	lane_name(ex, &l);
	thread_owner(ex, tid, l.owner, sizeof(l.owner));
	ARRAY_ADD(&ex->failed, s->lane, s->lanes, l);
	return ex->failed ? 0 : (unsigned)s->lanes - 1;
}

/* True if a thread is one of the server's threads that had the request. */
static bool
lane_takes_part(const struct explainer *ex, int attempt, uint32_t tid)
{
	const struct chain_attempt *a = &ex->chain.attempt[attempt];

	if (tid == 0)
		return false;
	for (int i = 0; i < 3; i++)
		if (a->app_tid[i] == tid)
			return true;
	return a->taker == tid || a->sender == tid ||
	       threads_next(ex, tid, NULL, INT64_MAX) != NULL;
}

unsigned
lane_of_server(struct explainer *ex, int attempt, uint32_t tid)
{
	int server = ex->t->request.attempt[attempt].server;

	return lane_get(ex, STORY_LANE_SERVER, server,
	    lane_takes_part(ex, attempt, tid) ? tid : 0);
}

unsigned
lane_of_claim(struct explainer *ex, const struct claim *c)
{
	if (c->pause != NULL)
		return lane_get(ex, STORY_LANE_JVM, c->pause->server, 0);
	if (c->cause == TALE_CAUSE_BLIND || c->cause == TALE_CAUSE_LOST)
		return lane_get(ex, STORY_LANE_OBSERVER, -1, 0);
	if (c->cause == TALE_CAUSE_CLIENT_SEND ||
	    c->cause == TALE_CAUSE_CLIENT_LATE ||
	    c->cause == TALE_CAUSE_CLIENT_NETWORK)
		return lane_get(ex, STORY_LANE_CLIENT, -1, 0);
	if (c->attempt >= 0)
		return lane_of_server(ex, c->attempt, c->tid);
	return lane_get(ex, STORY_LANE_PROXY, -1, 0);
}

static unsigned
lane_of_event(struct explainer *ex, const struct tale_entry *e)
{
	const struct talechain_event *v = &e->slot.event;
	int server = tale_event_server(&e->slot);
	int attempt = tale_attempt_of(ex->t, server);

	switch (v->type >> 12) {
	case 0x0:
		if (v->cpu <= INT16_MAX)
			return lane_get(ex, STORY_LANE_CPU, (int)v->cpu, 0);
		return lane_get(ex, STORY_LANE_KERNEL, -1, 0);
	case 0x1:
		return lane_get(ex, STORY_LANE_PROXY, -1, 0);
	case 0x2:
		if (attempt >= 0)
			return lane_of_server(ex, attempt, v->tid);
		return lane_get(ex, STORY_LANE_SERVER, -1, 0);
	case 0x3:
		return lane_get(
		    ex, STORY_LANE_JVM, attempt >= 0 ? server : -1, 0);
	case 0x5:
		if (attempt < 0)
			break;
		__attribute__((fallthrough));
	case 0x4:
		return lane_get(
		    ex, STORY_LANE_SERVER, attempt >= 0 ? server : -1, 0);
	}
	return lane_get(ex, STORY_LANE_OBSERVER, -1, 0);
}

const char *
story_lane_name(enum story_lane_kind kind)
{
	static const char *const name[] = {
	    [STORY_LANE_CLIENT] = "client",
	    [STORY_LANE_PROXY] = "proxy",
	    [STORY_LANE_SERVER] = "server",
	    [STORY_LANE_HOLDER] = "holder",
	    [STORY_LANE_JVM] = "jvm",
	    [STORY_LANE_CPU] = "cpu",
	    [STORY_LANE_KERNEL] = "kernel",
	    [STORY_LANE_OBSERVER] = "observer",
	};

	return name[kind];
}

void
lanes_of_segments(struct explainer *ex)
{
	for (size_t i = 0; i < ex->s->segments; i++)
		ex->s->segment[i].lane =
		    lane_of_claim(ex, &ex->segment_claim[i]);
}

void
lanes_of_events(struct explainer *ex)
{
	const struct tale *t = ex->t;

	if (t->entries == 0)
		return;
	ex->s->event_lane = calloc(t->entries, sizeof(*ex->s->event_lane));
	if (ex->s->event_lane == NULL) {
		ex->failed = true;
		return;
	}
	for (size_t i = 0; i < t->entries; i++)
		ex->s->event_lane[i] = lane_of_event(ex, &t->entry[i]);
}

struct lane_place {
	struct story_lane lane;
	unsigned was;
};

static int
lane_compare(const void *va, const void *vb)
{
	const struct lane_place *a = va, *b = vb;

	int order = COMPARE(a->lane.kind, b->lane.kind);

	order = order ?: COMPARE(a->lane.number, b->lane.number);
	return order ?: COMPARE(a->lane.tid, b->lane.tid);
}

void
lanes_sort(struct explainer *ex)
{
	struct lane_place place[LANES_MAX];
	unsigned is[LANES_MAX];
	struct story *s = ex->s;

	for (size_t i = 0; i < s->lanes; i++)
		place[i] = (struct lane_place){s->lane[i], (unsigned)i};
	qsort(place, s->lanes, sizeof(place[0]), lane_compare);
	for (size_t i = 0; i < s->lanes; i++) {
		s->lane[i] = place[i].lane;
		is[place[i].was] = (unsigned)i;
	}
	for (size_t i = 0; i < s->bars; i++)
		s->bar[i].lane = is[s->bar[i].lane];
	for (size_t i = 0; i < s->arrows; i++) {
		s->arrow[i].from_lane = is[s->arrow[i].from_lane];
		s->arrow[i].to_lane = is[s->arrow[i].to_lane];
	}
	for (size_t i = 0; i < s->curves; i++)
		s->series[i].lane = is[s->series[i].lane];
	for (size_t i = 0; i < s->segments; i++)
		s->segment[i].lane = is[s->segment[i].lane];
	for (size_t i = 0; s->event_lane != NULL && i < ex->t->entries; i++)
		s->event_lane[i] = is[s->event_lane[i]];
}

static void
thread_list(struct explainer *ex, uint32_t tid)
{
	struct story *s = ex->s;
	struct story_thread h = {.tid = tid};

	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid)
			return;
	if (tid == 0 || s->threads >= THREADS_MAX)
		return;
	h.pid = thread_pid(ex, tid);
	thread_text(ex, tid, h.name, sizeof(h.name));
	thread_owner(ex, tid, h.owner, sizeof(h.owner));
	ARRAY_ADD(&ex->failed, s->thread, s->threads, h);
}

static int
thread_compare(const void *va, const void *vb)
{
	const struct story_thread *a = va, *b = vb;

	return COMPARE(a->tid, b->tid);
}

void
threads_list(struct explainer *ex)
{
	struct story *s = ex->s;

	for (size_t i = 0; i < s->lanes; i++)
		thread_list(ex, s->lane[i].tid);
	for (size_t i = 0; i < s->segments; i++) {
		thread_list(ex, ex->segment_claim[i].tid);
		thread_list(ex, ex->segment_claim[i].other);
	}
	for (size_t i = 0; i < s->bars; i++)
		thread_list(ex, s->bar[i].tid);
	if (s->threads > 0)
		qsort(
		    s->thread, s->threads, sizeof(*s->thread), thread_compare);
}
