/*
 * Goal: what a scenario cannot say: events by the thousand, pieces that
 * overlap, another request's names; and a story of any events and names,
 * however hostile, is whole, and its renderings are inert and fit.
 */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "talechain/claims/explainer.h"
#include "talechain/tale/tale_struct.h"
#include "tests/fuzz/talechain/story_check.h"
#include "tests/unit/talechain/samples.h"
#include "tests/unit/talechain/scenario.h"

#define PAGE 4096

/* Goal: where a tale holds no more switches, threads are not known. */
TEST(test_too_many_switches)
{
	const int64_t switches = (int64_t)TALE_SWITCHES_MAX + 100;
	uint32_t from = A_TID, to = B_TID, was;
	struct scenario p;
	struct story *s;

	scenario_open(&p, "frames/1s", (size_t)switches + 1);
	KERNEL(
	    &p.scene, 90 * US, A_TID, A_PID, TALECHAIN_WAKEUP, B_TID, A_PID, 0);
	for (int64_t i = 0; i < switches; i++) {
		KERNEL(&p.scene, (100 + i * 100) * US, from, A_PID,
		    TALECHAIN_SCHEDULE, PACK(A_PID, to), 0, 0,
		    (uint64_t)((i > 0 ? 100 : 10) * US));
		was = from;
		from = to;
		to = was;
	}
	s = scenario_tell(&p);
	assert_true(p.tale->omitted > 0);
	assert_true(s->cause_ns[TALE_CAUSE_LOST] > 175000 * US);
	assert_true(s->cause_ns[TALE_CAUSE_LOST] < 190000 * US);
	assert_true(s->coverage < 0.83);
	scenario_close(&p);
}

/* Page faults of 2 us each, from 1 ms on, so many us apart, in 1 s. */
static struct story *
touched(struct scenario *p, unsigned n, int64_t apart_us)
{
	scenario_open(p, "frames/1s", n);
	for (unsigned i = 1; i <= n; i++)
		KERNEL(&p->scene, (1000 + apart_us * i) * US, A_TID, A_PID,
		    TALECHAIN_PAGEFAULT, PAGE * (uint64_t)i, 2 * US, PAGE, 0);
	return scenario_tell(p);
}

/* How many entries of a tale are page faults. */
static size_t
fault_rows(const struct tale *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->entries; i++)
		n += t->entry[i].slot.event.type == TALECHAIN_PAGEFAULT;
	return n;
}

/* Goal: more faults than a tale holds: the time of all is in it. */
TEST(test_faults_by_thousands)
{
	struct scenario p;
	struct story *s = touched(&p, 20000, 3);

	assert_int_equal(fault_rows(p.tale), 1);
	assert_int_equal(p.tale->omitted, 0);
	assert_int_equal(s->cause_ns[TALE_CAUSE_PAGE_FAULT], 59999 * US);
	scenario_close(&p);
}

/* Goal: faults with work between them stay apart, and so does the work. */
TEST(test_faults_apart)
{
	struct scenario p;
	struct story *s = touched(&p, 1000, 10);

	assert_int_equal(fault_rows(p.tale), 1000);
	assert_int_equal(s->cause_ns[TALE_CAUSE_PAGE_FAULT], 2000 * US);
	scenario_close(&p);
}

/* Goal: a story whose pieces overlap or exceed it explains nothing. */
TEST(test_tiles)
{
	struct story_segment piece[2] = {
	    {.begin_ns = 0, .end_ns = 60}, {.begin_ns = 60, .end_ns = 100}};
	struct claim claim[2] = {{.rank = RANK_THREAD}, {.rank = RANK_GC}};
	struct story s = {.total_ns = 100, .segment = piece, .segments = 2};
	struct explainer ex = {.s = &s, .segment_claim = claim};

	s.coverage = 0.5;
	s.cause_ns[TALE_CAUSE_WORK] = 60;
	s.cause_ns[TALE_CAUSE_GC] = 40;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 0);
	assert_true(s.coverage > 0.4);
	piece[1].begin_ns = 50;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 1);
	assert_true(s.coverage < 0.1);
	piece[1] = (struct story_segment){.begin_ns = 60, .end_ns = 101};
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 2);
	piece[1].end_ns = 100;
	s.cause_ns[TALE_CAUSE_GC] = 41;
	check_tiles(&ex);
	assert_int_equal(s.contradictions, 3);
}

