/* accounts_counted.c: counters of a request's server during the request. */
#include "proxy/analysis/accounts.h"

#include <string.h>

/* Wait this long for counters; then the account gets none. */
#define PATIENCE_S 5

/* False: ask again later. */
static bool
account_count(struct counted_epochs *from, struct account *one)
{
	struct counted c;

	if (!counted_find(from, one->middle, one->server, &c))
		return false;
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		if ((c.counters >> i & 1) == 0 ||
		    one->counted == ACCOUNT_COUNTERS)
			continue;
		one->counter[one->counted] = (uint8_t)i;
		one->milli[one->counted++] = c.milli[i];
	}
	return true;
}

void
accounts_count(struct accounts *a, bool last)
{
	if (a->open - a->ready > a->max)
		a->ready = a->open - a->max;
	for (; a->ready < a->open; a->ready++) {
		struct account *one = &a->account[a->ready % a->max];
		uint64_t second = one->middle.ns / (uint64_t)NS_PER_S;

		if (a->counted != NULL && instant_is_set(one->middle) &&
		    !account_count(a->counted, one) && !last &&
		    a->second < second + PATIENCE_S)
			return;
	}
}

void
account_counted_head(uint32_t counters, struct text *t)
{
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if ((counters >> i & 1) != 0)
			text_add(t, ",%s", talechain_counter_kind(i)->code);
}

void
account_counted_write(
    const struct account *one, uint32_t counters, struct text *t)
{
	for (unsigned i = 0; i < TALECHAIN_COUNTER_COUNT; i++) {
		if ((counters >> i & 1) == 0)
			continue;
		text_puts(t, ",");
		for (unsigned k = 0; k < one->counted; k++) {
			if (one->counter[k] != i)
				continue;
			text_add(t, "%llu.%03u",
			    (unsigned long long)(one->milli[k] / 1000),
			    (unsigned)(one->milli[k] % 1000));
			break;
		}
	}
}
