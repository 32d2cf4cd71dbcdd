/* Goal: no bytes of a block of accounts, or of latencies, crash their reader:
 * what is read is in range, adds up, stands in a line of CSV, and is the same
 * when it is written and read again. */
#include <stddef.h>
#include <string.h>

#include "talechain/store/account_pack.h"
#include "tests/fuzz/check.h"

static struct account_named taken[ACCOUNT_BLOCK];
static unsigned n;

static bool
is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~' || *text == ',' || *text == '"')
			return false;
	return true;
}

static void
take(void *user, const struct account_named *one)
{
	const struct account *a = &one->account;
	int64_t sum = 0;

	(void)user;
	check(n < ACCOUNT_BLOCK, "more than a block has");
	check(is_plain(a->external_id) && is_plain(one->route) &&
		  is_plain(one->server),
	    "a name is not plain");
	check(a->weight >= 1 && a->weight <= 1e12, "its weight");
	check(a->end_wall_ns >= 0, "its end");
	check(a->parts <= ACCOUNT_PARTS && a->status < 1000, "its numbers");
	for (unsigned k = 0; k < a->parts; k++) {
		check(a->part_ns[k] >= 0, "a part");
		check(a->cause[k] < TALE_CAUSE_COUNT, "a cause");
		sum += a->part_ns[k];
	}
	check(sum == a->total_ns, "it does not add up");
	check(a->counted <= ACCOUNT_COUNTERS, "its counters");
	for (unsigned k = 0; k < a->counted; k++)
		check(a->counter[k] < TALECHAIN_COUNTER_COUNT &&
			  a->milli[k] <= ACCOUNT_MILLI_MAX,
		    "a counter");
	taken[n++] = *one;
}

/* As take, of what was taken before. */
static void
compare(void *user, const struct account_named *one)
{
	unsigned *at = user;
	const struct account_named *was = &taken[(*at)++];

	check(strcmp(one->route, was->route) == 0 &&
		  strcmp(one->account.external_id, was->account.external_id) ==
		      0 &&
		  one->account.end_wall_ns == was->account.end_wall_ns &&
		  one->account.total_ns == was->account.total_ns &&
		  one->account.id == was->account.id &&
		  one->account.counted == was->account.counted &&
		  memcmp(one->account.counter, was->account.counter,
		      sizeof(was->account.counter)) == 0 &&
		  memcmp(one->account.milli, was->account.milli,
		      sizeof(was->account.milli)) == 0,
	    "another account is read again");
}

static void
check_latencies(const uint8_t *data, size_t size)
{
	static struct latency_block one, two;
	struct packed again = {0};
	uint64_t sum = 0;

	if (latency_unpack(data, size, &one) != 0)
		return;
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		sum += one.bucket[i];
	check(sum == one.count && sum > 0, "its count");
	check(sum <= LATENCY_COUNT_MAX && one.unnamed <= sum, "its numbers");
	check(is_plain(one.route), "its name is not plain");
	check(one.from_wall_ns >= 0 && one.from_wall_ns <= one.to_wall_ns,
	    "its time");
	check(latency_pack(&again, &one) == 0, "it cannot be written");
	check(latency_unpack(again.at, again.length, &two) == 0 &&
		  memcmp(&one, &two, sizeof(one)) == 0,
	    "another block is read again");
	free(again.at);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packed again = {0};
	unsigned at = 0;
	int count;

	check_latencies(data, size);
	n = 0;
	count = account_unpack(data, size, take, NULL);
	check(count < 0 || (unsigned)count == n, "its count");
	if (n == 0)
		return 0;
	check(account_pack(&again, taken, n) == 0, "it cannot be written");
	check(account_unpack(again.at, again.length, compare, &at) == (int)n,
	    "it cannot be read again");
	free(again.at);
	return 0;
}
