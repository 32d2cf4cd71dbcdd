/*
 * scenario.c: see scenario.h.
 */
#include "tests/unit/unit.h"

#include "tests/unit/talechain/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/events/events.h"
#include "talechain/events/termination.h"
#include "talechain/tale/tale_struct.h"
#include "tests/fuzz/talechain/story_check.h"

#define SLACK (5000 * US)
#define SLOT_LOG2_MIN 10
#define KERNEL_CHANNEL 9
#define SUFFIX ".json"
#define LIKE_LANES "like_lanes"

static cJSON *
get(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* A number, or one as text because a double would round it. */
static uint64_t
number(const cJSON *v, int base, uint64_t otherwise)
{
	if (cJSON_IsString(v))
		return strtoull(v->valuestring, NULL, base);
	if (!cJSON_IsNumber(v))
		return otherwise;
	return v->valuedouble < 0 ? (uint64_t)(int64_t)v->valuedouble
				  : (uint64_t)v->valuedouble;
}

static uint64_t
key_number(const cJSON *o, const char *key, uint64_t otherwise)
{
	return number(get(o, key), 10, otherwise);
}

static void
key_text(const cJSON *o, const char *key, char *out, size_t size)
{
	const cJSON *v = get(o, key);

	if (cJSON_IsString(v))
		snprintf(out, size, "%s", v->valuestring);
}

static struct instant
moment(const struct scenario *s, int64_t ns)
{
	return instant_plus(
	    (struct instant){key_number(s->file, "t0", SCENE_T0)}, ns);
}

static struct instant
key_moment(const struct scenario *s, const cJSON *o, const char *key)
{
	const cJSON *v = get(o, key);

	return cJSON_IsNumber(v) ? moment(s, (int64_t)v->valuedouble)
				 : INSTANT_NONE;
}

/* The names of a type's four arguments, as in TALECHAIN_EVENTS. */
struct event_type {
	uint16_t number;
	const char *name, *argument[4];
};

static const struct event_type *
type_find(const char *name)
{
	static const struct event_type types[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) \
	{number, name, {a0, a1, a2, a3}},
	    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
	};

	static struct event_type unknown = {
	    .name = "?", .argument = {"", "", "", ""}};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (strcmp(types[i].name, name) == 0)
			return &types[i];
	if (sscanf(name, "type_%hx", &unknown.number) != 1)
		fail_msg("no type of event: %s", name);
	return &unknown;
}

/* Put a named value where a type has it. */
static void
argument_put(struct talechain_event *e, const struct event_type *type,
    const char *name, uint64_t value)
{
	for (unsigned i = 0; i < 4; i++) {
		unsigned left = 64, bits;

		for (const char *at = type->argument[i]; *at != '\0';) {
			size_t n = strcspn(at, ":/");

			bits = at[n] == ':'
				   ? (unsigned)strtoul(at + n + 1, NULL, 10)
				   : left;
			left -= bits;
			if (strncmp(at, name, n) == 0 && name[n] == '\0') {
				e->arg[i] |=
				    value << (64 - bits) >> (64 - bits) << left;
				return;
			}
			at += strcspn(at, "/");
			at += *at == '/';
		}
	}
	fail_msg("%s has no \"%s\"", type->name, name);
}

static uint64_t
call_number(const char *name)
{
	char text[TALECHAIN_CALL_SIZE];

	for (unsigned i = 0; i < 1 << TALECHAIN_CALL_BITS; i++)
		if (strcmp(talechain_call_name(i, text), name) == 0)
			return i + 1;
	fail_msg("no system call: %s", name);
	return 0;
}

static void
arguments_read(
    struct talechain_event *e, const struct event_type *type, const cJSON *args)
{
	const cJSON *v;
	size_t first;

	cJSON_ArrayForEach(v, args)
	{
		if (strcmp(v->string, "name") == 0) {
			first = e->type == TALECHAIN_THREAD ? 2 : 1;
			memcpy(&e->arg[first], v->valuestring,
			    strnlen(v->valuestring, 8 * (4 - first)));
		} else if (strcmp(v->string, "call") == 0 && cJSON_IsString(v))
			argument_put(
			    e, type, "call", call_number(v->valuestring));
		else
			argument_put(e, type, v->string,
			    number(v,
				strcmp(v->string, "request") == 0 ? 16 : 10,
				0));
	}
}

