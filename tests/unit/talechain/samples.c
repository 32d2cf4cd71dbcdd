/*
 * samples.c: see samples.h.  Times are written in microseconds.
 */
#include "talechain/events/events.h"
#include "tests/unit/talechain/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define US(n) ((int64_t)((n)*1000))
#define HOSTILE                \
	"</script><img src=x " \
	"onerror=alert(1)>\"'&\xe2\x80\xa8]]>--\x01\x1b[2J"

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
delay(struct sample *s, unsigned in, double from_us, double to_us,
    enum tale_cause cause)
{
	bar(s, STORY_BAR_DELAY, in, from_us, to_us, tale_cause_label(cause))
	    ->cause = cause;
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

static void
event(struct sample *s, double at_us, enum talechain_type type, uint32_t cpu,
    uint32_t tid, uint64_t arg)
{
	struct tale_entry *e = &s->entry[s->tale.entries++];

	e->at = instant_plus(s->tale.t0, US(at_us));
	e->slot.read_ns = e->at.ns + 1000;
	e->slot.server = -1;
	e->slot.event = (struct talechain_event){.ts = e->at.ns,
	    .tid = tid,
	    .pid = tid,
	    .type = (uint16_t)type,
	    .cpu = cpu,
	    .arg = {arg, 1, 2, 3}};
}

static void
request(struct sample *s, const char *target, int status)
{
	struct tale_request *r = &s->tale.request;

	r->id = 0x7f3a2c1100000412;
	put(r->method, sizeof(r->method), "GET");
	put(r->target, sizeof(r->target), target);
	snprintf(r->external_id, sizeof(r->external_id), "load-0-412");
	r->status = status;
	snprintf(
	    r->attempt[0].server_name, sizeof(r->attempt[0].server_name), "A");
}

static void
verdict(struct sample *s, enum tale_cause cause, const char *text,
    const char *evidence, const char *advice)
{
	struct story_verdict *v = &s->story.verdict;

	v->cause = cause;
	v->share_ns = s->story.cause_ns[cause];
	put(v->text, sizeof(v->text), text);
	put(v->evidence[0], sizeof(v->evidence[0]), evidence);
	put(v->advice[0], sizeof(v->advice[0]), advice);
}

static void
make_ack(struct sample *s)
{
	unsigned client = lane(s, STORY_LANE_CLIENT, -1, "load-0");
	unsigned cpu3 = lane(s, STORY_LANE_CPU, 3, "CPU 3");
	unsigned proxy = lane(s, STORY_LANE_CPU, 1, "CPU 1 tailor");
	unsigned cpu2 = lane(s, STORY_LANE_CPU, 2, "CPU 2 search");
	unsigned delays = lane(s, STORY_LANE_OBSERVER, -1, "delays");

	request(s, "/search?q=tail", 200);
	bar(s, STORY_BAR_WORK, client, 0, 95, "send");
	bar(s, STORY_BAR_WORK, cpu3, 60, 96, "softirq NET_RX");
	bar(s, STORY_BAR_WORK, proxy, 120, 310, "route");
	bar(s, STORY_BAR_WORK, cpu2, 330, 2290, "query")->tid = 812;
	bar(s, STORY_BAR_WORK, cpu2, 340, 430, "parse")->tid = 812;
	bar(s, STORY_BAR_WORK, cpu2, 2190, 2290, "write")->tid = 812;
	bar(s, STORY_BAR_OTHER, cpu3, 500, 1900, "kworker/3:1");
	bar(s, STORY_BAR_OTHER, proxy, 20000, 20900, "sshd");
	delay(s, delays, 2310, 41010, TALE_CAUSE_DELAYED_ACK);
	bar(s, STORY_BAR_WORK, cpu3, 40980, 41020, "timer: delayed ACK");
	bar(s, STORY_BAR_WORK, proxy, 41040, 41160, "forward");
	bar(s, STORY_BAR_WORK, client, 41180, 41240, "receive");
	arrow(s, STORY_ARROW_FLOW, client, 90, cpu3, 92, "request");
	arrow(s, STORY_ARROW_WAKE, cpu3, 94, proxy, 120,
	    "woken by softirq NET_RX");
	arrow(s, STORY_ARROW_FLOW, proxy, 300, cpu2, 332, "request");
	arrow(s, STORY_ARROW_WAKE, proxy, 305, cpu2, 330, "woken by tailor");
	arrow(s, STORY_ARROW_FLOW, cpu2, 2285, delays, 2310, "response");
	arrow(s, STORY_ARROW_WAKE, cpu3, 41018, proxy, 41040,
	    "woken by softirq TIMER");
	arrow(s, STORY_ARROW_FLOW, proxy, 41150, client, 41180, "response");
	until(s, 95, TALE_CAUSE_CLIENT_SEND, client, "load-0");
	until(s, 120, TALE_CAUSE_NETWORK, cpu3, "");
	until(s, 310, TALE_CAUSE_PROXY, proxy, "tailor");
	until(s, 330, TALE_CAUSE_NETWORK, proxy, "");
	until(s, 2290, TALE_CAUSE_WORK, cpu2, "search");
	until(s, 41010, TALE_CAUSE_DELAYED_ACK, delays, "search");
	until(s, 41160, TALE_CAUSE_PROXY, proxy, "tailor");
	until(s, 41240, TALE_CAUSE_NETWORK, client, "");
	verdict(s, TALE_CAUSE_DELAYED_ACK,
	    "38.7 of 41.2 ms: the response waited in the TCP stack for the "
	    "client's delayed ACK.",
	    "The last segment (1448 B) was written 2.3 ms after the request, "
	    "but left only after the ACK for the previous one arrived; Nagle "
	    "was on (TCP_NODELAY not set) on 127.0.0.1:8080.",
	    "Set TCP_NODELAY on the server's socket, or write the response in "
	    "one call.");
	event(s, 92, TALECHAIN_TCP_RECV, 3, 0, 77);
	event(s, 94, TALECHAIN_WAKEUP, 3, 0, 800);
	event(s, 120, TALECHAIN_PROXY_RECEIVE, 1, 800, s->tale.request.id);
	event(s, 330, TALECHAIN_APP_RECEIVE, 2, 812, s->tale.request.id);
	event(s, 41010, TALECHAIN_TCP_ACK, 3, 0, 77);
	event(s, 41160, TALECHAIN_PROXY_FINISH, 1, 800, s->tale.request.id);
}

static void
make_gc(struct sample *s)
{
	unsigned client = lane(s, STORY_LANE_CLIENT, -1, "load-0");
	unsigned proxy = lane(s, STORY_LANE_PROXY, -1, "Tailor");
	unsigned a = lane(s, STORY_LANE_SERVER, 0, "A: qtp-12");
	unsigned jvm = lane(s, STORY_LANE_JVM, 0, "A jvm");
	unsigned b = lane(s, STORY_LANE_SERVER, 1, "B: qtp-7");
	unsigned delays = lane(s, STORY_LANE_OBSERVER, -1, "delays");

	request(s, "/search?q=garbage&from=0", 200);
	bar(s, STORY_BAR_WORK, client, 0, 40, "send");
	bar(s, STORY_BAR_WORK, proxy, 60, 110, "receive, send to A");
	bar(s, STORY_BAR_WORK, a, 150, 280, "query");
	delay(s, jvm, 280, 2700, TALE_CAUSE_GC);
	bar(s, STORY_BAR_WORK, proxy, 392, 420, "hedge, send to B");
	bar(s, STORY_BAR_STAGE, b, 450, 2200, "query");
	bar(s, STORY_BAR_WORK, b, 460, 620, "parse");
	bar(s, STORY_BAR_WORK, b, 620, 2080, "collect top 10");
	bar(s, STORY_BAR_WORK, proxy, 2230, 2330, "commit, forward");
	bar(s, STORY_BAR_WORK, client, 2360, 2410, "receive");
	bar(s, STORY_BAR_BLIND, proxy, 1200, 1320, "");
	delay(s, delays, 280, 392, TALE_CAUSE_SWITCHED);
	arrow(s, STORY_ARROW_FLOW, client, 38, proxy, 60, "request");
	arrow(s, STORY_ARROW_FLOW, proxy, 108, a, 150, "first attempt");
	arrow(s, STORY_ARROW_WAKE, jvm, 285, proxy, 392,
	    "gc seen by the observer");
	arrow(s, STORY_ARROW_FLOW, proxy, 418, b, 450, "second attempt");
	arrow(s, STORY_ARROW_FLOW, b, 2195, proxy, 2230, "response");
	arrow(s, STORY_ARROW_FLOW, proxy, 2325, client, 2360, "response");
	until(s, 60, TALE_CAUSE_CLIENT_SEND, client, "load-0");
	until(s, 110, TALE_CAUSE_PROXY, proxy, "");
	until(s, 150, TALE_CAUSE_NETWORK, proxy, "");
	until(s, 280, TALE_CAUSE_WORK, a, "A: qtp-12");
	until(s, 392, TALE_CAUSE_SWITCHED, delays, "A");
	until(s, 450, TALE_CAUSE_PROXY, proxy, "");
	until(s, 2200, TALE_CAUSE_WORK, b, "B: qtp-7");
	until(s, 2330, TALE_CAUSE_PROXY, proxy, "");
	until(s, 2410, TALE_CAUSE_NETWORK, client, "");
	verdict(s, TALE_CAUSE_WORK,
	    "Re-sent to B 0.11 ms after A began a garbage collection; B "
	    "responded in 1.75 ms.",
	    "A's JVM was in a collection (allocation failure) from 0.280 ms "
	    "to 2.700 ms.",
	    "Nothing: without the second attempt the answer would have come "
	    "after 2.7 ms or later.");
	event(s, 60, TALECHAIN_PROXY_RECEIVE, UINT32_MAX, 800,
	    s->tale.request.id);
	event(s, 280, TALECHAIN_JVM_GC_BEGIN, UINT32_MAX, 0, 1);
	event(
	    s, 392, TALECHAIN_PROXY_HEDGE, UINT32_MAX, 800, s->tale.request.id);
	event(s, 2330, TALECHAIN_PROXY_FINISH, UINT32_MAX, 800,
	    s->tale.request.id);
}

static void
make_classes(struct sample *s)
{
	unsigned proxy = lane(s, STORY_LANE_PROXY, -1, "Tailor");
	unsigned a = lane(s, STORY_LANE_SERVER, 0, "A: main");
	unsigned jvm = lane(s, STORY_LANE_JVM, 0, "A jvm");

	request(s, "/search?q=first", 200);
	bar(s, STORY_BAR_WORK, proxy, 0, 90, "receive, send to A");
	bar(s, STORY_BAR_WORK, a, 130, 18400, "query");
	delay(s, jvm, 300, 16900, TALE_CAUSE_CLASS_LOADING);
	delay(s, jvm, 5000, 5200, TALE_CAUSE_SAFEPOINT);
	bar(s, STORY_BAR_WORK, proxy, 18450, 18500, "forward");
	arrow(s, STORY_ARROW_FLOW, proxy, 90, a, 130, "request");
	arrow(s, STORY_ARROW_FLOW, a, 18400, proxy, 18450, "response");
	until(s, 130, TALE_CAUSE_PROXY, proxy, "");
	until(s, 300, TALE_CAUSE_WORK, a, "A: main");
	until(s, 16900, TALE_CAUSE_CLASS_LOADING, jvm, "A: main");
	until(s, 18400, TALE_CAUSE_WORK, a, "A: main");
	until(s, 18500, TALE_CAUSE_PROXY, proxy, "");
	verdict(s, TALE_CAUSE_CLASS_LOADING,
	    "16.6 of 18.5 ms: A loaded 412 classes and compiled 35 methods.",
	    "The server was started 1.2 s before the request.",
	    "Give warm-up more requests (servers.warm_up).");
	curve(s, TALECHAIN_RATE_IPC, a, 1.2);
	step(s, 0, 4000, 0.6);
	step(s, 4000, 9000, 0.3);
	step(s, 12000, 18500, 1.5); /* one was distorted */
	curve(s, TALECHAIN_RATE_CLASSES, a, 0);
	step(s, 0, 9000, 40000);
	step(s, 9000, 18500, 0);
	event(s, 130, TALECHAIN_APP_START, UINT32_MAX, 901, s->tale.request.id);
	event(s, 16900, TALECHAIN_JVM_RATES, UINT32_MAX, 0, 412);
}

static void
thread(struct sample *s, uint32_t tid, uint32_t pid, const char *name,
    const char *owner)
{
	struct story_thread *h = &s->thread[s->story.threads++];

	*h = (struct story_thread){.tid = tid, .pid = pid};
	put(h->name, sizeof(h->name), name);
	put(h->owner, sizeof(h->owner), owner);
}

static void
make_held(struct sample *s)
{
	unsigned a = lane(s, STORY_LANE_SERVER, 0, "A: exec-3[812]");
	unsigned held =
	    lane(s, STORY_LANE_HOLDER, -1, "http-nio-8080-exec-17[815]");
	unsigned cpu = lane(s, STORY_LANE_CPU, 1, "CPU 1");

	request(s, "/pay", 200);
	s->tale.request.attempt[0].server_pid = 800;
	s->lane[a].tid = 812;
	s->lane[held].tid = 815;
	put(s->lane[a].owner, sizeof(s->lane[a].owner), "A");
	put(s->lane[held].owner, sizeof(s->lane[held].owner), "A");
	bar(s, STORY_BAR_STAGE, a, 100, 20000, "request");
	delay(s, a, 100, 5000, TALE_CAUSE_BACKEND_QUEUE);
	bar(s, STORY_BAR_REQUEST, a, 100, 5000, "request 00000000000000ee")
	    ->request = 0xee;
	bar(s, STORY_BAR_WORK, a, 5000, 8000, "")->tid = 812;
	delay(s, a, 8000, 18000, TALE_CAUSE_LOCK);
	bar(s, STORY_BAR_WORK, a, 18000, 20000, "")->tid = 812;
	bar(s, STORY_BAR_HOLDER, held, 8000, 12000, "running")->cause =
	    TALE_CAUSE_WORK;
	bar(s, STORY_BAR_HOLDER, held, 12000, 18000, "waiting for disk")
	    ->cause = TALE_CAUSE_DISK;
	bar(s, STORY_BAR_OTHER, cpu, 8000, 12000, "exec-17")->tid = 815;
	arrow(s, STORY_ARROW_WAKE, held, 18000, a, 18000, "woken by exec-17");
	until(s, 5000, TALE_CAUSE_BACKEND_QUEUE, a, "A: exec-3");
	until(s, 8000, TALE_CAUSE_WORK, a, "A: exec-3");
	until(s, 18000, TALE_CAUSE_LOCK, a, "A: exec-3 behind exec-17");
	until(s, 20000, TALE_CAUSE_WORK, a, "A: exec-3");
	thread(s, 812, 800, "exec-3", "A");
	thread(s, 815, 800, "http-nio-8080-exec-17", "A");
	s->story.requests = 1;
	s->story.request[0] = (struct story_request){
	    0xee, US(4900), "their-id", "GET", "/report?of=all"};
	s->story.origin = (struct story_origin){
	    INT64_C(1790000000412312345), "db-7", "0.9-test"};
	verdict(s, TALE_CAUSE_LOCK,
	    "10.0 of 20.0 ms: A's thread exec-3 waited for a lock.", "", "");
}

static void
make_plain(struct sample *s)
{
	unsigned proxy = lane(s, STORY_LANE_PROXY, -1, "Tailor");
	unsigned a = lane(s, STORY_LANE_SERVER, 0, "A");

	request(s, "/", 503);
	bar(s, STORY_BAR_WORK, proxy, 0, 0.05, "receive");
	bar(s, STORY_BAR_WORK, proxy, 0.7, 0.98, "forward");
	until(s, 0.05, TALE_CAUSE_PROXY, proxy, "");
	until(s, 0.7, TALE_CAUSE_UNKNOWN, a, "A");
	until(s, 0.98, TALE_CAUSE_PROXY, proxy, "");
	verdict(s, TALE_CAUSE_UNKNOWN,
	    "650 of 980 ns not explained: no events between 50 and 700 ns.", "",
	    "");
}

static void
make_empty(struct sample *s)
{
	verdict(s, TALE_CAUSE_UNKNOWN, "Was sent to no server.", "", "");
}

static void
make_hostile(struct sample *s)
{
	unsigned one = lane(s, STORY_LANE_CLIENT, -1, HOSTILE);
	unsigned two = lane(s, STORY_LANE_OBSERVER, -1, HOSTILE);
	struct tale_request *r = &s->tale.request;
	size_t i;

	request(s, "/" HOSTILE, 200);
	put(r->method, sizeof(r->method), HOSTILE);
	put(r->external_id, sizeof(r->external_id), HOSTILE);
	put(r->flags, sizeof(r->flags), HOSTILE);
	for (i = 0; i < TALE_ATTEMPTS; i++) {
		put(r->attempt[i].server_name,
		    sizeof(r->attempt[i].server_name), HOSTILE);
		put(r->attempt[i].trigger, sizeof(r->attempt[i].trigger),
		    HOSTILE);
		put(r->attempt[i].outcome, sizeof(r->attempt[i].outcome),
		    HOSTILE);
	}
	bar(s, STORY_BAR_WORK, one, 0, 900, HOSTILE);
	bar(s, STORY_BAR_DELAY, two, 100, 120, HOSTILE);
	/* Nothing that a story promises, but nothing may break either. */
	bar(s, STORY_BAR_DELAY, two, 110, 130, HOSTILE);
	bar(s, STORY_BAR_BLIND, one, 950, 950, HOSTILE);
	arrow(s, STORY_ARROW_FLOW, one, 100, two, 100, HOSTILE);
	arrow(s, STORY_ARROW_WAKE, one, 200, one, 200, HOSTILE);
	arrow(s, STORY_ARROW_WAKE, two, 999, one, 3, HOSTILE);
	until(s, 500, TALE_CAUSE_WORK, one, HOSTILE);
	until(s, 1000, TALE_CAUSE_LOST, two, HOSTILE);
	verdict(s, TALE_CAUSE_WORK, HOSTILE, HOSTILE, HOSTILE);
	for (i = 0; i < STORY_LINES; i++) {
		put(s->story.verdict.evidence[i], STORY_TEXT, HOSTILE);
		put(s->story.verdict.advice[i], STORY_TEXT, HOSTILE);
	}
	event(s, 10, (enum talechain_type)0xeeee, 5, 4294967295U, UINT64_MAX);
	event(s, 20, TALECHAIN_APP_MARK, 5, 1, UINT64_MAX);
}

static void
make_many(struct sample *s)
{
	unsigned client = lane(s, STORY_LANE_CLIENT, -1, "load-0");
	unsigned i, cpu, last = client, delays;
	char name[STORY_NAME];
	double at = 40;

	request(s, "/search?q=many&lanes=fourteen", 200);
	for (i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "CPU %u worker-%u", i, i);
		lane(s, STORY_LANE_CPU, (int)i, name);
	}
	delays = lane(s, STORY_LANE_OBSERVER, -1, "delays");
	bar(s, STORY_BAR_WORK, client, 0, 40, "send");
	until(s, 40, TALE_CAUSE_CLIENT_SEND, client, "load-0");
	for (i = 0; i < 24; i++) {
		cpu = 1 + i * 5 % 12;
		snprintf(name, sizeof(name), "stage %u", i);
		arrow(s, i % 2 == 0 ? STORY_ARROW_FLOW : STORY_ARROW_WAKE, last,
		    at - 1, cpu, at + 30, "onward");
		delay(s, delays, at, at + 30, TALE_CAUSE_RUNQ);
		until(s, at + 30, TALE_CAUSE_RUNQ, delays, "behind others");
		bar(s, STORY_BAR_WORK, cpu, at + 30, at + 130 + i * 7.0, name)
		    ->tid = 1000 + i;
		if (i % 3 == 0)
			bar(s, STORY_BAR_WORK, cpu, at + 50, at + 100,
			    "lookup");
		bar(s, STORY_BAR_OTHER, 1 + (i + 3) % 12, at + 400, at + 450,
		    "stress-ng");
		at += 130 + i * 7.0;
		until(s, at, TALE_CAUSE_WORK, cpu, name);
		last = cpu;
	}
	bar(s, STORY_BAR_WORK, client, at + 20, at + 60, "receive");
	arrow(s, STORY_ARROW_FLOW, last, at - 1, client, at + 20, "response");
	until(s, at + 60, TALE_CAUSE_NETWORK, client, "");
	verdict(s, TALE_CAUSE_WORK,
	    "4.3 of 5.2 ms: the server computed, on twelve CPUs one after the "
	    "other. 0.72 ms of the rest it waited for a CPU.",
	    "The request was handed on 24 times; each time the next thread "
	    "waited 0.03 ms.",
	    "Hand the request on less often.");
	for (i = 0; i < 24; i++)
		event(s, i * 100, TALECHAIN_WAKEUP, i % 12, 1000 + i, i);
}

static struct sample *
sample_blank(void)
{
	struct sample *s = calloc(1, sizeof(*s));

	if (s == NULL)
		abort();
	s->tale.t0 = (struct instant){5 * (uint64_t)NS_PER_S};
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
#define SAMPLE_X(name) #name,
    SAMPLES(SAMPLE_X)
#undef SAMPLE_X
	NULL};

struct sample *
sample_new(const char *name)
{
	struct sample *s = sample_blank();

#define SAMPLE_X(this)                \
	if (strcmp(name, #this) == 0) \
		make_##this(s);
	SAMPLES(SAMPLE_X)
#undef SAMPLE_X
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
