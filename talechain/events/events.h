/* events.h: the names of events, their arguments, causes and rates.
 *
 * This folder owns the vocabulary: one table for each list in talechain.h and
 * hazard.h, so that a number, its name and its arguments are written down
 * once.  Pure lookups of static text; any folder and any thread may call. */
#pragma once

#include <stdbool.h>

#include "talechain/talechain.h"

/* True if the event's type names a request, whose id *request receives. */
bool
talechain_event_request(const struct talechain_event *event, uint64_t *request);

/* True if the type has a latency: *ns receives how long it took, ending at the
 * event's stamp. */
bool talechain_event_latency(const struct talechain_event *event, uint64_t *ns);

/* The n-th named value of an event, n = 0, 1, ...; packed arguments ("a:8/b")
 * count as several.  False: the event has fewer. */
struct talechain_value {
	char name[24];
	uint64_t value;
};
bool talechain_argument(const struct talechain_event *event, unsigned n,
    struct talechain_value *out);

/* Name of an event type ("app_start"), or NULL if unknown.  Static text. */
const char *talechain_type_name(unsigned type);

/* A signal of RATE events. */
struct talechain_rate_name {
	const char *name, *unit; /* "ipc", "instructions per cycle" */
	double worth;		 /* factor for count / base */
};
/* The signal with a number, or NULL. */
const struct talechain_rate_name *talechain_rate_find(uint64_t signal);

#define TALECHAIN_CALL_SIZE 32
/* The name of a system call of this machine, "futex", else "system call 999";
 * out is returned. */
char *talechain_call_name(unsigned number, char out[TALECHAIN_CALL_SIZE]);

/* Name of a cause ("allocation"), "unknown" if out of range. */
const char *talechain_cause_name(unsigned cause);

/* Name of a softirq by its vector, "softirq NET_RX", else "a softirq".  Static
 * text. */
const char *talechain_softirq_name(uint64_t vector);
