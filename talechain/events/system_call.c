/*
 * system_call.c: the names of system calls, as the C library of the build has
 * them: a text of lines "202 futex", in any order.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/embed.h"
#include "talechain/events/events.h"

EMBED(system_calls, "system_calls.txt");

/* The name of each system call; it ends with its line. */
static const char *names[1 << TALECHAIN_CALL_BITS];

static void
names_find(void)
{
	const char *line = system_calls;
	unsigned long number;
	char *name;

	while (line < system_calls_end) {
		number = strtoul(line, &name, 10);
		if (number < COUNT(names))
			names[number] = name + strspn(name, " ");
		line += strcspn(line, "\n") + 1;
	}
}

char *
talechain_call_name(unsigned number, char out[TALECHAIN_CALL_SIZE])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, names_find);
	if (number < COUNT(names) && names[number] != NULL)
		snprintf(out, TALECHAIN_CALL_SIZE, "%.*s",
		    (int)strcspn(names[number], "\n"), names[number]);
	else
		snprintf(out, TALECHAIN_CALL_SIZE, "system call %u", number);
	return out;
}
