/* path_pattern.c: check patterns, read paths, match. */
#include "base/path_pattern.h"

#include <string.h>

#include "base/text.h"

/* --- paths ------------------------------------------------------------ */

static bool
is_control(int c)
{
	return c < ' ' || c == 0x7f;
}

/* Decode the byte at *at and advance *at; -1 if the path cannot be compared. */
static int
byte_take(const char **at, const char *end)
{
	const char *p = *at;
	int high, low;

	if (*p != '%') {
		*at = p + 1;
		if (is_control((unsigned char)*p) || strchr(" \\;#", *p))
			return -1;
		return (unsigned char)*p;
	}
	if (end - p < 3)
		return -1;
	high = hex_value(p[1]);
	low = hex_value(p[2]);
	*at = p + 3;
	if (high < 0 || low < 0 || is_control(high << 4 | low) ||
	    strchr("/\\;?#%", high << 4 | low))
		return -1;
	return high << 4 | low;
}

/* Take the segment after the "/" at *at; false if it cannot be compared. */
static bool
segment_read(const char **at, const char *end)
{
	size_t bytes = 0, dots = 0;

	for (++*at; *at < end && **at != '/'; bytes++) {
		int c = byte_take(at, end);

		if (c < 0)
			return false;
		dots += c == '.';
	}
	if (bytes == 0)
		return *at == end;
	return dots < bytes || dots > 2;
}

bool
path_read(const char *target, size_t length, struct path *out)
{
	const char *query = length > 0 ? memchr(target, '?', length) : NULL;
	const char *at = target, *end;

	if (query != NULL)
		length = (size_t)(query - target);
	if (length == 0) {
		*out = (struct path){"/", 1};
		return true;
	}
	end = target + length;
	if (*at != '/')
		return false;
	while (at < end)
		if (!segment_read(&at, end))
			return false;
	*out = (struct path){target, length};
	return true;
}

/* --- patterns ----------------------------------------------------------- */

/* The end of the segment after the "/" at pattern. */
static const char *
pattern_segment_end(const char *pattern)
{
	return pattern + 1 + strcspn(pattern + 1, "/");
}

static bool
is_segment(const char *at, const char *end, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(end - at) == n && memcmp(at, text, n) == 0;
}

static const char *
judge_segment(const char *at, const char *end)
{
	if (is_segment(at, end, "*") || is_segment(at, end, "**"))
		return NULL;
	if (memchr(at, '*', (size_t)(end - at)) != NULL)
		return "* is a whole segment and ** any number of them: write "
		       "/*/_search, not /index-*/_search";
	if (at == end && *end == '/')
		return "a path with an empty segment matches no pattern: write "
		       "one / instead of two";
	if (is_segment(at, end, ".") || is_segment(at, end, ".."))
		return "a path with . or .. as a segment matches no pattern";
	return NULL;
}

static const char *
judge_bytes(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if (is_control((unsigned char)*p))
			return "it has a control byte";
	if (strpbrk(text, "?#") != NULL)
		return "a pattern is compared with the path alone: leave out "
		       "the query";
	if (strpbrk(text, "%") != NULL)
		return "a pattern has no % escapes: those of a request's path "
		       "are decoded before it is compared";
	if (strpbrk(text, " ") != NULL)
		return "a pattern has no spaces: * matches a segment with one";
	if (strpbrk(text, "\\;") != NULL)
		return "a path with ; or \\ matches no pattern";
	return NULL;
}

const char *
path_pattern_judge(const char *text)
{
	const char *why, *end;
	unsigned segments = 0;

	if (*text != '/')
		return "a path pattern begins with /";
	if (strlen(text) > PATH_PATTERN_MAX)
		return "the pattern has more than 256 bytes";
	why = judge_bytes(text);
	for (const char *at = text; why == NULL && *at == '/'; at = end) {
		end = pattern_segment_end(at);
		why = judge_segment(at + 1, end);
		if (why == NULL && ++segments > PATH_SEGMENTS_MAX)
			why = "the pattern has more than 16 segments";
	}
	return why;
}

/* --- matching ------------------------------------------------------------- */

static const char *
path_segment_end(const char *at, const char *end)
{
	const char *slash = memchr(at + 1, '/', (size_t)(end - at - 1));

	return slash != NULL ? slash : end;
}

/* True if a segment of the pattern, not "**", matches a segment of the path.
 * Both are given from after the "/" to the end. */
static bool
segment_matches(
    const char *want, const char *want_end, const char *have, const char *end)
{
	if (is_segment(want, want_end, "*"))
		return have < end;
	while (want < want_end && have < end)
		if (byte_take(&have, end) != (unsigned char)*want++)
			return false;
	return want == want_end && have == end;
}

/* Matches segment by segment; after a mismatch the last "**" takes one segment
 * more.  Earlier "**" need no second try: if they took more, only less of the
 * path would be left for the rest. */
bool
path_pattern_matches(const char *pattern, struct path path)
{
	const char *want = pattern, *have = path.at, *end = have + path.length;
	const char *again_want = NULL, *again_have = NULL;

	while (*want != '\0' || have < end) {
		const char *want_end = want, *have_end = have;

		if (*want != '\0')
			want_end = pattern_segment_end(want);
		if (have < end)
			have_end = path_segment_end(have, end);
		if (*want != '\0' && is_segment(want + 1, want_end, "**")) {
			again_want = want = want_end;
			again_have = have;
		} else if (*want != '\0' && have < end &&
			   segment_matches(
			       want + 1, want_end, have + 1, have_end)) {
			want = want_end;
			have = have_end;
		} else if (again_want != NULL && again_have < end) {
			want = again_want;
			have = again_have = path_segment_end(again_have, end);
		} else {
			return false;
		}
	}
	return true;
}
