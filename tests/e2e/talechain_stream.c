/*
 * talechain_stream.c: writes a timeline stream for tests of tailorctl.
 *
 *	talechain_stream FILE N
 *
 * Appends N events, says "ready", then appends as many more as each line of
 * standard input says and answers "written"; ends with its input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "talechain/timeline/timeline.h"

#define SLOT_LOG2 10

/* Three kinds in turn: of a JVM, with largest numbers, of no known type. */
static void
append(struct timeline *t, uint64_t i)
{
	static const uint16_t types[] = {
	    TALECHAIN_JVM_GC_BEGIN, TALECHAIN_PROXY_RECEIVE, 0xbeef};
	struct talechain_event e = {
	    .seq = i, .ts = instant_now().ns, .type = types[i % 3]};

	memset(e.arg, 0xff, sizeof(e.arg));
	e.arg[0] = i + 1;
	if (e.type == TALECHAIN_JVM_GC_BEGIN) {
		e.arg[0] = TALECHAIN_CAUSE_ALLOCATION;
		e.arg[1] = i + 1;
	}
	timeline_append(
	    t, &e, 1, e.type == TALECHAIN_JVM_GC_BEGIN ? 1 : -1, instant_now());
}

int
main(int argc, char **argv)
{
	struct timeline *t;
	char line[64];
	uint64_t i = 0, end;
	int err;

	if (argc != 3)
		return 2;
	err = timeline_new(&t, argv[1], SLOT_LOG2);
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-err));
		return 1;
	}
	for (end = strtoull(argv[2], NULL, 10); i < end; i++)
		append(t, i);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		for (end = i + strtoull(line, NULL, 10); i < end; i++)
			append(t, i);
		printf("written\n");
		fflush(stdout);
	}
	timeline_free(&t);
	return 0;
}
