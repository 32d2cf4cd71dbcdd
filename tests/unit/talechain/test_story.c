/*
 * Goal: what a scenario cannot say: events by the thousand, pieces that
 * overlap, another request's names; and a story of any names, however
 * hostile, is whole, and its renderings are inert and fit.
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
	r->termination = (uint8_t)unit_draw(256);
	garbage(r->reason, sizeof(r->reason));
	garbage(r->refusal, sizeof(r->refusal));
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

/* Goal: whatever the fields of a request hold, the story of each scenario is
 * whole and can be rendered.  Whatever the events: fuzz_story. */
TEST(test_any_names)
{
	struct dirent **file;
	struct scenario p;
	int files = scenario_list(&file);

	for (int i = 0; i < 2 * files; i++) {
		scenario_take(&p, scenario_read(file[i / 2]->d_name), 0);
		if (i % 2 != 0)
			request_random(&p.request);
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
