/*
 * events.c: "tailorctl events": what may stand in the stream.
 *
 * The same tables that writers and readers are made from, as words: what
 * "log" shows and "log -q" asks for.  tailor-ring(7) is made with it.
 */
#include <stdio.h>
#include <string.h>

#include "talechain/hazard.h"
#include "talechain/timeline.h"
#include "tailorctl/commands.h"
#include "tailorctl/reply.h"

#define COLUMNS 78
#define INDENT 8

/* One more word on a line that is at *column; at 0 nothing is written yet. */
static void
print_word(size_t *column, const char *word)
{
	size_t n = strlen(word);

	if (*column + 1 + n > COLUMNS) {
		printf("\n%*s", INDENT - 1, "");
		*column = INDENT - 1;
	}
	*column += (size_t)printf(" %s", word);
}

static void
print_event(unsigned type, const char *name)
{
	struct talechain_event e = {.type = (uint16_t)type};
	struct talechain_value v;
	size_t column = (size_t)printf("0x%04x %s", type, name);

	for (unsigned n = 0; talechain_argument(&e, n, &v); n++)
		print_word(&column, v.name);
	printf("\n");
}

static void
print_list(const char *title, const char *const *names, size_t count)
{
	size_t column = (size_t)printf("%s:", title);

	for (size_t i = 0; i < count; i++)
		print_word(&column, names[i]);
	printf("\n");
}

#define COUNT(array) (sizeof(array) / sizeof(array[0]))

int
command_events(const struct options *options)
{
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
#define EVENTS_X(symbol, name) name,
	    HAZARD_KINDS(EVENTS_X)
#undef EVENTS_X
	};

	(void)options;
#define EVENTS_X(symbol, number, name, a0, a1, a2, a3) \
	print_event(number, name);
	TALECHAIN_EVENTS(EVENTS_X)
#undef EVENTS_X
	printf("\n");
	print_list("cause (of a pause)", causes, COUNT(causes));
	print_list("signal (of a rate)", rates, COUNT(rates));
	print_list("kind (of a hazard)", hazards, COUNT(hazards));
	return STATUS_OK;
}
