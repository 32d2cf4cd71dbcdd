/*
 * Goal: the renderings say what the tale holds: the text exactly, within 80
 * columns and in inert ASCII whatever the strings; the JSON as a parser that
 * is not ours reads it back.
 */
#include "tests/unit/unit.h"

#include <cjson/cJSON.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "talechain/events/events.h"
#include "talechain/render/render.h"
#include "talechain/tale/tale_struct.h"
#include "tests/unit/talechain/scene.h"

#define SLACK (200 * US)

/* The folder's tests are not linked with cJSON, so it is fetched here. */
static struct {
	cJSON *(*parse)(const char *);
	void (*delete)(cJSON *);
	cJSON *(*get)(const cJSON *, const char *);
	cJSON *(*item)(const cJSON *, int);
	int (*size)(const cJSON *);
} cjson;

static int
setup(void **state)
{
	void *library = dlopen("libcjson.so.1", RTLD_NOW);

	(void)state;
	assert_non_null(library);
	*(void **)&cjson.parse = dlsym(library, "cJSON_Parse");
	*(void **)&cjson.delete = dlsym(library, "cJSON_Delete");
	*(void **)&cjson.get =
	    dlsym(library, "cJSON_GetObjectItemCaseSensitive");
	*(void **)&cjson.item = dlsym(library, "cJSON_GetArrayItem");
	*(void **)&cjson.size = dlsym(library, "cJSON_GetArraySize");
	assert_true(cjson.parse && cjson.delete &&cjson.get && cjson.item &&
		    cjson.size);
	return 0;
}

static char *
text_of(const struct tale *t)
{
	struct story *s;
	char *text;
	size_t n;

	assert_int_equal(tale_explain(&s, t), 0);
	assert_int_equal(story_render_text(s, &text, &n), 0);
	assert_int_equal(strlen(text), n);
	story_free(&s);
	return text;
}

