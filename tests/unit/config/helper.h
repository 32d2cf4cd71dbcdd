/*
 * helper.h: what the tests of config/ share.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

/* Parse a text that must be good. */
__attribute__((unused)) static struct config *
parse_good(const char *text)
{
	struct config_errors errors = {0};
	struct config *c;
	int err = config_parse(&c, text, strlen(text), "t", &errors);

	for (unsigned i = 0; i < errors.count; i++)
		print_error("%s\n", errors.text[i]);
	assert_int_equal(err, 0);
	assert_int_equal(errors.count, 0);
	assert_non_null(c);
	config_errors_fini(&errors);
	return c;
}

/* All errors, a line each; the caller frees. */
__attribute__((unused)) static char *
errors_joined(const struct config_errors *errors)
{
	size_t length;
	char *text;
	FILE *f = open_memstream(&text, &length);

	assert_non_null(f);
	for (unsigned i = 0; i < errors->count; i++)
		fprintf(f, "%s\n", errors->text[i]);
	fclose(f);
	return text;
}

/* What config_write makes of it; the caller frees. */
__attribute__((unused)) static char *
written(const struct config *c)
{
	struct json j;
	char *text;
	size_t length;

	json_init(&j, true);
	config_write(c, &j);
	assert_int_equal(json_take(&j, &text, &length), 0);
	return text;
}
