/*
 * samples.c: see samples.h.  Times are written in microseconds.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "talechain/events/events.h"
#include "tests/unit/talechain/scenario.h"

#define SAMPLE_FILES "tests/unit/talechain/samples/%s.json"
#undef US
#define US(n) ((int64_t)((n)*1000))

/* Copy as much of s as there is room for. */
static void
put(char *out, size_t size, const char *s)
{
	size_t n = strnlen(s, size - 1);

	memcpy(out, s, n);
	out[n] = '\0';
}

static unsigned
lane(struct sample *s, enum story_lane_kind kind, int number, const char *name)
{
	struct story_lane *l = &s->lane[s->story.lanes];

	*l = (struct story_lane){.kind = kind, .number = number};
	put(l->name, sizeof(l->name), name);
	return (unsigned)s->story.lanes++;
}

static struct story_bar *
bar(struct sample *s, enum story_bar_kind kind, unsigned in, double from_us,
    double to_us, const char *name)
{
	struct story_bar *b = &s->bar[s->story.bars++];

	*b = (struct story_bar){.kind = kind,
	    .cause =
		kind == STORY_BAR_WORK ? TALE_CAUSE_WORK : TALE_CAUSE_UNKNOWN,
	    .lane = in,
	    .cpu = s->lane[in].kind == STORY_LANE_CPU ? s->lane[in].number : -1,
	    .begin_ns = US(from_us),
	    .end_ns = US(to_us)};
	put(b->name, sizeof(b->name), name);
	return b;
}

static void
curve(struct sample *s, enum talechain_rate signal, unsigned in, double usual)
{
	struct story_series *c = &s->series[s->story.curves];

	*c = (struct story_series){.signal = signal,
	    .name = talechain_rate_find(signal)->name,
	    .unit = talechain_rate_find(signal)->unit,
	    .lane = in,
	    .usual = usual,
	    .point = s->point[s->story.curves++]};
}

/* One more period of the last curve. */
static void
step(struct sample *s, double from_us, double to_us, double value)
{
	struct story_series *c = &s->series[s->story.curves - 1];

	c->point[c->points++] =
	    (struct story_point){US(from_us), US(to_us), value};
	if (value > c->most)
		c->most = value;
}

static void
arrow(struct sample *s, enum story_arrow_kind kind, unsigned from,
    double from_us, unsigned to, double to_us, const char *name)
{
	struct story_arrow *a = &s->arrow[s->story.arrows++];

	*a = (struct story_arrow){.kind = kind,
	    .from_lane = from,
	    .to_lane = to,
	    .from_ns = US(from_us),
	    .to_ns = US(to_us)};
	put(a->name, sizeof(a->name), name);
}

/* The next segment, up to a moment. */
static void
until(struct sample *s, double to_us, enum tale_cause cause, unsigned in,
    const char *who)
{
	size_t n = s->story.segments++;
	struct story_segment *g = &s->segment[n];

	*g = (struct story_segment){
	    .begin_ns = n > 0 ? s->segment[n - 1].end_ns : 0,
	    .end_ns = US(to_us),
	    .cause = cause,
	    .lane = in};
	put(g->who, sizeof(g->who), who);
	s->story.cause_ns[cause] += g->end_ns - g->begin_ns;
	s->story.total_ns = g->end_ns;
}

/* --- out of a file, which is as JSON renders a story ------------------- */

static cJSON *
get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static double
number(const cJSON *o, const char *key, double otherwise)
{
	const cJSON *v = get(o, key);

	return v != NULL ? v->valuedouble : otherwise;
}

/* The text of a key, "" if there is none; copied with COPY. */
static const char *
text(const cJSON *o, const char *key)
{
	const cJSON *v = get(o, key);

	return v != NULL ? v->valuestring : "";
}
#define COPY(to, o, key) put(to, sizeof(to), text(o, key))

static enum tale_cause
cause_of(const cJSON *v)
{
	int cause = tale_cause_find(text(v, "code"));

	return cause < 0 ? TALE_CAUSE_UNKNOWN : (enum tale_cause)cause;
}

static void
lanes_read(struct sample *s, const cJSON *o)
{
	const cJSON *v;
	unsigned kind;

	cJSON_ArrayForEach(v, get(o, "lanes"))
	{
		struct story_lane *l = &s->lane[s->story.lanes];

		for (kind = 0;
		     strcmp(story_lane_name(kind), text(v, "k")) != 0;)
			kind++;
		lane(s, kind, (int)number(v, "n", -1), text(v, "name"));
		l->tid = (uint32_t)number(v, "tid", 0);
		COPY(l->owner, v, "owner");
	}
}

