/*
 * Goal: no run.json, however damaged, makes the reader or the comparison crash.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/stats/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
compare(const struct run *r)
{
	struct comparison c;
	struct json j;

	json_init(&j, true);
	if (compare_runs(r, r, &c) == 0)
		compare_json(r, r, &c, &j);
	json_fini(&j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char why[128];
	struct run r;
	/* A copy of its own: reading past it is found. */
	char *text = malloc(size + 1);

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	if (run_parse(&r, text, size, why, sizeof(why)) == 0) {
		compare(&r);
		run_close(&r);
	}
	free(text);
	return 0;
}
