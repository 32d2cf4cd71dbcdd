/*
 * fuzz_hsperf.c: any bytes as a performance page.
 *
 * Whatever the parser finds lies within the page, numbers where they can be
 * read in one piece; and sweeping such a page, while it changes, reads
 * nothing else and reports no more than it may, of the time between.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/jvm/hsperf_format.h"
#include "profiler/jvm/hsperf_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_layout(const struct hsperf_layout *l, size_t bytes)
{
	unsigned i;

	for (i = 0; i < HSPERF_COUNTER_COUNT; i++) {
		if (l->offset[i] == 0)
			continue;
		assert(l->offset[i] >= HSPERF_PROLOGUE_BYTES);
		assert((size_t)l->offset[i] + l->length[i] <= bytes);
	}
	for (i = 0; i < HSPERF_COLLECTORS; i++)
		assert(l->offset[HSPERF_OF_COLLECTOR(i, COUNT)] % 8 == 0);
}

/* As the observer does it, but on the heap, where reads are checked. */
static void
sweep(const struct hsperf_layout *l, const uint8_t *data, size_t size)
{
	static struct pause_edges edges;
	struct hsperf_page p = {.layout = *l, .bytes = size};
	/* Whole pages of the machine, as a mapping has. */
	size_t whole = (size + 4095) / 4096 * 4096;
	unsigned char *map = aligned_alloc(4096, whole);
	unsigned i;

	assert(map != NULL);
	memset(map, 0, whole);
	memcpy(map, data, size);
	hsperf_page_trim(&p);
	p.map = map;
	p.kind = (enum collector)(data[size - 1] % (COLLECTOR_EPSILON + 1));
	pause_init(&p.pause, p.kind, data[size - 2]);
	for (i = 0; i < 8; i++) {
		struct instant now = {1000 * (i + 1)};
		struct instant before = i > 0 ? p.swept : now;

		if (!hsperf_page_sweep(&p, now, &edges))
			edges.count = 0;
		assert(edges.count <= PAUSE_EDGES);
		now = instant_now();
		for (unsigned k = 0; k < edges.count; k++)
			assert(!instant_before(edges.edge[k].at, before) &&
			       !instant_before(now, edges.edge[k].at));
		memmove(map + size / 3, map + size / 2, size / 3);
	}
	free(map);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hsperf_layout l;

	if (hsperf_parse(&l, data, size) < 0)
		return 0;
	check_layout(&l, size);
	sweep(&l, data, size);
	return 0;
}