static cJSON *
json_of(const struct tale *t)
{
	struct story *s;
	struct json j;
	cJSON *parsed;
	char *text;
	size_t n;

	assert_int_equal(tale_explain(&s, t), 0);
	json_init(&j, false);
	assert_int_equal(story_render_json(s, &j), 0);
	story_free(&s);
	assert_int_equal(json_take(&j, &text, &n), 0);
	json_fini(&j);
	parsed = cjson.parse(text);
	if (parsed == NULL)
		fail_msg("no JSON: %s", text);
	free(text);
	return parsed;
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

static const char golden_hedged[] =
    "1.69 of 2.41 ms: B reports that it worked on it. Re-sent to B 0.12 ms "
    "after A\n"
    "began a gc (allocation); B responded in 1.90 ms.\n"
    "sure:     observed: events show its beginning and end\n"
    "why:      from +0.460 to +2.150 ms, B\n"
    "          B reports: it waited there for 0.010 ms and was worked on for "
    "1.69 "
    "ms\n"
    "          92 % of the time is observed\n"
    "could do: profile the server for this request\n"
    "\n"
    "request 000000000000002a\n"
    "x-request-id abc-123\n"
    "GET /search?q=tail\n"
    "status 200, total 2.410 ms, 2 attempts\n"
    "\n"
    "where the time went               ms      %\n"
    "server computing               1.690   70.1  #######################\n"
    "until re-sent by Tailor        0.230    9.5  ###\n"
    "not explained                  0.200    8.3  ##\n"
    "Tailor working                 0.160    6.6  ##\n"
    "garbage collection             0.120    5.0  #\n"
    "server's queue                 0.010    0.4\n"
    "in all                         2.410  100.0  (91.7 % explained)\n"
    "\n"
    "                0                                                     "
    "2.410 ms\n"
    "client > proxy |#                                                         "
    "    |\n"
    "A lost         | "
    "=============================================================|\n"
    "B won          |          "
    "==============================================###   |\n"
    "proxy > client |                                                          "
    " ###|\n"
    "A gc           |       "
    "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~|\n"
    "                = waiting for the first byte  # busy  ~ paused  ? "
    "unobserved\n"
    "\n"
    "pauses        from ms      to ms  length ms  in request\n"
    "A              +0.280      after      2.130+      2.130  gc, allocation\n"
    "\n"
    "No event is known to be lost and no blind interval was recorded.\n"
    "\n"
    "        ms  lane         event\n"
    "    +0.020  Tailor       proxy_receive       in_flight=3 cookie=77\n"
    "                                             first_byte=+0.000ms\n"
    "    +0.050  Tailor       proxy_attempt       server=A attempt=0 "
    "cookie=78\n"
    "    +0.090  A            app_receive         queue_length=4 task=1\n"
    "    +0.280  A jvm        jvm_gc_begin        cause=allocation count=12\n"
    "    +0.280  A            hazard_begin        server=A kind=gc "
    "cause=allocation\n"
    "    +0.390  Tailor       proxy_swap          from=A to=B reason=1\n"
    "    +0.395  Tailor       proxy_hedge         server=B trigger=1 "
    "hazard=+0.280ms\n"
    "    +0.400  Tailor       proxy_attempt       server=B attempt=1 "
    "cookie=79\n"
    "    +0.450  B            app_receive         queue_length=0 task=5\n"
    "    +0.460  B            app_start           queue_length=0 task=5\n"
    "    +2.150  B            app_finish          queue_length=0 task=5\n"
    "    +2.200  Tailor       proxy_first_byte    server=B attempt=1 "
    "status=200\n"
    "    +2.300  Tailor       proxy_commit        server=B attempt=1 "
    "status=200\n"
    "    +2.410  Tailor       proxy_finish        in_flight=2 status=200 "
    "bytes=1448\n";

TEST(test_hedged)
{
	struct tale_request r;
	struct scene s;
	struct tale *t;
	char *text;

	scene_open(&s, 10);
	scene_hedged(&s, &r);
	assert_int_equal(tale_slice(&t, s.reader, &r, NULL, SLACK), 0);
	text = text_of(t);
	assert_string_equal(text, golden_hedged);
	inert(text);
	free(text);
	/* A client that gave no id got Tailor's: it is there once. */
	snprintf(t->request.external_id, sizeof(t->request.external_id),
	    "000000000000002a");
	text = text_of(t);
	assert_non_null(strstr(text, "request 000000000000002a\nGET "));
	free(text);
	tale_free(&t);
	scene_close(&s);
}

static const char golden_single[] =
    "7.00 of 10.0 ms: A was in a gc (explicit). 2.84 of 10.0 ms: not "
    "explained; it\n"
    "was on its way from the client to Tailor.\n"
    "sure:     observed: events show its beginning and end\n"
    "why:      the gc of A lasted 7.00 ms, from +1.500 to +8.500 ms\n"
    "          A responded in 7.85 ms\n"
    "          72 % of the time is observed\n"
    "could do: let Tailor move requests to the other server (servers[].jvm,\n"
    "          hedging.mode), or tune the collector and heap\n"
    "\n"
    "request 000000000000002a\n"
    "x-request-id abc-123\n"
    "GET /search?q=tail\n"
    "status 200, total 10.000 ms, 1 attempt, as the client saw it\n"
    "flags not_hedged:method\n"
    "\n"
    "where the time went               ms      %\n"
    "garbage collection             7.000   70.0  #######################\n"
    "not explained                  2.840   28.4  #########\n"
    "Tailor working                 0.160    1.6\n"
    "in all                        10.000  100.0  (71.6 % explained)\n"
    "\n"
    "                0                                                    "
    "10.000 ms\n"
    "client         "
    "|##############################################################|\n"
    "client > proxy |      #                                                   "
    "    |\n"
    "A won          |      ===============================================##   "
    "    |\n"
    "proxy > client |                                                       #  "
    "    |\n"
    "A gc           |         ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~      "
    "    |\n"
    "not observed   |               ???       ?                                "
    "    |\n"
    "                = waiting for the first byte  # busy  ~ paused  ? "
    "unobserved\n"
    "\n"
    "pauses        from ms      to ms  length ms  in request\n"
    "A              +1.500     +8.500      7.000       7.000  gc, explicit\n"
    "\n"
    "12 events were lost meanwhile: the observer came too late.\n"
    "The observer was blind for 0.600 ms of it, in 2 intervals:\n"
    "pauses of a server may be missing there.\n"
    "\n"
    "        ms  lane         event\n";

/* Goal: a 7 ms stall shows as 7 ms, and gaps are drawn and said. */
TEST(test_single)
{
	struct tale_client c = {
	    .sent = scene_at(-1000 * US),
	    .received = scene_at(9000 * US),
	    .same_host = true,
	};
	struct tale_request r;
	struct scene s;
	struct tale *t;
	char *text;

	scene_open(&s, 10);
	scene_request(&r);
	r.committed = scene_at(8000 * US);
	r.finished = scene_at(8010 * US);
	snprintf(r.flags, sizeof(r.flags), "not_hedged:method");
	r.attempt[0] = (struct tale_attempt){
	    .server = 0,
	    .server_name = "A",
	    .trigger = "first",
	    .outcome = "won",
	    .written = scene_at(100 * US),
	    .first_byte = scene_at(7700 * US),
	    .complete = scene_at(7950 * US),
	    .status = 200,
	};
	SCENE(
	    &s, 500 * US, 0, TALECHAIN_JVM_GC_BEGIN, TALECHAIN_CAUSE_EXPLICIT);
	SCENE(&s, 2000 * US, -1, TALECHAIN_META_BLIND, 500 * US);
	SCENE(&s, 2001 * US, -1, TALECHAIN_META_LOST, 1, 12);
	SCENE(&s, 3200 * US, -1, TALECHAIN_META_BLIND, 100 * US);
	SCENE(&s, 7500 * US, 0, TALECHAIN_JVM_GC_END, TALECHAIN_CAUSE_EXPLICIT,
	    1, 7000 * US);
	SCENE(&s, 8010 * US, -1, TALECHAIN_PROXY_FINISH, SCENE_ID);
	assert_int_equal(tale_slice(&t, s.reader, &r, &c, SLACK), 0);
	text = text_of(t);
	inert(text);
	assert_memory_equal(text, golden_single, strlen(golden_single));
	assert_non_null(strstr(text, "    +0.000  client       sent\n"));
	assert_non_null(strstr(text, "   +10.000  client       received\n"));
	free(text);
	tale_free(&t);
	scene_close(&s);
}

static double
number(const cJSON *o, const char *key)
{
	const cJSON *v = cjson.get(o, key);

	assert_non_null(v);
	assert_int_equal(v->type & 0xff, cJSON_Number);
	return v->valuedouble;
}

static const char *
string(const cJSON *o, const char *key)
{
	const cJSON *v = cjson.get(o, key);

	assert_non_null(v);
	assert_int_equal(v->type & 0xff, cJSON_String);
	return v->valuestring;
}

TEST(test_json)
{
	const struct timeline_slot *e;
	const cJSON *events, *o, *args, *lanes;
	struct tale_request r;
	struct scene s;
	struct tale *t;
	char hex[24];
	cJSON *j;
	int i;

	scene_open(&s, 10);
	scene_hedged(&s, &r);
	SCENE(&s, 1000 * US, 0, TALECHAIN_APP_MARK, SCENE_ID, UINT64_MAX, 7);
	r.stream_end = timeline_position(s.timeline);
	assert_int_equal(tale_slice(&t, s.reader, &r, NULL, SLACK), 0);
	j = json_of(t);
	assert_string_equal(string(j, "schema"), "tailor.timeline/1");
	assert_string_equal(string(j, "t0"), "5000000000000");
	assert_string_equal(string(j, "unit"), "ns");
	assert_true(number(j, "total") == 2410e3);
	assert_true(fabs(number(j, "coverage") - 2210. / 2410) < 1e-9);
	o = cjson.get(j, "request");
	assert_string_equal(string(o, "id"), "000000000000002a");
	assert_string_equal(string(o, "target"), "/search?q=tail");
	assert_true(number(o, "finished") == 2410e3);
	assert_string_equal(string(cjson.get(j, "verdict"), "code"), "work");
	o = cjson.get(j, "attempts");
	assert_int_equal(cjson.size(o), 2);
	assert_string_equal(string(cjson.item(o, 1), "name"), "B");
	assert_true(number(cjson.item(o, 1), "written") == 400e3);
	assert_null(cjson.get(cjson.item(o, 0), "complete"));
	o = cjson.get(j, "hazards");
	assert_int_equal(cjson.size(o), 1);
	assert_true(number(cjson.item(o, 0), "b") == 280e3);
	assert_string_equal(string(cjson.item(o, 0), "kind"), "gc");
	lanes = cjson.get(j, "lanes");
	events = cjson.get(j, "events");
	assert_int_equal(cjson.size(events), (int)t->entries);
	for (i = 0; i < cjson.size(events); i++) {
		o = cjson.item(events, i);
		e = &t->entry[i].slot;
		assert_string_equal(
		    string(o, "type"), talechain_type_name(e->event.type));
		assert_true(number(o, "t") == (double)(e->event.ts - SCENE_T0));
		assert_true(number(o, "l") < cjson.size(lanes));
		args = cjson.get(o, "args");
		if (cjson.get(args, "request") != NULL) {
			snprintf(
			    hex, sizeof(hex), "%016" PRIx64, e->event.arg[0]);
			assert_string_equal(string(args, "request"), hex);
		}
		if (e->event.type == TALECHAIN_APP_MARK) {
			assert_string_equal(
			    string(args, "code"), "18446744073709551615");
			assert_true(number(args, "value") == 7);
		}
	}
	cjson.delete(j);
	tale_free(&t);
	scene_close(&s);
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
	struct tale_client c;
	struct tale_request r;
	struct scene s;
	struct tale *t;
	cJSON *j;
	char *text;
	int round, i, k;

	srand(6);
	for (round = 0; round < 300; round++) {
		scene_open(&s, 10);
		scene_hedged(&s, &r);
		garbage(r.external_id, sizeof(r.external_id));
		garbage(r.method, sizeof(r.method));
		garbage(r.target, sizeof(r.target));
		garbage(r.flags, sizeof(r.flags));
		for (i = 0; i < 2; i++) {
			garbage(r.attempt[i].server_name, 32);
			if (rand() % 2)
				garbage(r.attempt[i].trigger, 16);
			if (rand() % 2)
				garbage(r.attempt[i].outcome, 16);
		}
		if (rand() % 4 == 0)
			r.finished = INSTANT_NONE;
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
			timeline_append(s.timeline, &e, (uint32_t)rand(),
			    rand() % 4 - 1, scene_at(rand() % 3000000));
		}
		r.stream_end = timeline_position(s.timeline);
		for (k = 0; k < 3; k++)
			((uint64_t *)(void *)&c)[k] =
			    scene_at((rand() - RAND_MAX / 2) * 10L).ns;
		c.same_host = rand() % 2;
		assert_int_equal(tale_slice(&t, s.reader, &r, &c, SLACK), 0);
		text = text_of(t);
		inert(text);
		free(text);
		j = json_of(t);
		assert_int_equal(
		    cjson.size(cjson.get(j, "events")), (int)t->entries);
		cjson.delete(j);
		tale_free(&t);
		scene_close(&s);
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

int
main(void)
{
	return unit_run(setup, NULL);
}