/* Which CPU an event was on: as written, else by its lane. */
static uint32_t
cpu_of(const struct scenario *s, const cJSON *v, uint16_t type)
{
	const cJSON *lane = get(v, "l"), *lanes = get(s->file, LIKE_LANES);

	if (lane != NULL) {
		lane = cJSON_GetArrayItem(
		    lanes != NULL ? lanes : get(s->file, "lanes"),
		    lane->valueint);
		assert_non_null(lane);
		if (strcmp(get(lane, "k")->valuestring, "cpu") != 0)
			lane = NULL;
		return (uint32_t)key_number(
		    v, "cpu", key_number(lane, "n", UINT32_MAX));
	}
	return (uint32_t)key_number(v, "cpu", type >> 12 == 0 ? 1 : UINT32_MAX);
}

struct timeline_slot
scenario_slot(const struct scenario *s, const cJSON *v)
{
	const struct event_type *type = type_find(get(v, "type")->valuestring);
	struct timeline_slot x = {.event = {.seq = 2, .version = 1}};
	struct talechain_event *e = &x.event;
	int64_t ns = (int64_t)key_number(v, "t", 0), read_ns;
	int server = -1;

	e->type = type->number;
	e->ts = cJSON_IsTrue(get(v, "doubtful")) ? 0 : moment(s, ns).ns;
	e->tid = (uint32_t)key_number(v, "tid", 0);
	e->pid = (uint32_t)key_number(v, "pid", 0);
	e->cpu = cpu_of(s, v, e->type);
	arguments_read(e, type, get(v, "args"));
	for (int i = 0; i < TALE_ATTEMPTS; i++)
		if (e->pid != 0 && e->pid == s->request.attempt[i].server_pid)
			server = s->request.attempt[i].server;
	x.server = (int32_t)key_number(v, "server", (uint64_t)server);
	x.channel = (uint32_t)key_number(v, "channel",
	    e->type >> 12 == 0 ? KERNEL_CHANNEL : (uint64_t)(x.server + 1));
	/* Page faults that are joined have the first one's, before t. */
	read_ns = (int64_t)key_number(v, "read", (uint64_t)(ns + US));
	x.read_ns = moment(s, read_ns > ns ? read_ns : ns).ns;
	return x;
}

/* What only Tailor's table of requests has, from the events. */
static void
cookies_learn(struct scenario *s, const struct talechain_event *e)
{
	struct tale_request *r = &s->request;

	if (e->arg[0] != r->id)
		return;
	if (e->type == TALECHAIN_PROXY_RECEIVE && r->cookie == 0)
		r->cookie = e->arg[2];
	if (e->type == TALECHAIN_PROXY_ATTEMPT && e->arg[2] < TALE_ATTEMPTS)
		r->attempt[e->arg[2]].cookie = e->arg[3];
}

static int
slot_earlier(const void *va, const void *vb)
{
	const struct timeline_slot *a = va, *b = vb;
	int order = (a->read_ns > b->read_ns) - (a->read_ns < b->read_ns);

	return order != 0 ? order : (a->seq > b->seq) - (a->seq < b->seq);
}

/* In the order in which they were read. */
static void
events_append(struct scenario *s)
{
	const cJSON *events = get(s->file, "events"), *v;
	size_t n = 0, room = (size_t)cJSON_GetArraySize(events);
	struct timeline_slot *slot = calloc(room + 1, sizeof(*slot));

	assert_non_null(slot);
	cJSON_ArrayForEach(v, events)
	{
		slot[n] = scenario_slot(s, v);
		slot[n].seq = n;
		cookies_learn(s, &slot[n].event);
		/* It is in no stream, but added to a tale later. */
		n += slot[n].event.type != TALECHAIN_SYMBOL;
	}
	qsort(slot, n, sizeof(*slot), slot_earlier);
	for (size_t i = 0; i < n; i++)
		timeline_append(s->scene.timeline, &slot[i].event,
		    slot[i].channel, slot[i].server,
		    (struct instant){slot[i].read_ns});
	free(slot);
}

