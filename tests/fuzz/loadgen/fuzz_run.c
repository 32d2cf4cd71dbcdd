/*
 * Goal: no run.json, however damaged, makes the reader, the page or the
 * comparison crash, and no text of it becomes a script element.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadgen/stats/compare.h"
#include "loadgen/report/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
draw(const struct run *r)
{
	struct point some[] = {
	    {1, 1, 0, 1000}, {1, 2, 5, -1}, {2, 1, INT64_C(1) << 50, 7}};
	struct points points = {.all = some, .count = 3};
	char *text;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	if (f == NULL)
		abort();
	if (page_write(f, r, &points) == 0 && fclose(f) == 0 &&
	    strstr(text, "<script") != NULL)
		abort();
	free(text);
}

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
		draw(&r);
		compare(&r);
		run_close(&r);
	}
	free(text);
	return 0;
}
