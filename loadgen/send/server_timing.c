#include "loadgen/send/server_timing.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "loadgen/send/token.h"

#define RANK_NONE 3
#define DAY_MS 86400000.0

/* A piece of the header. */
struct text {
	const char *at;
	size_t length;
};

struct cursor {
	const char *at;
	const char *end;
};

void
server_timing_init(struct server_timing *t)
{
	t->duration_ns = -1;
	t->rank = RANK_NONE;
	t->tailor = false;
}

static void
skip_space(struct cursor *c)
{
	while (c->at < c->end && (*c->at == ' ' || *c->at == '\t'))
		c->at++;
}

/* Step over one given character and the space around it. */
static bool
take(struct cursor *c, char wanted)
{
	skip_space(c);
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	skip_space(c);
	return true;
}

static struct text
take_token(struct cursor *c)
{
	struct text t = {c->at, 0};

	while (c->at < c->end && token_char(*c->at))
		c->at++;
	t.length = (size_t)(c->at - t.at);
	return t;
}

/* A token or a quoted string; for the latter the text between the quotes. */
static bool
take_value(struct cursor *c, struct text *out)
{
	if (!take(c, '"')) {
		*out = take_token(c);
		return out->length > 0;
	}
	out->at = c->at;
	while (c->at < c->end && *c->at != '"') {
		if (*c->at == '\\')
			c->at++;
		if (c->at < c->end)
			c->at++;
	}
	if (c->at >= c->end)
		return false;
	out->length = (size_t)(c->at - out->at);
	c->at++;
	return true;
}

static bool
text_is(struct text t, const char *word)
{
	return strlen(word) == t.length &&
	       strncasecmp(t.at, word, t.length) == 0;
}

/* Decimal milliseconds to ns; -1 if it is anything else. */
static int64_t
parse_milliseconds(struct text t)
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
metric_rank(struct text name, const char *wanted)
{
	if (wanted != NULL)
		return text_is(name, wanted) ? 0 : RANK_NONE;
	if (text_is(name, "app"))
		return 0;
	return text_is(name, "upstream") ? 1 : 2;
}

/* One metric: name *( ";" parameter [ "=" value ] ). */
static bool
read_metric(struct cursor *c, struct text *name, int64_t *duration_ns)
{
	struct text parameter;
	struct text value;

	*duration_ns = -1;
	*name = take_token(c);
	if (name->length == 0)
		return false;
	while (take(c, ';')) {
		parameter = take_token(c);
		if (!take(c, '='))
			continue;
		if (!take_value(c, &value))
			return false;
		/* The first "dur" counts, says the standard. */
		if (text_is(parameter, "dur") && *duration_ns < 0)
			*duration_ns = parse_milliseconds(value);
	}
	return true;
}

void
server_timing_read(struct server_timing *t, const char *wanted,
    const char *value, size_t length)
{
	struct cursor c = {value, value + length};
	struct text name;
	int64_t duration_ns;

	skip_space(&c);
	do {
		if (!read_metric(&c, &name, &duration_ns))
			return;
		if (text_is(name, "tailor"))
			t->tailor = true;
		unsigned rank = metric_rank(name, wanted);
		if (duration_ns >= 0 && rank < t->rank) {
			t->rank = rank;
			t->duration_ns = duration_ns;
		}
	} while (take(&c, ','));
}
