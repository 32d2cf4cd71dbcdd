/*
 * path_reference.h: path patterns by the book, slowly: a path is cut into
 * decoded segments, and a pattern tried against them recursively.  What
 * base/path_pattern.c is compared with.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFERENCE_MAX 512 /* bytes of a target, and segments */

struct reference {
	char text[REFERENCE_MAX + 1]; /* the segments, one behind another */
	const char *segment[REFERENCE_MAX];
	size_t length[REFERENCE_MAX];
	unsigned segments;
};

static inline bool
reference_is(const char *s, size_t n, const char *text)
{
	return strlen(text) == n && memcmp(s, text, n) == 0;
}

/* The byte that "%xx" stands for, -1 if it is no escape. */
static inline int
reference_escape(const char *s, size_t left)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	const char *high, *low;

	if (left < 3 || s[1] == '\0' || s[2] == '\0')
		return -1;
	high = strchr(digits, s[1]);
	low = strchr(digits, s[2]);
	if (high == NULL || low == NULL)
		return -1;
	return (int)((high - digits) % 16 * 16 + (low - digits) % 16);
}

/* False if the path of this target cannot be compared. */
static inline bool
reference_read(const char *target, size_t length, struct reference *out)
{
	size_t n = 0, i = 0;

	out->segments = 0;
	while (i < length && target[i] != '?')
		i++;
	length = i;
	if (length == 0) {
		out->segment[out->segments] = out->text;
		out->length[out->segments++] = 0;
		return true;
	}
	if (target[0] != '/')
		return false;
	for (i = 0; i < length;) {
		int c = (unsigned char)target[i];

		if (c == '/') {
			out->segment[out->segments] = out->text + n;
			out->length[out->segments++] = 0;
			i++;
			continue;
		}
		if (c == '%') {
			c = reference_escape(target + i, length - i);
			if (c < ' ' || c == 0x7f || strchr("/?%", c) != NULL)
				return false;
			i += 2;
		} else if (c == ' ') {
			return false;
		}
		if (c < ' ' || c == 0x7f || strchr("\\;#", c) != NULL)
			return false;
		out->text[n++] = (char)c;
		out->length[out->segments - 1]++;
		i++;
	}
	for (unsigned k = 0; k < out->segments; k++) {
		const char *s = out->segment[k];

		if (reference_is(s, out->length[k], ".") ||
		    reference_is(s, out->length[k], "..") ||
		    (out->length[k] == 0 && k + 1 < out->segments))
			return false;
	}
	return true;
}

/* Whether the pattern from here on matches the segments from k on. */
static inline bool
reference_matches(const char *pattern, const struct reference *path, unsigned k)
{
	size_t n;

	if (*pattern == '\0')
		return k == path->segments;
	pattern++; /* "/" */
	n = strcspn(pattern, "/");
	if (reference_is(pattern, n, "**")) {
		for (unsigned to = k; to <= path->segments; to++)
			if (reference_matches(pattern + n, path, to))
				return true;
		return false;
	}
	if (k == path->segments)
		return false;
	if (reference_is(pattern, n, "*")
		? path->length[k] == 0
		: n != path->length[k] ||
		      memcmp(path->segment[k], pattern, n) != 0)
		return false;
	return reference_matches(pattern + n, path, k + 1);
}
