/* Goal: no bytes of a runtime's map of its code crash its reader: a name is
 * terminated, and no symbol that wants none gets one.
 *
 * The input: the runtime, when the map was first written, then its text, which
 * is read a second time as of later. */
#include <stdlib.h>
#include <string.h>

#include "talechain/symbols/sources.h"
#include "tests/fuzz/check.h"

#define SYMBOLS 4

static void
read_one(struct code_maps *m, const uint8_t *data, size_t size, uint64_t at_ns)
{
	struct symbol of[SYMBOLS] = {
	    {.at = 0x1000, .generated = true},
	    {.at = UINT64_MAX, .generated = true},
	    {.at = 0x7f0000001000, .generated = true},
	    {.at = 0x1000},
	};
	char *text = malloc(size - 2 + (size == 2));

	check(text != NULL, "memory");
	memcpy(text, data + 2, size - 2);
	code_maps_read(m, data[0] & 3, (struct instant){UINT64_C(1) << 40},
	    (struct instant){UINT64_C(2) << 40}, (struct instant){at_ns}, text,
	    size - 2, of, SYMBOLS);
	for (unsigned i = 0; i < SYMBOLS; i++)
		check(memchr(of[i].name, '\0', SYMBOL_NAME) != NULL,
		    "an end of a name");
	check(of[SYMBOLS - 1].name[0] == '\0', "a name of what is no code");
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct code_maps m = {.next = 0};

	if (size < 2)
		return 0;
	read_one(&m, data, size, (uint64_t)data[1] << 36);
	read_one(&m, data, size, UINT64_C(3) << 40);
	code_maps_fini(&m);
	return 0;
}
