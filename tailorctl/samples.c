#include <stdlib.h>
#include <string.h>

#include "tailorctl/samples.h"

#define NUMBER_MAX 40

/* Return the length of "name" or "name{labels}"; 0: line does not begin so. */
static size_t
name_length(const char *line, size_t length)
{
	bool quoted = false, inside = false;

	for (size_t i = 0; i < length; i++) {
		if (quoted && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			quoted = !quoted;
		else if (!quoted && line[i] == '{')
			inside = true;
		else if (!quoted && line[i] == '}')
			inside = false;
		else if (!quoted && !inside && line[i] == ' ')
			return i;
	}
	return 0;
}

/* Parse a line without its newline; false: not a sample. */
static bool
parse(const char *line, size_t length, struct metric_sample *out)
{
	char number[NUMBER_MAX], *end;
	size_t digits;

	if (length == 0 || line[0] == '#' || line[0] == ' ')
		return false;
	out->name = line;
	out->length = name_length(line, length);
	if (out->length == 0)
		return false;
	digits = length - out->length - 1;
	if (digits == 0 || digits >= sizeof(number))
		return false;
	memcpy(number, line + out->length + 1, digits);
	number[digits] = '\0';
	out->value = strtod(number, &end);
	return end != number && (*end == '\0' || *end == ' ');
}

bool
samples_next(const char **at, const char *end, struct metric_sample *out)
{
	while (*at < end) {
		const char *line = *at;
		const char *eol = memchr(line, '\n', (size_t)(end - line));
		size_t length = (size_t)((eol != NULL ? eol : end) - line);

		*at = eol != NULL ? eol + 1 : end;
		if (length > 0 && line[length - 1] == '\r')
			length--;
		if (parse(line, length, out))
			return true;
	}
	return false;
}

/* True if the sample's name, without labels, ends so. */
static bool
ends_in(const struct metric_sample *s, const char *ending)
{
	const char *brace = memchr(s->name, '{', s->length);
	size_t length = brace != NULL ? (size_t)(brace - s->name) : s->length;
	size_t n = strlen(ending);

	return length > n && memcmp(s->name + length - n, ending, n) == 0;
}

bool
sample_is_part(const struct metric_sample *s)
{
	return ends_in(s, "_bucket") || ends_in(s, "_sum") ||
	       ends_in(s, "_count");
}

bool
sample_is_sum(const struct metric_sample *s)
{
	return ends_in(s, "_total") || sample_is_part(s);
}
