/* activity.c: see the header. */
#include "profiler/activity.h"

#include "profiler/output.h"

/* How much a counter has grown; 0 if it went back. */
static uint64_t
grown(uint64_t *last, uint64_t value)
{
	uint64_t more = value - *last;

	*last = value;
	return more < UINT32_MAX ? more : 0;
}

void
activity_look(struct activity *a, uint64_t classes, uint64_t compiled,
    int server, struct output *o, struct instant now)
{
	struct instant begin = a->looked;
	uint64_t more = grown(&a->classes, classes);
	struct note n = {.type = TALECHAIN_JVM_RATES,
	    .server = server,
	    .at = now,
	    .seen = now};

	a->untold += grown(&a->compiled, compiled);
	a->looked = now;
	/* The first look is where counting starts. */
	if (!instant_is_set(begin)) {
		a->untold = 0;
		a->told = now;
		return;
	}
	if (more == 0 && (a->untold == 0 ||
			     instant_since(now, a->told) < ACTIVITY_LEISURE_NS))
		return;
	n.arg[0] = more;
	n.arg[1] = a->untold;
	n.arg[2] = (uint64_t)instant_since(now, more > 0 ? begin : a->told);
	a->untold = 0;
	a->told = now;
	output_note(o, &n);
}
