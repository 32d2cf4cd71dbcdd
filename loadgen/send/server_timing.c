#include "loadgen/send/server_timing.h"

#include <math.h>

#include "loadgen/send/token.h"

#define RANK_NONE 3
#define DAY_MS 86400000.0

void
server_timing_init(struct server_timing *t)
{
	*t = (struct server_timing){.duration_ns = -1, .rank = RANK_NONE};
}

static void
skip(struct slice *rest, size_t n)
{
	rest->at += n;
	rest->length -= n;
}

/* Step over one given character and the space around it. */
static bool
take(struct slice *rest, char wanted)
{
	*rest = slice_trim(*rest);
	if (rest->length == 0 || *rest->at != wanted)
		return false;
	skip(rest, 1);
	*rest = slice_trim(*rest);
	return true;
}

static struct slice
take_token(struct slice *rest)
{
	struct slice t = {rest->at, 0};

	while (t.length < rest->length && token_char(t.at[t.length]))
		t.length++;
	skip(rest, t.length);
	return t;
}

/* A token or a quoted string; for the latter the text between the quotes. */
static bool
take_value(struct slice *rest, struct slice *out)
{
	size_t n = 0;

	if (!take(rest, '"')) {
		*out = take_token(rest);
		return out->length > 0;
	}
	while (n < rest->length && rest->at[n] != '"')
		n += rest->at[n] == '\\' ? 2 : 1;
	if (n >= rest->length)
		return false;
	*out = (struct slice){rest->at, n};
	skip(rest, n + 1);
	return true;
}

/* Decimal milliseconds to ns; -1 if it is anything else. */
static int64_t
parse_milliseconds(struct slice t)
{
	double value = 0;
	double scale = 0;
	size_t digits = 0;

	for (size_t i = 0; i < t.length; i++) {
		if (t.at[i] == '.' && scale == 0.0) {
			scale = 1;
		} else if (t.at[i] >= '0' && t.at[i] <= '9') {
			value = value * 10 + (t.at[i] - '0');
			scale *= 10;
			digits++;
		} else {
			return -1;
		}
	}
	if (digits == 0 || digits > 18)
		return -1;
	if (scale > 0)
		value /= scale;
	return value > DAY_MS ? -1 : llround(value * 1e6);
}

static unsigned
metric_rank(struct slice name)
{
	if (slice_is(name, "app"))
		return 0;
	return slice_is(name, "upstream") ? 1 : 2;
}

/* One metric: name *( ";" parameter [ "=" value ] ). */
static bool
read_metric(struct slice *rest, struct slice *name, int64_t *duration_ns)
{
	struct slice parameter, value;

	*duration_ns = -1;
	*name = take_token(rest);
	if (name->length == 0)
		return false;
	while (take(rest, ';')) {
		parameter = take_token(rest);
		if (!take(rest, '='))
			continue;
		if (!take_value(rest, &value))
			return false;
		/* The first "dur" counts, says the standard. */
		if (slice_is(parameter, "dur") && *duration_ns < 0)
			*duration_ns = parse_milliseconds(value);
	}
	return true;
}

void
server_timing_read(struct server_timing *t, struct slice value)
{
	struct slice rest = slice_trim(value), name;
	int64_t duration_ns;

	do {
		if (!read_metric(&rest, &name, &duration_ns))
			return;
		if (slice_is(name, "tailor"))
			t->tailor = true;
		unsigned rank = metric_rank(name);
		if (duration_ns >= 0 && rank < t->rank) {
			t->rank = rank;
			t->duration_ns = duration_ns;
		}
	} while (take(&rest, ','));
}
