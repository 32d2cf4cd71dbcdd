/*
 * fuzz_config.c: any bytes as a configuration.
 *
 * Either there is at least one error, or there is a configuration, and then
 * writing it and reading that gives the same again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *
write_text(const struct config *c, size_t *length)
{
	struct json j;
	char *text;

	json_init(&j, false);
	config_write(c, &j);
	if (json_take(&j, &text, length) != 0)
		abort();
	return text;
}

static void
check_reads_back(const struct config *c)
{
	struct config_errors errors = {0};
	struct config *again;
	size_t n, m;
	char *first = write_text(c, &n), *second;

	if (config_parse(&again, first, n, "written", &errors) != 0)
		abort();
	second = write_text(again, &m);
	assert(n == m && memcmp(first, second, n) == 0);
	free(first);
	free(second);
	config_free(&again);
	config_errors_fini(&errors);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_errors errors = {0};
	struct config *c;
	int err;

	err = config_parse(&c, (const char *)data, size, "fuzz", &errors);
	assert((err == 0) == (c != NULL));
	assert((err == 0) == (errors.count == 0));
	if (err == 0) {
		check_reads_back(c);
		config_check(c, &errors);
	}
	config_free(&c);
	config_errors_fini(&errors);
	return 0;
}
