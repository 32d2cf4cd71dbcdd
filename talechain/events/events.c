/* events.c: the names of events, arguments, causes and hazards. */
#include "talechain/events/events.h"

#include <pthread.h>

#include "talechain/events/hazard.h"

struct event_name {
	unsigned type;
	const char *name;
	const char *argument[4];
};

static const struct event_name event_names[] = {
#define TALECHAIN_X(symbol, number, name, a0, a1, a2, a3) \
	{number, name, {a0, a1, a2, a3}},
    TALECHAIN_EVENTS(TALECHAIN_X)
#undef TALECHAIN_X
};

#define EVENTS (sizeof(event_names) / sizeof(event_names[0]))

static const char *const cause_names[] = {
#define TALECHAIN_X(symbol, number, name) [number] = name,
    TALECHAIN_CAUSES(TALECHAIN_X)
#undef TALECHAIN_X
};

static const struct talechain_rate_name rates[TALECHAIN_RATE_END] = {
#define TALECHAIN_X(symbol, number, name, worth, unit) \
	[number] = {name, unit, worth},
    TALECHAIN_RATES(TALECHAIN_X)
#undef TALECHAIN_X
};

static const char *const hazard_names[] = {
#define HAZARD_X(symbol, code, ...) code,
    HAZARD_KINDS(HAZARD_X)
#undef HAZARD_X
};

/* The place of each type in event_names, plus 1; 0: there is no such type.
 * Slicing looks for several in each event of the stream. */
static uint8_t event_places[UINT16_MAX + 1];
_Static_assert(EVENTS <= UINT8_MAX, "a place is a byte");

static void
places_find(void)
{
	for (unsigned i = 0; i < EVENTS; i++)
		event_places[event_names[i].type] = (uint8_t)(i + 1);
}

static const struct event_name *
event_name_find(unsigned type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned place;

	pthread_once(&once, places_find);
	place = type <= UINT16_MAX ? event_places[type] : 0;
	return place > 0 ? &event_names[place - 1] : NULL;
}

const char *
talechain_type_name(unsigned type)
{
	const struct event_name *e = event_name_find(type);

	return e != NULL ? e->name : NULL;
}

const char *
talechain_cause_name(unsigned cause)
{
	if (cause >= sizeof(cause_names) / sizeof(cause_names[0]))
		return "unknown";
	return cause_names[cause];
}

const struct talechain_rate_name *
talechain_rate_find(uint64_t signal)
{
	return signal < TALECHAIN_RATE_END && rates[signal].name != NULL
		   ? &rates[signal]
		   : NULL;
}

const char *
hazard_kind_name(enum hazard_kind kind)
{
	/* The kind may come from an event, so it is not asserted. */
	return (unsigned)kind < HAZARD_KIND_COUNT ? hazard_names[kind]
						  : "unknown";
}

static void
value_set(
    struct talechain_value *out, const char *name, size_t length, uint64_t v)
{
	if (length > sizeof(out->name) - 1)
		length = sizeof(out->name) - 1;
	memcpy(out->name, name, length);
	out->name[length] = '\0';
	out->value = v;
}

/* A named value's place in an event's arguments. */
struct place {
	unsigned argument, up, down; /* its bits: shifted up, then down */
};

/* Find the n-th value of a type, and its name; false: the type has fewer. */
static bool
value_find(const struct event_name *e, unsigned n, const char **name,
    size_t *length, struct place *out)
{
	unsigned bits, left;

	for (unsigned i = 0; e != NULL && i < 4; i++) {
		left = 64;
		for (*name = e->argument[i]; **name != '\0'; left -= bits) {
			*length = strcspn(*name, ":/");
			bits = (*name)[*length] == ':'
				   ? (unsigned)strtoul(
					 *name + *length + 1, NULL, 10)
				   : left;
			if (n-- == 0) {
				*out = (struct place){i, 64 - left, 64 - bits};
				return true;
			}
			*name += strcspn(*name, "/");
			*name += **name == '/';
		}
	}
	return false;
}

static uint64_t
value_at(const struct talechain_event *event, struct place at)
{
	return event->arg[at.argument] << at.up >> at.down;
}

bool
talechain_argument(const struct talechain_event *event, unsigned n,
    struct talechain_value *out)
{
	const struct event_name *e = event_name_find(event->type);
	struct place at;
	const char *name;
	size_t length;

	if (!value_find(e, n, &name, &length, &at))
		return false;
	value_set(out, name, length, value_at(event, at));
	return true;
}

/* Per type, the place of the values that slicing reads of every event, found
 * once: searching names in text was most of the cost of a tale. */
static struct known {
	bool has;
	struct place at;
} requests[EVENTS], latencies[EVENTS];

static void
known_find(void)
{
	const char *name;
	struct place at;
	size_t length;

	for (unsigned i = 0; i < EVENTS; i++)
		for (unsigned n = 0;
		     value_find(&event_names[i], n, &name, &length, &at); n++)
			if (length == 7 && memcmp(name, "request", 7) == 0)
				requests[i] = (struct known){true, at};
			else if (length == 10 &&
				 memcmp(name, "latency_ns", 10) == 0)
				latencies[i] = (struct known){true, at};
}

static bool
known_value(const struct known *known, const struct talechain_event *event,
    uint64_t *out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct event_name *e = event_name_find(event->type);

	pthread_once(&once, known_find);
	if (e == NULL || !known[e - event_names].has)
		return false;
	*out = value_at(event, known[e - event_names].at);
	return true;
}

bool
talechain_event_request(const struct talechain_event *event, uint64_t *request)
{
	return known_value(requests, event, request);
}

bool
talechain_event_latency(const struct talechain_event *event, uint64_t *ns)
{
	return known_value(latencies, event, ns);
}

const char *
talechain_softirq_name(uint64_t vector)
{
	static const char *const names[] = {"softirq HI", "softirq TIMER",
	    "softirq NET_TX", "softirq NET_RX", "softirq BLOCK",
	    "softirq IRQ_POLL", "softirq TASKLET", "softirq SCHED",
	    "softirq HRTIMER", "softirq RCU"};

	return vector < sizeof(names) / sizeof(names[0]) ? names[vector]
							 : "a softirq";
}
