/*
 * Goal: no text crashes the query language; an error points into the text;
 * what parses can be asked of anything.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tailorctl/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A number, a text or nothing, by the field's first letter. */
static struct query_value
lookup(const char *field, void *user)
{
	(void)user;
	switch (field[0] % 3) {
	case 0:
		return (struct query_value){QUERY_NUMBER, 20, NULL, false};
	case 1:
		return (struct query_value){QUERY_TEXT, 0, "a", false};
	default:
		return (struct query_value){QUERY_MISSING, 0, NULL, false};
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct query_error error = {0};

	memcpy(text, data, size);
	text[size] = '\0';
	if (query_match(text, lookup, NULL, &error) < 0 &&
	    (error.column < 1 || error.column > strlen(text) + 1 ||
		error.text[0] == '\0'))
		abort();
	free(text);
	return 0;
}