static void
bars_read(
    struct sample *s, const cJSON *o, const char *key, enum story_bar_kind kind)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, get(o, key))
	{
		struct story_bar *b = bar(s, kind, (unsigned)number(v, "l", 0),
		    number(v, "b", 0) / 1000, number(v, "e", 0) / 1000,
		    text(v, "n"));

		b->cause = cause_of(v);
		if (b->cause == TALE_CAUSE_BLIND)
			b->kind = STORY_BAR_BLIND;
		b->tid = (uint32_t)number(v, "tid", 0);
		b->request = strtoull(text(v, "request"), NULL, 16);
		if (b->request != 0)
			b->kind = STORY_BAR_REQUEST;
	}
}

static void
arrows_read(struct sample *s, const cJSON *o, const char *key,
    enum story_arrow_kind kind)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, get(o, key))
	{
		const cJSON *from = get(v, "f")->child,
			    *to = get(v, "t")->child;

		arrow(s, kind, (unsigned)from->valueint,
		    from->next->valuedouble / 1000, (unsigned)to->valueint,
		    to->next->valuedouble / 1000, text(v, "n"));
	}
}

static void
series_read(struct sample *s, const cJSON *o)
{
	const cJSON *v, *p;
	unsigned signal;

	cJSON_ArrayForEach(v, get(o, "series"))
	{
		for (signal = 1; strcmp(talechain_rate_find(signal)->name,
				     text(v, "n")) != 0;)
			signal++;
		curve(s, signal, (unsigned)number(v, "l", 0),
		    number(v, "usual", 0));
		cJSON_ArrayForEach(p, get(v, "points"))
		    step(s, number(p, "b", 0) / 1000, number(p, "e", 0) / 1000,
			number(p, "v", 0));
	}
}

static void
names_read(struct sample *s, const cJSON *o)
{
	struct story *story = &s->story;
	const cJSON *v;

	cJSON_ArrayForEach(v, get(o, "threads"))
	{
		struct story_thread *h = &s->thread[story->threads++];

		h->tid = (uint32_t)number(v, "tid", 0);
		h->pid = (uint32_t)number(v, "pid", 0);
		COPY(h->name, v, "name");
		COPY(h->owner, v, "owner");
	}
	cJSON_ArrayForEach(v, get(o, "requests"))
	{
		struct story_request *r = &story->request[story->requests++];

		r->id = strtoull(text(v, "id"), NULL, 16);
		r->waited_ns = (int64_t)number(v, "waited", 0);
		COPY(r->external_id, v, "external_id");
		COPY(r->method, v, "method");
		COPY(r->target, v, "target");
	}
	v = get(o, "origin");
	story->origin.begun_wall_ns = atoll(text(v, "begun_unix_ns"));
	COPY(story->origin.host, v, "host");
	COPY(s->version, v, "version");
	if (s->version[0] != '\0')
		story->origin.version = s->version;
}

static void
verdict_read(struct sample *s, const cJSON *o)
{
	struct story_verdict *v = &s->story.verdict;
	const cJSON *line;
	int n = 0;

	o = get(o, "verdict");
	v->cause = cause_of(o);
	v->share_ns = s->story.cause_ns[v->cause];
	COPY(v->text, o, "text");
	cJSON_ArrayForEach(line, get(o, "evidence"))
	    put(v->evidence[n++], STORY_TEXT, line->valuestring);
	n = 0;
	cJSON_ArrayForEach(line, get(o, "advice"))
	    put(v->advice[n++], STORY_TEXT, line->valuestring);
}

/* The request, its attempts and the events. */
static void
tale_fill(struct sample *s, const struct scenario *as)
{
	const cJSON *v;

	s->tale.request = as->request;
	cJSON_ArrayForEach(v, get(as->file, "events"))
	{
		struct tale_entry *e = &s->entry[s->tale.entries];

		e->slot = scenario_slot(as, v);
		e->at = (struct instant){e->slot.event.ts};
		s->event_lane[s->tale.entries++] = (unsigned)number(v, "l", 0);
	}
}

/* Ordered as those of an explained story: by lane, begin, the longest first. */
static int
bar_compare(const void *va, const void *vb)
{
	const struct story_bar *a = va, *b = vb;
	int order = COMPARE(a->lane, b->lane);

	order = order ?: COMPARE(a->begin_ns, b->begin_ns);
	order = order ?: COMPARE(b->end_ns, a->end_ns);
	return order ?: COMPARE(a->kind, b->kind);
}