static void
symbols_add(struct scenario *s)
{
	struct tale *t = s->tale;
	struct timeline_slot slot;
	const cJSON *v;

	cJSON_ArrayForEach(v, get(s->file, "events"))
	{
		slot = scenario_slot(s, v);
		if (slot.event.type != TALECHAIN_SYMBOL)
			continue;
		t->entry =
		    realloc(t->entry, (t->entries + 1) * sizeof(t->entry[0]));
		assert_non_null(t->entry);
		t->capacity = t->entries + 1;
		t->entry[t->entries] = (struct tale_entry){
		    .slot = slot, .at = t->entry[t->entries - 1].at};
		t->entries++;
	}
}

static void
attempt_read(const struct scenario *s, struct tale_attempt *a, const cJSON *o)
{
	*a = (struct tale_attempt){
	    .server = (int)key_number(o, "server", 0),
	    .server_pid = (uint32_t)key_number(o, "pid", 0),
	    .status = (int)key_number(o, "status", 0),
	    .written = key_moment(s, o, "written"),
	    .first_byte = key_moment(s, o, "first_byte"),
	    .complete = key_moment(s, o, "complete"),
	};
	key_text(o, "name", a->server_name, sizeof(a->server_name));
	key_text(o, "trigger", a->trigger, sizeof(a->trigger));
	key_text(o, "outcome", a->outcome, sizeof(a->outcome));
}

static void
request_read(struct scenario *s)
{
	const cJSON *o = get(s->file, "request"), *v;
	struct tale_request *r = &s->request;
	char code[TERMINATION_TEXT] = "", text[TERMINATION_TEXT];
	int i = 0;

	*r = (struct tale_request){
	    .id = number(get(o, "id"), 16, SCENE_ID),
	    .status = (int)key_number(o, "status", 200),
	    .cookie = key_number(o, "cookie", 0),
	    .connecting = key_moment(s, o, "connecting"),
	    .synacks = (uint32_t)key_number(o, "synacks", 0),
	    .arrived = key_moment(s, o, "arrived"),
	    .accepted = key_moment(s, o, "accepted"),
	    .first_byte = key_moment(s, o, "first_byte"),
	    .received = key_moment(s, o, "received"),
	    .committed = key_moment(s, o, "committed"),
	    .finished = key_moment(s, o, "finished"),
	    .acknowledged = key_moment(s, o, "acknowledged"),
	    .resent = (uint32_t)key_number(o, "resent", 0),
	    .attempt = {{.server = -1}, {.server = -1}},
	};
	key_text(o, "external_id", r->external_id, sizeof(r->external_id));
	key_text(o, "method", r->method, sizeof(r->method));
	key_text(o, "target", r->target, sizeof(r->target));
	key_text(o, "termination", code, sizeof(code));
	for (unsigned k = 0; k < TERMINATION_COUNT; k++)
		if (strcmp(termination_text(k, text), code) == 0)
			r->termination = (uint8_t)k;
	key_text(o, "reason", r->reason, sizeof(r->reason));
	key_text(o, "refusal", r->refusal, sizeof(r->refusal));
	cJSON_ArrayForEach(v, get(s->file, "attempts"))
	{
		assert_true(i < TALE_ATTEMPTS);
		attempt_read(s, &r->attempt[i++], v);
	}
	o = get(s->file, "client");
	if (cJSON_IsObject(o))
		s->client = (struct tale_client){
		    .scheduled = key_moment(s, o, "scheduled"),
		    .sent = key_moment(s, o, "sent"),
		    .received = key_moment(s, o, "received"),
		    .same_host = true,
		};
}

void
scenario_take(struct scenario *s, cJSON *file, size_t more)
{
	unsigned slot_log2 = SLOT_LOG2_MIN;

	*s = (struct scenario){.file = file};
	more += (size_t)cJSON_GetArraySize(get(file, "events"));
	while ((size_t)1 << slot_log2 < 2 * more)
		slot_log2++;
	scene_open(&s->scene, slot_log2);
	request_read(s);
}

