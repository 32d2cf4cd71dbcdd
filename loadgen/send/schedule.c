#include "loadgen/send/plan.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/instant.h"
#include "base/quantity.h"
#include "base/random.h"

const char *
arrivals_name(enum arrivals arrivals)
{
	static const char *const names[] = {
	    [ARRIVALS_POISSON] = "poisson",
	    [ARRIVALS_UNIFORM] = "uniform",
	    [ARRIVALS_FILE] = "file",
	    [ARRIVALS_CLOSED] = "closed",
	};

	return names[arrivals];
}

uint64_t
schedule_iteration_seed(uint64_t seed, unsigned iteration)
{
	return seed + iteration;
}

uint64_t
schedule_warmup_seed(uint64_t seed)
{
	return seed ^ UINT64_C(0x7761726d2d757021); /* "warm-up!" */
}

void
schedule_fill(enum arrivals arrivals, double rate_per_s, uint64_t seed,
    int64_t *offset_ns, size_t n)
{
	const double gap_ns = (double)NS_PER_S / rate_per_s;
	struct prng p;
	int64_t at_ns = 0;

	if (arrivals == ARRIVALS_UNIFORM) {
		/* Computed from the start, so that rounding does not add up. */
		for (size_t i = 0; i < n; i++)
			offset_ns[i] = llround((double)(i + 1) * gap_ns);
		return;
	}
	prng_init(&p, seed);
	for (size_t i = 0; i < n; i++) {
		at_ns += llround(-log1p(-random_unit(prng_next(&p))) * gap_ns);
		offset_ns[i] = at_ns;
	}
}

/* --- arrivals from a file ------------------------------------------------- */

#define INSTANT_MAX_MS 86400e3 /* a day */

/* Read a line.  Returns NULL, or what is wrong with the line. */
static const char *
read_line(const char *line, int64_t before_ns, int64_t *out_ns)
{
	const char *rest;
	double ms;

	if (quantity_real(line, &ms, &rest) < 0 ||
	    (*rest != '\0' && *rest != '\t'))
		return "is not a number of milliseconds";
	if (ms > INSTANT_MAX_MS)
		return "is more than a day";
	*out_ns = llround(ms * 1e6);
	return *out_ns < before_ns ? "is before the line above" : NULL;
}

static int
read_lines(const char *path, char *text, int64_t *offset_ns, size_t *n,
    char *why, size_t why_size)
{
	int64_t before_ns = 0;
	unsigned number = 1;

	*n = 0;
	for (char *line; (line = strsep(&text, "\n")) != NULL; number++) {
		size_t length = strlen(line);
		if (length > 0 && line[length - 1] == '\r')
			line[--length] = '\0';
		if (length == 0 || *line == '#')
			continue;
		const char *wrong =
		    *n == PLAN_REQUESTS_MAX
			? "is over the limit of 100 million requests"
			: read_line(line, before_ns, &offset_ns[*n]);
		if (wrong != NULL) {
			snprintf(
			    why, why_size, "%s:%u: %s", path, number, wrong);
			return -EINVAL;
		}
		before_ns = offset_ns[(*n)++];
	}
	if (*n > 0)
		return 0;
	snprintf(why, why_size, "%s: has no instant", path);
	return -EINVAL;
}

int
trace_read(const char *path, int64_t **offset_ns, size_t *n, char *why,
    size_t why_size)
{
	size_t length;
	size_t lines = 1;
	char *text;
	int err = file_read(path, &text, &length);

	if (err < 0) {
		snprintf(why, why_size, "%s: %s", path, strerror(-err));
		return err;
	}
	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	*offset_ns = calloc(lines, sizeof(**offset_ns));
	if (*offset_ns == NULL) {
		snprintf(why, why_size, "%s: out of memory", path);
		err = -ENOMEM;
	} else {
		err = read_lines(path, text, *offset_ns, n, why, why_size);
	}
	if (err < 0) {
		free(*offset_ns);
		*offset_ns = NULL;
	}
	free(text);
	return err;
}
