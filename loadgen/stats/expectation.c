#include "loadgen/stats/expectation.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/quantity.h"

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

/* Step over word if the text starts with it. */
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
	/* Of times only "0" may stand without a unit. */
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
