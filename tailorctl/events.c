/* events.c: "tailorctl log --list": the events of the stream.
 *
 * Prints the tables of talechain: what "log" shows and "log -q" accepts.
 * tailor-ring(7) is made with it. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/terminal.h"
#include "tailorctl/options.h"
#include "talechain/events/events.h"
#include "talechain/events/hazard.h"

#define INDENT 7

static const struct {
	unsigned type;
	const char *name;
} events[] = {
#define EVENTS_X(symbol, number, name, a0, a1, a2, a3) {number, name},
    TALECHAIN_EVENTS(EVENTS_X)
#undef EVENTS_X
};

static const char *const causes[] = {
#define EVENTS_X(symbol, number, name) name,
    TALECHAIN_CAUSES(EVENTS_X)
#undef EVENTS_X
};
static const char *const rates[] = {
#define EVENTS_X(symbol, number, name, worth, unit) name,
    TALECHAIN_RATES(EVENTS_X)
#undef EVENTS_X
};
static const char *const hazards[] = {
#define EVENTS_X(symbol, code, ...) code,
    HAZARD_KINDS(EVENTS_X)
#undef EVENTS_X
};

/* The texts for the values of an event's argument. */
static const struct {
	const char *argument, *of;
	const char *const *names;
	size_t count;
} lists[] = {
    {"cause", "a pause", causes, COUNT(causes)},
    {"signal", "a rate", rates, COUNT(rates)},
    {"kind", "a pause", hazards, COUNT(hazards)},
};

/* --- text ----------------------------------------------------------------- */

static void
print_event(unsigned i)
{
	struct talechain_event e = {.type = (uint16_t)events[i].type};
	struct talechain_value v;
	char text[256] = "";

	text_append(text, sizeof(text), "%s", events[i].name);
	for (unsigned n = 0; talechain_argument(&e, n, &v); n++)
		text_append(text, sizeof(text), " %s", v.name);
	printf("0x%04x ", events[i].type);
	plain_wrap(stdout, text, INDENT);
}

static void
print_list(unsigned i)
{
	char text[1024] = "";

	text_append(
	    text, sizeof(text), "%s (of %s):", lists[i].argument, lists[i].of);
	for (size_t n = 0; n < lists[i].count; n++)
		text_append(text, sizeof(text), " %s", lists[i].names[n]);
	plain_wrap(stdout, text, INDENT);
}

static void
print_all(void)
{
	for (unsigned i = 0; i < COUNT(events); i++)
		print_event(i);
	printf("\n");
	for (unsigned i = 0; i < COUNT(lists); i++)
		print_list(i);
}

/* --- JSON ----------------------------------------------------------------- */

static void
write_event(struct json *j, unsigned i)
{
	struct talechain_event e = {.type = (uint16_t)events[i].type};
	struct talechain_value v;

	json_object_begin(j);
	json_key_uint(j, "number", events[i].type);
	json_key_string(j, "name", events[i].name);
	json_key_array(j, "arguments");
	for (unsigned n = 0; talechain_argument(&e, n, &v); n++)
		json_string(j, v.name);
	json_array_end(j);
	json_object_end(j);
}

static void
write_list(struct json *j, unsigned i)
{
	json_key_array(j, lists[i].argument);
	for (size_t n = 0; n < lists[i].count; n++)
		json_string(j, lists[i].names[n]);
	json_array_end(j);
}

static int
print_json(void)
{
	struct json j;

	plain_json_begin(&j);
	json_key_string(&j, "schema", "tailor.events/1");
	json_key_array(&j, "events");
	for (unsigned i = 0; i < COUNT(events); i++)
		write_event(&j, i);
	json_array_end(&j);
	json_key_object(&j, "values");
	for (unsigned i = 0; i < COUNT(lists); i++)
		write_list(&j, i);
	json_object_end(&j);
	return plain_json_end(&j) < 0 ? STATUS_NO : STATUS_OK;
}

int
events_list(const struct ctl_options *options)
{
	if (options->json)
		return print_json();
	print_all();
	return STATUS_OK;
}
