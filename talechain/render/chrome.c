/* chrome.c: a story as Chrome trace events, for Perfetto and similar viewers.
 *
 * Every bar is a slice (ph X) on a track.  Two slices of a track must not
 * overlap, unless one contains the other; a slice that breaks this goes to a
 * further track of its lane.  An arrow (ph s, t, f) belongs to the slice that
 * is open on its track at its moment when the file is read in order, so
 * everything is written in order of time, slices before arrows, and an arrow's
 * moment lies strictly inside its slice.  Where an arrow touches no slice it
 * gets one of its own.
 *
 * Process 1 is the client, 2 the CPUs, 3 the request with everything else.
 * Times are microseconds with three decimals since the story's beginning, so
 * that a double holds them exactly. */
#include "talechain/render/render.h"

#include <inttypes.h>

#include "talechain/render/chrome_tracks.h"
#include "talechain/render/markup.h"
#include "talechain/tale/tale_struct.h"

static const char *const process_name[] = {
    [CHROME_CLIENT] = "client",
    [CHROME_CPUS] = "CPUs",
    [CHROME_REQUEST] = "request",
};

/* Begin an event with the members that every event has. */
static void
event_begin(struct json *j, const char *phase, const struct chrome_track *t,
    const char *name)
{
	json_object_begin(j);
	json_key_string(j, "ph", phase);
	json_key_uint(j, "pid", t->process);
	json_key_uint(j, "tid", t->thread);
	json_key_string(j, "name", name);
}

/* Write the name, or the place in the order, of a process or a thread. */
static void
metadata(struct json *j, const char *what, const struct chrome_track *t,
    const char *name, unsigned index)
{
	event_begin(j, "M", t, what);
	json_key_object(j, "args");
	if (name != NULL)
		json_key_string(j, "name", name);
	else
		json_key_uint(j, "sort_index", index);
	json_object_end(j);
	json_object_end(j);
}

static void
write_tracks(const struct chrome *c, struct json *j)
{
	struct chrome_track process = {0};
	char name[STORY_NAME + 16];

	for (unsigned p = CHROME_CLIENT; p <= CHROME_REQUEST; p++) {
		process.process = p;
		snprintf(name, sizeof(name), "%s", process_name[p]);
		if (p == CHROME_REQUEST)
			snprintf(name, sizeof(name), "request %016" PRIx64,
			    c->story->tale->request.id);
		metadata(j, "process_name", &process, name, 0);
		metadata(j, "process_sort_index", &process, NULL, p);
	}
	for (size_t i = 0; i < c->tracks; i++) {
		snprintf(name, sizeof(name), "%s%s", c->track[i].name,
		    c->track[i].further ? " (more)" : "");
		metadata(j, "thread_name", &c->track[i], name, 0);
		metadata(j, "thread_sort_index", &c->track[i], NULL,
		    c->track[i].thread);
	}
}

/* The verdict, as arguments of the request's own slice. */
static void
write_verdict(const struct story *s, struct json *j)
{
	const struct tale_request *r = &s->tale->request;

	json_key_string(j, "verdict", s->verdict.text);
	json_key_string(j, "code", tale_cause_code(s->verdict.cause));
	json_key_string(
	    j, "confidence", story_confidence_name(s->verdict.confidence));
	json_key_lines(j, "evidence", s->verdict.evidence);
	json_key_lines(j, "advice", s->verdict.advice);
	json_key_string(j, "method", r->method);
	json_key_string(j, "target", r->target);
	json_key_int(j, "status", r->status);
	json_key_double(j, "explained", s->coverage);
	for (unsigned i = 0; i < TALE_CAUSE_COUNT; i++)
		if (s->cause_ns[i] > 0)
			json_key_int(j, tale_cause_code((enum tale_cause)i),
			    s->cause_ns[i]);
}

