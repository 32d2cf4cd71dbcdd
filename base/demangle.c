#include "base/demangle.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define RUST_HASH 17 /* "h" and 16 digits, the last part of a name in Rust */

/* Take a part of a name: its length in digits, then the letters.  NULL: none.
 */
static const char *
part_take(const char **at, size_t *length)
{
	const char *p = *at;
	size_t n = 0;

	while (*p >= '0' && *p <= '9' && n < 1000)
		n = 10 * n + (size_t)(*p++ - '0');
	if (p == *at || n == 0 || n >= 1000 || strnlen(p, n) < n)
		return NULL;
	*at = p + n;
	*length = n;
	return p;
}

/* Skip template arguments, from I to behind E.  NULL: not understood. */
static const char *
skip_arguments(const char *p)
{
	unsigned depth = 0;
	size_t n;

	do {
		if (*p >= '0' && *p <= '9') {
			if (part_take(&p, &n) == NULL)
				return NULL;
			continue;
		}
		if (*p == 'S' || *p == 'T') { /* a substitution */
			bool known = *p == 'S' && p[1] >= 'a' && p[1] <= 'z';

			p += known ? 2 : 1 + strcspn(p + 1, "_E");
			if (!known && *p++ != '_')
				return NULL;
			continue;
		}
		if (*p == 'L' && p[1] >= 'a' && p[1] <= 'z') { /* a number */
			p += strcspn(p, "E");
			if (*p++ == '\0')
				return NULL;
			continue;
		}
		if (*p == '\0' || *p == 'L' || *p == 'X')
			return NULL;
		depth += *p == 'I' || *p == 'N' || *p == 'J' || *p == 'F';
		depth -= *p++ == 'E';
	} while (depth > 0);
	return p;
}

/* Add a part of a name; false: no room. */
static bool
part_add(char *out, size_t size, const char *text, size_t length)
{
	size_t n = strlen(out);
	const char *between = n > 0 ? "::" : "";

	if (n + strlen(between) + length >= size)
		return false;
	snprintf(out + n, size - n, "%s%.*s", between, (int)length, text);
	return true;
}

/* Append the parts of a name to out; nested: up to E.  False: not understood.
 */
static bool
parts_take(const char *p, bool nested, char *out, size_t size)
{
	const char *text;
	size_t length;

	*out = '\0';
	do {
		if (nested && strncmp(p, "St", 2) == 0) {
			p += 2;
			if (!part_add(out, size, "std", 3))
				return false;
			continue;
		}
		text = part_take(&p, &length);
		if (text == NULL ||
		    (!(length == RUST_HASH && *text == 'h' && *p == 'E') &&
			!part_add(out, size, text, length)))
			return false;
		if (*p == 'I' && (p = skip_arguments(p)) == NULL)
			return false;
	} while (nested && *p != 'E');
	return true;
}

char *
demangle(char *out, size_t size, const char *name)
{
	if (strncmp(name, "_Z", 2) == 0) {
		const char *p = name + 2;
		bool nested = *p == 'N';

		p += nested ? 1 + strspn(p + 1, "KrVRO") : *p == 'L';
		if (parts_take(p, nested, out, size))
			return out;
	}
	snprintf(out, size, "%s", name);
	return out;
}
