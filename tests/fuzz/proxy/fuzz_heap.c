/*
 * fuzz_heap.c: libFuzzer target, the value of a Tailor-Heap field.
 *
 * Aborts if
 *   - what is taken is not what a naive reading of the text gives: three
 *     numbers of decimal digits, a space between two, none above 2^50, the
 *     second not 0;
 *   - such a text is not taken.
 */
#include "proxy/upstream/server.h"
#include "tests/fuzz/check.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT 1125899906842624.0 /* 2^50 */

/* The numbers of a text that is well formed, by another way: which bytes may
 * follow which, then strtod.  Leading zeros are no reason to refuse. */
static bool
is_heap(const char *text, size_t n, double number[3])
{
	unsigned spaces = 0;
	char *at;

	for (size_t i = 0; i < n; i++) {
		bool edge = i == 0 || i + 1 == n || text[i - 1] == ' ';

		if (text[i] == ' ' && edge)
			return false;
		if (text[i] != ' ' && strchr("0123456789", text[i]) == NULL)
			return false;
		if (text[i] == '\0')
			return false;
		spaces += text[i] == ' ';
	}
	if (n == 0 || spaces != 2)
		return false;
	at = (char *)(uintptr_t)text;
	for (unsigned i = 0; i < 3; i++) {
		number[i] = strtod(at, &at);
		if (number[i] > LIMIT)
			return false;
	}
	return number[1] > 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *exact = malloc(size > 0 ? size : 1);
	struct server_heap h = {.live = 7};
	double number[3];
	bool good;

	check(text != NULL && exact != NULL, "memory");
	if (size > 0) {
		memcpy(text, data, size);
		memcpy(exact, data, size); /* reading beyond is seen */
	}
	text[size] = '\0';
	good = collect_heap_parse((struct slice){exact, size}, &h);
	check(good == is_heap(text, size, number), "taken");
	check(h.live == 7 && !instant_is_set(h.seen), "others");
	if (good) {
		check((double)h.used == number[0], "used");
		check((double)h.full == number[1], "full");
		check((double)h.collections == number[2], "collections");
	}
	free(text);
	free(exact);
	return 0;
}
