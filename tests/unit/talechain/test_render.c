/*
 * Goal: the renderings say what the tale holds: the text exactly, within 80
 * columns and in inert ASCII whatever the strings; the JSON as a parser that
 * is not ours reads it back.
 */
#include "tests/unit/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/claims/story.h"
#include "talechain/tale/tale_struct.h"
#include "talechain/render/render.h"
#include "tests/unit/talechain/scenario.h"

static char *
text_of(const struct story *s)
{
	char *text;
	size_t n;

	assert_int_equal(story_render_text(s, &text, &n), 0);
	assert_int_equal(strlen(text), n);
	return text;
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

/* Goal: a client that gave no id got Tailor's: it is there once. */
TEST(test_id_once)
{
	struct scenario s;
	char *text;

	scenario_open(&s, "hedged", 0);
	snprintf(s.request.external_id, sizeof(s.request.external_id),
	    "000000000000002a");
	text = text_of(scenario_tell(&s));
	assert_non_null(strstr(text, "request 000000000000002a\nGET "));
	free(text);
	scenario_close(&s);
}

static cJSON *
get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

static double
number(const cJSON *o, const char *key)
{
	const cJSON *v = get(o, key);

	assert_non_null(v);
	assert_int_equal(v->type & 0xff, cJSON_Number);
	return v->valuedouble;
}

static const char *
string(const cJSON *o, const char *key)
{
	const cJSON *v = get(o, key);

	assert_non_null(v);
	assert_int_equal(v->type & 0xff, cJSON_String);
	return v->valuestring;
}

/* Goal: numbers beyond a double's are text, moments are relative; that all else
 * is there is in test_scenarios.c, which reads it again. */
TEST(test_json)
{
	struct scenario s;
	cJSON *j, *o;
	int n;

	scenario_open(&s, "hedged", 1);
	SCENE(&s.scene, 2405 * US, 0, TALECHAIN_APP_MARK, SCENE_ID, UINT64_MAX,
	    7);
	scenario_tell(&s);
	j = scenario_render(&s);
	assert_string_equal(string(j, "schema"), "tailor.timeline/1");
	assert_string_equal(string(j, "t0"), "5000000000000");
	assert_string_equal(string(j, "unit"), "ns");
	o = get(j, "request");
	assert_string_equal(string(o, "id"), "000000000000002a");
	assert_true(number(o, "finished") == 2410e3);
	assert_null(get(cJSON_GetArrayItem(get(j, "attempts"), 0), "complete"));
	o = get(j, "events");
	n = cJSON_GetArraySize(o);
	assert_int_equal(n, (int)s.tale->entries);
	o = get(cJSON_GetArrayItem(o, n - 2), "args");
	assert_string_equal(string(o, "request"), "000000000000002a");
	assert_string_equal(string(o, "code"), "18446744073709551615");
	assert_true(number(o, "value") == 7);
	cJSON_Delete(j);
	scenario_close(&s);
}

/* Fill with bytes that are not text, and no terminator. */
static void
garbage(char *s, size_t size)
{
	static const char spice[] = "\x1b[2J\n\r\"\\<\xff\x80\x01 ";
	size_t i;

	for (i = 0; i < size; i++) {
		s[i] = (char)(1 + rand() % 255);
		if (rand() % 3 > 0)
			s[i] = spice[(size_t)rand() % sizeof(spice)];
	}
}

/* Goal: random strings, instants and events; lines fit, JSON parses. */
TEST(test_hostile)
{
	struct talechain_event e;
	struct tale_request *r;
	struct scenario s;
	cJSON *j;
	char *text;
	int i, k;

	srand(6);
	for (int round = 0; round < 300; round++) {
		scenario_open(&s, "hedged", 300);
		r = &s.request;
		garbage(r->external_id, sizeof(r->external_id));
		garbage(r->method, sizeof(r->method));
		garbage(r->target, sizeof(r->target));
		garbage(r->flags, sizeof(r->flags));
		for (i = 0; i < 2; i++) {
			garbage(r->attempt[i].server_name, 32);
			if (rand() % 2)
				garbage(r->attempt[i].trigger, 16);
			if (rand() % 2)
				garbage(r->attempt[i].outcome, 16);
		}
		if (rand() % 4 == 0)
			r->finished = INSTANT_NONE;
		for (i = 0; i < 300; i++) {
			for (k = 0; k < 8; k++)
				((uint64_t *)(void *)&e)[k] = (uint64_t)rand()
							      << (rand() % 34);
			if (rand() % 2)
				e.ts = scene_at(rand() % 3000000).ns;
			e.type = (uint16_t)(((rand() % 16) << 12) |
					    (rand() % 6) << 8 * (rand() % 2) |
					    (rand() % 9));
			if (rand() % 2)
				e.arg[0] = SCENE_ID;
			if (rand() % 2)
				e.arg[1] = (uint64_t)rand() % 4;
			timeline_append(s.scene.timeline, &e, (uint32_t)rand(),
			    rand() % 4 - 1, scene_at(rand() % 3000000));
		}
		for (k = 0; k < 3; k++)
			((uint64_t *)(void *)&s.client)[k] =
			    scene_at((rand() - RAND_MAX / 2) * 10L).ns;
		s.client.same_host = rand() % 2;
		text = text_of(scenario_tell(&s));
		inert(text);
		free(text);
		j = scenario_render(&s);
		assert_int_equal(
		    cJSON_GetArraySize(get(j, "events")), (int)s.tale->entries);
		cJSON_Delete(j);
		scenario_close(&s);
	}
}

TEST(test_text)
{
	struct text x = {0};
	char out[16], ms[32], *text;
	size_t n;

	assert_string_equal(text_safe(out, 16, "plain"), "plain");
	assert_string_equal(
	    text_safe(out, 16, "123456789012345"), "123456789012345");
	assert_string_equal(
	    text_safe(out, 16, "1234567890123456"), "123456789012...");
	assert_string_equal(text_safe(out, 16, "\x1b[1m\\"), "\\x1b[1m\\x5c");
	assert_string_equal(
	    text_safe(out, 16, "1234567890\x1bX"), "1234567890\\x1bX");
	assert_string_equal(
	    text_safe(out, 16, "12345678901\x1bX"), "12345678901...");
	assert_string_equal(text_safe(out, 16, ""), "");
	assert_string_equal(text_ms(ms, 31234), "0.031 ms");
	assert_string_equal(text_ms(ms, 120000), "0.12 ms");
	assert_string_equal(text_ms(ms, 1900000), "1.90 ms");
	assert_string_equal(text_ms(ms, 46123456), "46.1 ms");
	text_wrap(&x,
	    "one two three four five six seven eight nine ten eleven twelve "
	    "thirteen fourteen fifteen",
	    0, 4);
	assert_int_equal(text_take(&x, &text, &n), 0);
	assert_string_equal(text,
	    "one two three four five six seven eight nine ten eleven twelve "
	    "thirteen\n    fourteen fifteen\n");
	free(text);
	/* A word that is too long is cut, one that does not fit goes down. */
	text_add(&x, "%70s", "");
	text_wrap(&x, "0123456789 01234567890123456789x", 70, 60);
	assert_int_equal(text_take(&x, &text, &n), 0);
	inert(text);
	assert_int_equal(n, 71 + 71 + 80 + 63);
	free(text);
}