/* Goal: the names of another request, once they are known, are a line of
 * evidence, once, though the others are in use. */
TEST(test_other_request)
{
	struct scenario p;
	struct story *s = scenario_told(&p, "busy-loop");
	unsigned lines = 0;

	for (unsigned i = 0; i < STORY_LINES - 1; i++)
		if (s->verdict.evidence[i][0] == '\0')
			strcpy(s->verdict.evidence[i], "other evidence");
	story_request_name(s, 0, "id-7", "GET", "/report");
	story_request_name(s, 0, "id-7", "GET", "/report");
	for (unsigned i = 0; i < STORY_LINES; i++)
		lines += strcmp(s->verdict.evidence[i],
			     "request 00000000000000ee was GET /report "
			     "(tailorctl why id-7)") == 0;
	assert_int_equal(lines, 1);
	scenario_close(&p);
}

/* Any event, half of them of a kind and with values that fit somewhere. */
static void
event_random(struct scenario *p)
{
	static const uint16_t types[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) number,
	    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
	};
	static const uint64_t values[] = {0, 1, 2, 3, 71, 72, 81, 91, A_TID,
	    B_TID, PROXY_TID, PACK(A_PID, A_TID), PACK(A_PID, B_TID),
	    PACK(5000, 120), PACK(8000, 600), PACK(600, 1), PACK(2000, 600),
	    PORTS(9000, 50000), PORTS(8080, 40000), SCENE_ID, UINT64_MAX,
	    INT64_MAX, 1000000, 9000000, UINT64_C(1) << 63};
	struct talechain_event e = {
	    .seq = 2, .version = 1, .cpu = (uint32_t)unit_draw(3)};
	int k;

	e.type = unit_draw(10) == 0
		     ? (uint16_t)unit_draw(1 << 16)
		     : types[unit_draw(sizeof(types) / sizeof(types[0]))];
	e.tid = (uint32_t)values[unit_draw(13)];
	e.pid = unit_draw(2) ? A_PID : (uint32_t)unit_draw(600);
	e.ts = scene_at((int64_t)unit_draw(12000) * US - 1000 * US).ns;
	if (unit_draw(50) == 0)
		e.ts = values[unit_draw(sizeof(values) / sizeof(values[0]))];
	for (k = 0; k < 4; k++)
		e.arg[k] =
		    unit_draw(20) == 0
			? unit_draw(UINT64_MAX)
			: values[unit_draw(sizeof(values) / sizeof(values[0]))];
	timeline_append(p->scene.timeline, &e, (uint32_t)unit_draw(3),
	    (int)unit_draw(3) - 1,
	    unit_draw(50) == 0 ? (struct instant){values[unit_draw(24)]}
			       : (struct instant){e.ts + unit_draw(2000)});
}

/* Fill with bytes that are not text, and no terminator. */
static void
garbage(char *s, size_t size)
{
	static const char spice[] = "\x1b[2J\n\r\"\\<\xff\x80\x01 ";

	for (size_t i = 0; i < size; i++)
		s[i] = unit_draw(3) > 0 ? spice[unit_draw(sizeof(spice))]
					: (char)(1 + unit_draw(255));
}

/* What comes from outside and from Tailor's table, all of it. */
static void
request_random(struct tale_request *r)
{
	garbage(r->external_id, sizeof(r->external_id));
	garbage(r->method, sizeof(r->method));
	garbage(r->target, sizeof(r->target));
	garbage(r->flags, sizeof(r->flags));
	for (int i = 0; i < TALE_ATTEMPTS; i++) {
		struct tale_attempt *a = &r->attempt[i];

		garbage(a->server_name, sizeof(a->server_name));
		if (unit_draw(2))
			garbage(a->trigger, sizeof(a->trigger));
		if (unit_draw(2))
			garbage(a->outcome, sizeof(a->outcome));
	}
	if (unit_draw(4) == 0)
		r->finished = INSTANT_NONE;
}

