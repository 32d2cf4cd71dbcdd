#include "config/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
errors_full(const struct config_errors *errors)
{
	return errors->count > ERRORS_MAX;
}

void
errors_add(struct config_errors *errors, const char *format, ...)
{
	va_list arguments;
	char **text, *line;
	int n;

	if (errors_full(errors))
		return;
	text = realloc(errors->text, (errors->count + 1) * sizeof(*text));
	if (text == NULL)
		return;
	errors->text = text;
	if (errors->count == ERRORS_MAX) {
		line = strdup("more errors follow; these are the first 100");
		n = 0;
	} else {
		va_start(arguments, format);
		n = vasprintf(&line, format, arguments);
		va_end(arguments);
	}
	if (n >= 0 && line != NULL)
		errors->text[errors->count++] = line;
}

void
config_errors_fini(struct config_errors *errors)
{
	for (unsigned i = 0; i < errors->count; i++)
		free(errors->text[i]);
	free(errors->text);
	*errors = (struct config_errors){0};
}

char *
errors_quote(const char *text, char out[QUOTE_MAX])
{
	size_t n = 0;

	for (; n < 60 && text[n] != '\0'; n++) {
		unsigned char c = (unsigned char)text[n];

		out[n] = c < ' ' || c == 0x7f ? '?' : text[n];
	}
	/* Do not cut a UTF-8 sequence in two. */
	if (text[n] != '\0') {
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
		memcpy(out + n, "...", 3);
		n += 3;
	}
	out[n] = '\0';
	return out;
}
