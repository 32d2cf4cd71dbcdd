#include "loadgen/stats/criteria.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/quantity.h"

/* True if two percentiles are the same, to a millionth. */
static bool
same(double a, double b)
{
	return fabs(a - b) < 5e-7;
}

int
percentiles_add(struct percentiles *p, double percent)
{
	unsigned i = 0;

	if (!(percent > 0 && percent < 100))
		return -EINVAL;
	if (percent < 10 && !same(percent, nearbyint(percent)))
		return -EINVAL;
	while (i < p->count && p->at[i] < percent && !same(p->at[i], percent))
		i++;
	if (i < p->count && same(p->at[i], percent))
		return 0;
	if (p->count == PERCENTILES_MAX)
		return -ENOSPC;
	memmove(&p->at[i + 1], &p->at[i], (p->count - i) * sizeof(p->at[0]));
	p->at[i] = percent;
	p->count++;
	return 0;
}

int
percentiles_parse(struct percentiles *p, const char *text)
{
	double percent;
	int err;

	for (;;) {
		if (quantity_real(text, &percent, &text) < 0)
			return -EINVAL;
		err = percentiles_add(p, percent);
		if (err < 0)
			return err;
		if (*text == '\0')
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

unsigned
percentiles_index(const struct percentiles *p, double percent)
{
	unsigned i = 0;

	while (i < p->count && !same(p->at[i], percent))
		i++;
	assert(i < p->count);
	return i;
}

const char *
percentile_key(double percent, char out[PERCENTILE_KEY_MAX])
{
	char digits[PERCENTILE_KEY_MAX];
	size_t n = 0;

	snprintf(digits, sizeof(digits), "%.9g", percent);
	out[n++] = 'p';
	for (const char *d = digits; *d != '\0'; d++) {
		if (*d != '.')
			out[n++] = *d;
	}
	out[n] = '\0';
	return out;
}

/* --- --fail --------------------------------------------------------------- */

static const char *const series_name[SERIES_COUNT] = {
    [SERIES_LATENCY] = "latency",
    [SERIES_LEAST] = "least",
    [SERIES_SERVICE] = "service",
    [SERIES_SERVER] = "server",
    [SERIES_GAP] = "gap",
    [SERIES_LAG] = "lag",
    [SERIES_SEND] = "send",
    [SERIES_RECEIVE] = "receive",
};

const char *
expectation_series_name(enum expectation_series series)
{
	return series_name[series];
}

/* Skip word if the text starts with it; false: it does not. */
static bool
take(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

static void
take_prefixes(struct expectation *e, const char **text)
{
	if (take(text, "worst."))
		e->scope = SCOPE_WORST;
	else if (take(text, "pooled."))
		e->scope = SCOPE_POOLED;
	for (unsigned i = 0; i < SERIES_COUNT; i++) {
		size_t n = strlen(series_name[i]);
		if (strncmp(*text, series_name[i], n) == 0 &&
		    (*text)[n] == '.') {
			e->series = (enum expectation_series)i;
			*text += n + 1;
			return;
		}
	}
}

static int
take_statistic(struct expectation *e, const char **text)
{
	const char *start = *text;

	take_prefixes(e, text);
	bool plain = *text == start;
	if (take(text, "mean")) {
		e->statistic = STATISTIC_MEAN;
	} else if (take(text, "min")) {
		e->statistic = STATISTIC_MIN;
	} else if (take(text, "max")) {
		e->statistic = STATISTIC_MAX;
	} else if (plain && take(text, "errors")) {
		e->statistic = STATISTIC_ERRORS;
	} else if (plain && take(text, "rate")) {
		e->statistic = STATISTIC_RATE;
	} else if (take(text, "p")) {
		e->statistic = STATISTIC_PERCENTILE;
		if (quantity_real(*text, &e->percent, text) < 0 ||
		    e->percent <= 0 || e->percent >= 100)
			return -EINVAL;
	} else {
		return -EINVAL;
	}
	return 0;
}

static int
take_op(struct expectation *e, const char **text)
{
	if (take(text, "<="))
		e->op = OP_LESS_EQUAL;
	else if (take(text, "<"))
		e->op = OP_LESS;
	else if (take(text, ">="))
		e->op = OP_GREATER_EQUAL;
	else if (take(text, ">"))
		e->op = OP_GREATER;
	else
		return -EINVAL;
	return 0;
}

static int
take_limit(struct expectation *e, const char *text)
{
	bool time = statistic_is_time(e->statistic);
	const char *rest;
	uint64_t n = 0;
	int err;
	if (e->statistic == STATISTIC_ERRORS &&
	    quantity_real(text, &e->limit, &rest) == 0 &&
	    strcmp(rest, "%") == 0) {
		e->statistic = STATISTIC_ERRORS_PERCENT;
		return 0;
	}
	/* A time needs a unit, except "0". */
	err = quantity_parse(time ? QUANTITY_DURATION : QUANTITY_THOUSANDS,
	    text, !time || strcmp(text, "0") == 0, &n);
	e->limit = (double)n;
	return err;
}

int
expectation_parse(struct expectation *e, const char *text)
{
	*e = (struct expectation){.text = text, .series = SERIES_LATENCY};
	if (take_statistic(e, &text) < 0 || take_op(e, &text) < 0 ||
	    take_limit(e, text) < 0)
		return -EINVAL;
	return 0;
}

bool
expectation_holds(const struct expectation *e, double actual)
{
	switch (e->op) {
	case OP_LESS:
		return actual < e->limit;
	case OP_LESS_EQUAL:
		return actual <= e->limit;
	case OP_GREATER:
		return actual > e->limit;
	case OP_GREATER_EQUAL:
		return actual >= e->limit;
	}
	return false;
}