/* Every line fits a terminal and can do nothing to it. */
static void
inert(const char *text)
{
	size_t column = 0, i;

	for (i = 0; text[i] != '\0'; i++) {
		if (text[i] == '\n') {
			column = 0;
			continue;
		}
		if (text[i] < 0x20 || text[i] > 0x7e || ++column > 80)
			fail_msg("column %zu of: %.*s", column, 120,
			    text + i - column);
	}
	assert_int_equal(column, 0); /* ends with a whole line */
}

/* In all forms; cJSON reads the JSON. */
static void
rendered(const struct scenario *s)
{
	char *text = sample_rendered(story_render_text, s->story);

	inert(text);
	free(text);
	story_render_check(s->story);
	cJSON_Delete(scenario_render(s));
}

/* A scenario with another one's events, and some of its times shaken. */
static cJSON *
shaken(struct dirent **file, uint64_t files)
{
	cJSON *o = scenario_read(file[unit_draw(files)]->d_name), *v, *events;
	cJSON *other = scenario_read(file[unit_draw(files)]->d_name);
	int n;

	events = cJSON_GetObjectItemCaseSensitive(o, "events");
	if (unit_draw(4) == 0)
		cJSON_ArrayForEach(
		    v, cJSON_GetObjectItemCaseSensitive(other, "events"))
		    cJSON_AddItemToArray(events, cJSON_Duplicate(v, true));
	cJSON_Delete(other);
	n = cJSON_GetArraySize(events);
	for (uint64_t i = unit_draw(10); i > 0; i--)
		cJSON_SetNumberValue(
		    cJSON_GetObjectItemCaseSensitive(
			cJSON_GetArrayItem(events, (int)unit_draw((uint64_t)n)),
			"t"),
		    (double)((int64_t)unit_draw(12000) * US));
	return o;
}

/* Many rates, of any numbers. */
static void
rates_random(struct scenario *p)
{
	for (int i = 0; i < 400; i++)
		KERNEL(&p->scene, ((int64_t)unit_draw(40000) - 15000) * US, 0,
		    unit_draw(2) ? A_PID : 0, TALECHAIN_RATE, unit_draw(12),
		    unit_draw(UINT32_MAX) << unit_draw(40),
		    unit_draw(UINT32_MAX) << unit_draw(40),
		    unit_draw(UINT32_MAX) << 40 |
			unit_draw(20000) * (uint64_t)US);
}

/* Goal: whatever the events, the story is whole and can be rendered. */
TEST(test_any_events)
{
	struct dirent **file;
	struct scenario p;
	int files = scenario_list(&file);

	for (int round = 0; round < 1000; round++) {
		scenario_take(&p, shaken(file, (uint64_t)files), 700);
		if (unit_draw(3) == 0)
			p.client = (struct tale_client){
			    .scheduled = {unit_draw(2) * SCENE_T0 -
					  unit_draw(9000000)},
			    .sent = {SCENE_T0 + unit_draw(9000000)},
			    .received = {unit_draw(2) * SCENE_T0 +
					 unit_draw(90000000)},
			    .same_host = unit_draw(2),
			};
		if (unit_draw(3) == 0)
			request_random(&p.request);
		for (uint64_t n = unit_draw(200); n > 0; n--)
			event_random(&p);
		if (unit_draw(25) == 0)
			rates_random(&p);
		scenario_tell(&p);
		rendered(&p);
		scenario_close(&p);
	}
	scenario_list_free(file, files);
}

/* Goal: codes are unique, stable and found again. */
TEST(test_codes)
{
	for (int i = 0; i < TALE_CAUSE_COUNT; i++)
		assert_int_equal(
		    tale_cause_find(tale_cause_code((enum tale_cause)i)), i);
	assert_int_equal(tale_cause_find("no such cause"), -1);
}
