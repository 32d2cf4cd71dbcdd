/* episodes.c: how many times a cause was seen, which is the size of the sample.
 *
 * A pause hits many requests at once and is one observation.  A request of the
 * tail counts if its time in the cause is a tenth of its total, or half of the
 * cause's share.  Such requests that overlap on one server are one episode,
 * which counts once more for each block that it lasts, but for no more than its
 * requests.  A BASE is the request's own work: each request is an episode. */
#include "blame/set.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

struct stay {
	int64_t begin_ns, end_ns;
	uint16_t server;
};

static int
stay_compare(const void *a, const void *b)
{
	const struct stay *x = a, *y = b;
	int order = COMPARE(x->server, y->server);

	return order != 0 ? order : COMPARE(x->begin_ns, y->begin_ns);
}

static size_t
stays_fill(const struct blame_set *s, unsigned cause, size_t from,
    int64_t least_ns, struct stay *stay)
{
	size_t n = 0;

	for (size_t i = from; i < s->rows; i++) {
		const struct blame_account *a = &s->row[i];
		int64_t x = blame_part(s, i, cause);

		if (x > 0 && (x >= a->total_ns / 10 || x >= least_ns))
			stay[n++] = (struct stay){
			    a->end_ns - a->total_ns, a->end_ns, a->server};
	}
	return n;
}

int
blame_episodes(const struct blame_set *s, const struct blame_line *l,
    size_t from, int64_t block_ns, unsigned *out)
{
	struct stay *stay = malloc((s->rows - from + 1) * sizeof(*stay));
	size_t n, first;
	int64_t blocks;

	*out = 0;
	if (stay == NULL)
		return -ENOMEM;
	n = stays_fill(s, l->cause, from, l->share_ns / 2, stay);
	if (l->kind == BLAME_BASE) {
		*out = (unsigned)n;
		n = 0;
	}
	qsort(stay, n, sizeof(*stay), stay_compare);
	for (size_t i = 0; i < n;) {
		struct stay all = stay[i];

		first = i;
		while (++i < n && stay[i].server == all.server &&
		       stay[i].begin_ns <= all.end_ns)
			if (stay[i].end_ns > all.end_ns)
				all.end_ns = stay[i].end_ns;
		blocks = (all.end_ns - all.begin_ns) / block_ns;
		*out += blocks < (int64_t)(i - first) ? 1 + (unsigned)blocks
						      : (unsigned)(i - first);
	}
	free(stay);
	return 0;
}