/* What a file does not have of its tale is moved there from another one. */
static void
inherit(cJSON *file, cJSON *from, bool top)
{
	static const char tale[] =
	    " t0 request attempts client events " LIKE_LANES " ";
	cJSON *v, *next, *own;
	char key[32];

	for (v = from->child; v != NULL; v = next) {
		next = v->next;
		own = get(file, v->string);
		snprintf(key, sizeof(key), " %s ", v->string);
		if (top && strstr(tale, key) == NULL)
			continue;
		if (own == NULL)
			cJSON_AddItemToObject(file, v->string,
			    cJSON_DetachItemViaPointer(from, v));
		else if (cJSON_IsObject(v))
			inherit(own, v, false);
		else if (strcmp(v->string, "attempts") == 0)
			for (int i = 0; i < cJSON_GetArraySize(own); i++)
				inherit(cJSON_GetArrayItem(own, i),
				    cJSON_GetArrayItem(v, i), false);
		else if (strcmp(v->string, "events") == 0)
			while (v->child != NULL)
				cJSON_AddItemToArray(
				    own, cJSON_DetachItemFromArray(v, 0));
	}
}

static int
is_scenario(const struct dirent *d)
{
	const char *end = strrchr(d->d_name, '.');

	return end != NULL && strcmp(end, SUFFIX) == 0;
}

int
scenario_list(struct dirent ***file)
{
	int n = scandir(SCENARIOS, file, is_scenario, alphasort);

	if (n <= 0)
		fail_msg("no " SCENARIOS ": run it where it is");
	for (int i = 0; i < n; i++)
		*strrchr((*file)[i]->d_name, '.') = '\0';
	return n;
}

void
scenario_list_free(struct dirent **file, int n)
{
	while (n > 0)
		free(file[--n]);
	free(file);
}

static cJSON *
file_parse(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;
	cJSON *file;

	if (f == NULL || getdelim(&text, &size, '\0', f) < 0)
		fail_msg("%s cannot be read", path);
	fclose(f);
	file = cJSON_Parse(text);
	if (file == NULL)
		fail_msg("%s: no JSON from here on: %.60s", path,
		    cJSON_GetErrorPtr());
	free(text);
	return file;
}

/* Each wait for a CPU in a file has all of the CPU's switches, unless it says
 * otherwise. */
static void
whole_add(cJSON *file)
{
	cJSON *v, *args;

	cJSON_ArrayForEach(v, get(file, "events"))
	{
		args = get(v, "args");
		if (get(args, "wait_ns") != NULL && get(args, "whole") == NULL)
			cJSON_AddNumberToObject(args, "whole", 1);
	}
}

cJSON *
scenario_read(const char *name)
{
	cJSON *file, *from;
	char path[256];

	snprintf(path, sizeof(path), SCENARIOS "%s" SUFFIX, name);
	file = file_parse(path);
	whole_add(file);
	if (get(file, "like") != NULL) {
		from = scenario_read(get(file, "like")->valuestring);
		/* A file's own lanes are what is expected of it. */
		if (get(from, LIKE_LANES) == NULL && get(from, "lanes") != NULL)
			cJSON_AddItemToObject(from, LIKE_LANES,
			    cJSON_DetachItemFromObject(from, "lanes"));
		inherit(file, from, true);
		cJSON_Delete(from);
	}
	return file;
}

void
scenario_parse(struct scenario *s, const char *path)
{
	*s = (struct scenario){.file = file_parse(path)};
	request_read(s);
}

void
scenario_open(struct scenario *s, const char *name, size_t more)
{
	scenario_take(s, scenario_read(name), more);
}

void
scenario_close(struct scenario *s)
{
	story_free(&s->story);
	tale_free(&s->tale);
	scene_close(&s->scene);
	cJSON_Delete(s->file);
}

struct story *
scenario_tell(struct scenario *s)
{
	events_append(s);
	s->request.stream_end = timeline_position(s->scene.timeline);
	assert_int_equal(tale_slice(&s->tale, s->scene.reader, &s->request,
			     &s->client, SLACK),
	    0);
	symbols_add(s);
	assert_int_equal(tale_explain(&s->story, s->tale), 0);
	story_check(s->story);
	return s->story;
}

struct story *
scenario_told(struct scenario *s, const char *name)
{
	scenario_open(s, name, 0);
	return scenario_tell(s);
}

cJSON *
scenario_render(const struct scenario *s)
{
	struct json j;
	cJSON *parsed;
	char *text;
	size_t n;

	json_init(&j, false);
	assert_int_equal(story_render_json(s->story, &j), 0);
	assert_int_equal(json_take(&j, &text, &n), 0);
	json_fini(&j);
	parsed = cJSON_Parse(text);
	if (parsed == NULL)
		fail_msg("no JSON: %s", text);
	free(text);
	return parsed;
}