static struct sample *
sample_blank(void)
{
	struct sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->tale.t0 = scene_at(0);
	s->tale.entry = s->entry;
	s->tale.request.attempt[1].server = -1;
	s->story.tale = &s->tale;
	s->story.coverage = 0.99;
	s->story.lane = s->lane;
	s->story.thread = s->thread;
	s->story.bar = s->bar;
	s->story.series = s->series;
	s->story.arrow = s->arrow;
	s->story.segment = s->segment;
	s->story.event_lane = s->event_lane;
	return s;
}

static void
sample_finish(struct sample *s)
{
	s->tale.end = instant_plus(s->tale.t0, s->story.total_ns);
	s->tale.request.first_byte = s->tale.t0;
	s->tale.request.finished = s->tale.end;
}

const char *const sample_names[] = {
    "ack", "gc", "classes", "plain", "empty", "held", "hostile", "many", NULL};

struct sample *
sample_new(const char *name)
{
	struct sample *s = sample_blank();
	struct scenario as = {0};
	const cJSON *v;
	char path[128];

	snprintf(path, sizeof(path), SAMPLE_FILES, name);
	scenario_parse(&as, path);
	lanes_read(s, as.file);
	bars_read(s, as.file, "work", STORY_BAR_WORK);
	bars_read(s, as.file, "stages", STORY_BAR_STAGE);
	bars_read(s, as.file, "delays", STORY_BAR_DELAY);
	bars_read(s, as.file, "others", STORY_BAR_OTHER);
	bars_read(s, as.file, "holders", STORY_BAR_HOLDER);
	qsort(s->bar, s->story.bars, sizeof(s->bar[0]), bar_compare);
	arrows_read(s, as.file, "flows", STORY_ARROW_FLOW);
	arrows_read(s, as.file, "wakes", STORY_ARROW_WAKE);
	series_read(s, as.file);
	cJSON_ArrayForEach(v, get(as.file, "path"))
	    until(s, number(v, "e", 0) / 1000, cause_of(v),
		(unsigned)number(v, "l", 0), text(v, "who"));
	names_read(s, as.file);
	verdict_read(s, as.file);
	tale_fill(s, &as);
	cJSON_Delete(as.file);
	sample_finish(s);
	return s;
}

struct sample *
sample_random(unsigned seed)
{
	struct sample *s = sample_blank();
	unsigned lanes, n, i, end = 0;
	/* Microseconds, or nanoseconds, where edges come close. */
	double unit = seed % 2 == 0 ? 1 : 0.001, from;

	srand(seed);
	lanes = 1 + (unsigned)rand() % 20;
	for (i = 0; i < lanes; i++)
		lane(s, (enum story_lane_kind)(i % 8), (int)i, "lane");
	n = (unsigned)rand() % 200;
	for (i = 0; i < n; i++) {
		from = rand() % 10000;
		bar(s, (enum story_bar_kind)(rand() % 7),
		    (unsigned)rand() % lanes, from * unit,
		    (from + rand() % (rand() % 5000 + 1)) * unit,
		    "a bar of the story");
	}
	for (i = 0; i < n / 2; i++) {
		from = rand() % 15000;
		arrow(s, (enum story_arrow_kind)(rand() % 2),
		    (unsigned)rand() % lanes, from * unit,
		    (unsigned)rand() % lanes, (from + rand() % 300) * unit,
		    "an arrow");
	}
	for (i = 0; i < SAMPLE_CURVES && n % 2 == 0; i++) {
		curve(s, (enum talechain_rate)(i + 1), (unsigned)rand() % lanes,
		    rand() % 3);
		for (from = 0; from < 14000;) {
			unsigned length = 1700 + (unsigned)rand() % 3000;

			step(
			    s, from * unit, (from + length) * unit, rand() % 4);
			from += length + (unsigned)rand() % 1000;
		}
	}
	while (end < 15000) {
		end += 1 + (unsigned)rand() % 4000;
		until(s, (end < 15000 ? end : 15300) * unit,
		    (enum tale_cause)((unsigned)rand() % TALE_CAUSE_COUNT),
		    (unsigned)rand() % lanes, "who");
	}
	sample_finish(s);
	return s;
}

void
samples_each(void (*check)(const struct story *s), unsigned seeds)
{
	struct sample *s;
	unsigned i;

	for (i = 0; sample_names[i] != NULL; i++) {
		s = sample_new(sample_names[i]);
		check(&s->story);
		free(s);
	}
	for (i = 0; i < seeds; i++) {
		s = sample_random(i);
		check(&s->story);
		free(s);
	}
}

char *
sample_rendered(int (*render)(const struct story *, char **, size_t *),
    const struct story *s)
{
	char *text;
	size_t n;

	assert_int_equal(render(s, &text, &n), 0);
	assert_int_equal(strlen(text), n);
	return text;
}
