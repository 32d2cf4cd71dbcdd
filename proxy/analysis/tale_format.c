/* tale_format.c: finds the form of a tale that Accept prefers (RFC 9110,
 * 12.5.1). */
#include "proxy/analysis/tale_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *type, *sent;
} formats[TALE_FORMAT_COUNT] = {
#define TALE_X(symbol, name, type, sent) \
	[TALE_FORMAT_##symbol] = {name, type, sent},
    TALE_FORMATS(TALE_X)
#undef TALE_X
};

const char *
tale_format_type(enum tale_format format)
{
	return formats[format].sent;
}

int
tale_format_named(const char *name, size_t length)
{
	struct slice s = {name, length};

	for (int i = 0; i < TALE_FORMAT_COUNT; i++)
		if (slice_is(s, formats[i].name))
			return i;
	return -EINVAL;
}

/* Cut off the part before the next separator, and return it trimmed. */
static struct slice
slice_cut(struct slice *rest, char separator)
{
	const char *end =
	    rest->length > 0 ? memchr(rest->at, separator, rest->length) : NULL;
	struct slice part = *rest;

	if (end != NULL)
		part.length = (size_t)(end - rest->at);
	rest->at += part.length + (end != NULL);
	rest->length -= part.length + (end != NULL);
	return slice_trim(part);
}

/* Parse a weight, "0.85" as 850; -EINVAL if s is none. */
static int
weight_of(struct slice s)
{
	int weight = 0, scale = 1000;

	if (s.length == 0 || s.length > 5 || (s.at[0] != '0' && s.at[0] != '1'))
		return -EINVAL;
	for (size_t i = 0; i < s.length; i++) {
		if (i == 1) {
			if (s.at[i] != '.')
				return -EINVAL;
			continue;
		}
		if (s.at[i] < '0' || s.at[i] > '9')
			return -EINVAL;
		weight += (s.at[i] - '0') * scale;
		scale /= 10;
	}
	return weight <= 1000 ? weight : -EINVAL;
}

/* Return how exactly a range names a type, 1 .. 3; 0: not at all. */
static unsigned
exactness_of(struct slice range, const char *type)
{
	size_t whole = (size_t)(strchr(type, '/') - type);
	char any[32];

	if (slice_is(range, type))
		return 3;
	snprintf(any, sizeof(any), "%.*s/*", (int)whole, type);
	if (slice_is(range, any))
		return 2;
	return slice_is(range, "*/*");
}

/* Take a range with its parameters into account. */
static void
take_range(struct negotiation *n, struct slice rest)
{
	struct slice range = slice_cut(&rest, ';');
	int weight = 1000;

	while (rest.length > 0) {
		struct slice parameter = slice_cut(&rest, ';');
		struct slice name = slice_cut(&parameter, '=');

		if (slice_is(name, "q"))
			weight = weight_of(parameter);
	}
	if (weight < 0 || memchr(range.at, '/', range.length) == NULL)
		return;
	n->said = true;
	for (int i = 0; i < TALE_FORMAT_COUNT; i++) {
		unsigned exact = exactness_of(range, formats[i].type);

		if (exact == 0 || exact < n->format[i].exactness)
			continue;
		n->format[i].exactness = exact;
		n->format[i].weight = (unsigned)weight;
	}
}

void
negotiate_accept(struct negotiation *n, struct slice accept)
{
	while (accept.length > 0) {
		struct slice range = slice_cut(&accept, ',');

		if (range.length > 0)
			take_range(n, range);
	}
}

int
negotiate_choose(const struct negotiation *n, enum tale_format preferred)
{
	int best = -ENOENT;

	if (!n->said)
		return (int)preferred;
	for (int i = 0; i < TALE_FORMAT_COUNT; i++) {
		unsigned weight = n->format[i].weight;

		if (weight == 0)
			continue;
		if (best < 0 || weight > n->format[best].weight ||
		    (weight == n->format[best].weight &&
			best != (int)preferred &&
			(i == (int)preferred || n->format[i].exactness >
						    n->format[best].exactness)))
			best = i;
	}
	return best;
}

const char *
negotiate_extra(
    enum tale_format format, const char *id, char out[NEGOTIATE_EXTRA_BYTES])
{
	char name[65];
	size_t i;

	out[0] = '\0';
	switch (format) {
	case TALE_FORMAT_TEXT:
	case TALE_FORMAT_JSON:
		break;
	case TALE_FORMAT_SVG:
	case TALE_FORMAT_HTML:
		snprintf(out, NEGOTIATE_EXTRA_BYTES,
		    "Content-Security-Policy: " NEGOTIATE_POLICY "\r\n"
		    "Referrer-Policy: no-referrer\r\n");
		break;
	case TALE_FORMAT_CHROME:
		for (i = 0; i < sizeof(name) - 1 && id[i] != '\0'; i++)
			name[i] = strchr("-_.", id[i]) != NULL ||
					  (id[i] >= '0' && id[i] <= '9') ||
					  (id[i] >= 'A' && id[i] <= 'Z') ||
					  (id[i] >= 'a' && id[i] <= 'z')
				      ? id[i]
				      : '_';
		name[i] = '\0';
		snprintf(out, NEGOTIATE_EXTRA_BYTES,
		    "Content-Disposition: attachment; "
		    "filename=\"tailor-%s.trace.json\"\r\n",
		    name);
		break;
	case TALE_FORMAT_COUNT:
		break;
	}
	return out;
}
