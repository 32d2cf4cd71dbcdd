/* distribution.c: counts between fixed edges. */
#include "proxy/stats/distribution.h"

#include <string.h>

#include "base/array.h"

#define US UINT64_C(1000)
#define MS (1000 * US)
#define S (1000 * MS)

static const uint64_t requests_ns[] = {100 * US, 200 * US, 500 * US, 1 * MS,
    2 * MS, 5 * MS, 10 * MS, 20 * MS, 50 * MS, 100 * MS, 200 * MS, 500 * MS,
    1 * S, 2 * S, 5 * S, 10 * S};
static const uint64_t reactions_ns[] = {1 * US, 2 * US, 5 * US, 10 * US,
    20 * US, 50 * US, 100 * US, 200 * US, 500 * US, 1 * MS, 2 * MS, 5 * MS,
    10 * MS, 100 * MS};
static const uint64_t lives_ns[] = {1 * MS, 2 * MS, 5 * MS, 10 * MS, 20 * MS,
    50 * MS, 100 * MS, 200 * MS, 500 * MS, 1 * S, 2 * S, 5 * S, 10 * S, 30 * S,
    60 * S, 600 * S};

_Static_assert(COUNT(requests_ns) <= DISTRIBUTION_EDGES &&
		   COUNT(reactions_ns) <= DISTRIBUTION_EDGES &&
		   COUNT(lives_ns) <= DISTRIBUTION_EDGES,
    "room for all edges");

static void
init(struct distribution *d, const uint64_t *edge, unsigned edges)
{
	memset(d, 0, sizeof(*d));
	d->edge = edge;
	d->edges = edges;
}

void
distribution_init_requests(struct distribution *d)
{
	init(d, requests_ns, COUNT(requests_ns));
}

void
distribution_init_reactions(struct distribution *d)
{
	init(d, reactions_ns, COUNT(reactions_ns));
}

void
distribution_init_uptimes(struct distribution *d)
{
	init(d, lives_ns, COUNT(lives_ns));
}

unsigned
distribution_record(struct distribution *d, int64_t ns)
{
	uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
	unsigned i = 0;

	while (i < d->edges && value > d->edge[i])
		i++;
	d->count[i]++;
	d->total++;
	d->sum += value;
	if (value > d->max)
		d->max = value;
	return i;
}
