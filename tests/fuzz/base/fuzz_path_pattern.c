/*
 * Goal: any bytes, up to a line's end as a pattern and behind it as a target,
 * are judged and matched as the slow reference does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/path_pattern.h"
#include "tests/fuzz/base/path_reference.h"

/* What the reference tries grows with a power of these. */
#define DEEP_MAX 3
#define TARGET_MAX 96

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned
deep_wildcards(const char *pattern)
{
	unsigned n = 0;

	while ((pattern = strstr(pattern, "**")) != NULL) {
		pattern += strlen("**");
		n++;
	}
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
	char pattern[PATH_PATTERN_MAX + 2], *target;
	static struct reference reference;
	struct path path;
	size_t n, length;
	bool readable;

	if (line == NULL)
		return 0;
	n = (size_t)(line - data);
	length = size - n - 1;
	if (n >= sizeof(pattern) || length > TARGET_MAX)
		return 0;
	memcpy(pattern, data, n);
	pattern[n] = '\0';
	target = malloc(length > 0 ? length : 1);
	memcpy(target, line + 1, length);
	readable = path_read(target, length, &path);
	if (readable != reference_read(target, length, &reference))
		abort();
	if (path_pattern_judge(pattern) == NULL && readable &&
	    deep_wildcards(pattern) <= DEEP_MAX &&
	    path_pattern_matches(pattern, path) !=
		reference_matches(pattern, &reference, 0))
		abort();
	free(target);
	return 0;
}
