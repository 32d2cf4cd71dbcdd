/* Goal: no bytes crash the reader of a packed tale: what it gives is a tale in
 * order, and the same when it is packed and read again. */
#include <stdlib.h>
#include <string.h>

#include "talechain/tale/tale_struct.h"
#include "talechain/store/pack.h"
#include "tests/fuzz/check.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tale *t = NULL, *again = NULL;
	struct packed a = {0}, b = {0};
	int err = tale_unpack(&t, data, size);

	check((err == 0) == (t != NULL), "its result");
	if (err < 0)
		return 0;
	check(tale_total_ns(t) >= 0, "its total");
	for (size_t i = 1; i < t->entries; i++)
		check(!instant_before(t->entry[i].at, t->entry[i - 1].at),
		    "its order");
	check(tale_pack(&a, t) == 0, "it cannot be packed");
	check(tale_unpack(&again, a.at, a.length) == 0,
	    "it cannot be read again");
	check(tale_pack(&b, again) == 0 && a.length == b.length &&
		  memcmp(a.at, b.at, a.length) == 0,
	    "another tale is read again");
	free(a.at);
	free(b.at);
	tale_free(&t);
	tale_free(&again);
	return 0;
}