static void
write_arguments(
    const struct chrome *c, const struct chrome_slice *x, struct json *j)
{
	const struct story *s = c->story;

	json_key_object(j, "args");
	if (x->bar != NULL) {
		json_key_string(j, "lane", s->lane[x->bar->lane].name);
		if (x->bar->kind == STORY_BAR_DELAY ||
		    x->bar->kind == STORY_BAR_HOLDER)
			json_key_string(
			    j, "code", tale_cause_code(x->bar->cause));
		if (x->bar->cpu >= 0)
			json_key_int(j, "cpu", x->bar->cpu);
		if (x->bar->tid != 0)
			json_key_uint(j, "thread", x->bar->tid);
	} else if (x->segment != NULL) {
		json_key_string(j, "code", tale_cause_code(x->segment->cause));
		json_key_string(j, "who", x->segment->who);
	} else if (x->root) {
		write_verdict(s, j);
	}
	json_object_end(j);
}

static void
write_slice(
    const struct chrome *c, const struct chrome_slice *x, struct json *j)
{
	event_begin(j, "X", &c->track[x->track], x->name);
	json_key_string(j, "cat", x->category);
	json_key(j, "ts");
	json_thousandths(j, x->begin_ns);
	json_key(j, "dur");
	json_thousandths(j, x->end_ns - x->begin_ns);
	write_arguments(c, x, j);
	json_object_end(j);
}

static void
write_hop(const struct chrome *c, const struct chrome_hop *h, struct json *j)
{
	static const char *const phase[] = {
	    [CHROME_START] = "s", [CHROME_STEP] = "t", [CHROME_END] = "f"};

	/* A flow is identified by category, name and id together. */
	event_begin(j, phase[h->phase], &c->track[c->slice[h->slice].track],
	    h->wakeup ? "wake-up" : "request");
	json_key_string(j, "cat", h->wakeup ? "wakeup" : "request");
	json_key_uint(j, "id", h->id);
	json_key(j, "ts");
	json_thousandths(j, h->at_ns);
	if (h->phase == CHROME_END)
		json_key_string(j, "bp", "e");
	json_object_end(j);
}

/* Write slices and hops in order of time, a slice before the hops in it. */
static void
write_events(const struct chrome *c, struct json *j)
{
	size_t i = 0, n = 0;

	while (i < c->slices || n < c->hops) {
		if (n == c->hops ||
		    (i < c->slices && c->slice[i].begin_ns <= c->hop[n].at_ns))
			write_slice(c, &c->slice[i++], j);
		else
			write_hop(c, &c->hop[n++], j);
	}
}

/* Write a value of a counter.  Counters belong to a process, so the lane is
 * part of their name. */
static void
write_counter(const struct story *s, const struct story_series *x, int64_t ns,
    double value, struct json *j)
{
	struct chrome_track track = {
	    .process = s->lane[x->lane].kind == STORY_LANE_CPU
			   ? CHROME_CPUS
			   : CHROME_REQUEST};
	char name[2 * STORY_NAME];

	snprintf(name, sizeof(name), "%s %s", s->lane[x->lane].name, x->name);
	event_begin(j, "C", &track, name);
	json_key(j, "ts");
	json_thousandths(j, ns);
	json_key_object(j, "args");
	json_key_double(j, x->unit, value);
	json_object_end(j);
	json_object_end(j);
}

/* Write the curves.  A viewer draws a value until the next one, so a 0 follows
 * where nothing is known. */
static void
write_series(const struct story *s, struct json *j)
{
	const struct story_series *x;
	const struct story_point *p;

	for (size_t i = 0; i < s->curves; i++) {
		x = &s->series[i];
		for (size_t k = 0; k < x->points; k++) {
			p = &x->point[k];
			write_counter(s, x, p->begin_ns, p->value, j);
			if (k + 1 == x->points || p[1].begin_ns != p->end_ns)
				write_counter(s, x, p->end_ns, 0, j);
		}
	}
}

int
story_render_chrome(const struct story *s, char **text, size_t *length)
{
	struct chrome c;
	struct json j;
	int err;

	err = chrome_init(&c, s);
	if (err < 0)
		return err;
	json_init(&j, false);
	json_object_begin(&j);
	json_key_string(&j, "displayTimeUnit", "ns");
	json_key_array(&j, "traceEvents");
	write_tracks(&c, &j);
	write_events(&c, &j);
	write_series(s, &j);
	json_array_end(&j);
	json_object_end(&j);
	chrome_fini(&c);
	err = json_take(&j, text, length);
	json_fini(&j);
	return err;
}
