#include "loadgen/report/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/quantity.h"
#include "loadgen/stats/statistics.h"

/* " p99 so far 9.4ms", from what the sender has published. */
static void
format_p99(const struct progress *p, char *out, size_t size)
{
	char text[QUANTITY_TEXT_MAX];
	size_t n = atomic_load_explicit(&p->ok, memory_order_acquire);
	int64_t *copy;

	out[0] = '\0';
	if (n == 0)
		return;
	copy = malloc(n * sizeof(*copy));
	if (copy == NULL)
		return;
	memcpy(copy, p->latency_ns, n * sizeof(*copy));
	samples_sort(copy, n);
	snprintf(out, size, "  p99 so far %s",
	    quantity_format_ns(quantile_sorted(copy, n, 99), text));
	free(copy);
}

void
progress_show(const struct iteration *it, uint64_t iterations)
{
	const struct progress *p = &it->progress;
	char p99[64];
	/* In this order, so that no more are finished than sent. */
	size_t finished =
	    atomic_load_explicit(&p->finished, memory_order_relaxed);
	size_t sent = atomic_load_explicit(&p->sent, memory_order_relaxed);

	format_p99(p, p99, sizeof(p99));
	fprintf(stderr,
	    "\r\033[Kiteration %u/%" PRIu64 "  %zu/%zu sent  %zu in flight%s",
	    it->index, iterations, sent, it->requests,
	    sent > finished ? sent - finished : 0, p99);
	fflush(stderr);
}

void
progress_clear(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
