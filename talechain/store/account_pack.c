/* account_pack.c: one function walks an account for both directions; sums and
 * differences of what is read cannot overflow. */
#include "talechain/store/account_pack.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "talechain/store/codec.h"

#define WEIGHT_UNIT 1e4
/* In a block's number of accounts: they have counters. */
#define COUNTED (2U * ACCOUNT_BLOCK)
#define WEIGHT_MAX 1000000000000 /* as blame has it */
/* Sums of an account's parts, and differences of ends, are numbers. */
#define PART_MAX_NS (INT64_MAX / 64)

/* The causes of a block: their numbers in it. */
struct causes {
	uint8_t cause[TALE_CAUSE_COUNT];
	unsigned n;
};

static unsigned
cause_number(struct causes *of, uint8_t cause)
{
	unsigned i = 0;

	while (i < of->n && of->cause[i] != cause)
		i++;
	if (i == of->n)
		of->cause[of->n++] = cause;
	return i;
}

static void
code_causes(struct codec *c, struct causes *of)
{
	code_unsigned(c, &of->n, TALE_CAUSE_COUNT);
	for (unsigned i = 0; i < of->n && c->err == 0; i++) {
		enum tale_cause cause = (enum tale_cause)of->cause[i];

		code_cause(c, &cause);
		of->cause[i] = (uint8_t)cause;
	}
}

void
account_name_plain(char *name)
{
	for (; *name != '\0'; name++)
		if (!isprint((unsigned char)*name) || *name == ',' ||
		    *name == '"')
			*name = '_';
}

/* A name; one zero byte: that of the account before. */
static void
code_name(struct codec *c, char *name, const char *before, size_t size)
{
	bool differs = c->packing && strcmp(name, before) != 0;

	code_bool(c, &differs);
	if (differs)
		code_text(c, name, size);
	else
		memmove(name, before, size);
	if (!c->packing && differs)
		account_name_plain(name);
}

/* A number that fits into its field, which is smaller than unsigned. */
static unsigned
code_small(struct codec *c, unsigned value, unsigned max)
{
	code_unsigned(c, &value, max);
	return value;
}

static void
code_part(struct codec *c, struct account *a, unsigned k, struct causes *of)
{
	unsigned number = c->packing ? cause_number(of, a->cause[k]) : 0;

	number = code_small(c, number, of->n > 0 ? of->n - 1 : 0);
	code_i64(c, &a->part_ns[k]);
	if (c->packing || c->err < 0)
		return;
	if (of->n == 0 || a->part_ns[k] < 0 || a->part_ns[k] > PART_MAX_NS) {
		c->err = -EPROTO;
		return;
	}
	a->cause[k] = of->cause[number];
	a->total_ns += a->part_ns[k];
}

static void
code_weight(struct codec *c, double *weight)
{
	int64_t coded = c->packing ? llround(*weight * WEIGHT_UNIT) : 0;

	code_i64(c, &coded);
	*weight = (double)coded / WEIGHT_UNIT;
	if (!c->packing && c->err == 0 &&
	    !(*weight >= 1 && *weight <= WEIGHT_MAX))
		c->err = -EPROTO;
}

/* What was counted: pairs of a number in the block and a value. */
static void
code_counted(struct codec *c, struct account *a, const struct account_head *of)
{
	unsigned n = code_small(c, a->counted, ACCOUNT_COUNTERS);

	if (!c->packing)
		a->counted = 0;
	for (unsigned k = 0; k < n && c->err == 0; k++) {
		uint64_t milli = c->packing ? a->milli[k] : 0;
		unsigned i = 0;

		while (c->packing && of->counter[i] != a->counter[k])
			i++;
		i = code_small(c, i, of->counters - 1);
		code_u64(c, &milli);
		if (!c->packing && milli > ACCOUNT_MILLI_MAX)
			c->err = -EPROTO;
		if (!c->packing && c->err == 0 && of->counter[i] >= 0) {
			a->counter[a->counted] = (uint8_t)of->counter[i];
			a->milli[a->counted++] = milli;
		}
	}
}

/* Of 0 the end and number of the account before. */
static void
code_account(struct codec *c, struct account_named *one,
    const struct account_named *before, struct causes *of,
    const struct account_head *head)
{
	struct account *a = &one->account;
	int64_t id = (int64_t)(a->id - before->account.id);
	int64_t later = a->end_wall_ns - before->account.end_wall_ns;

	code_i64(c, &id);
	code_i64(c, &later);
	if (!c->packing) {
		a->id = before->account.id + (uint64_t)id;
		if (later > PART_MAX_NS * 32 || later < -PART_MAX_NS * 32)
			c->err = -EPROTO;
		else
			a->end_wall_ns = before->account.end_wall_ns + later;
		if (a->end_wall_ns < 0 || a->end_wall_ns > PART_MAX_NS * 20)
			c->err = -EPROTO;
	}
	code_text(c, a->external_id, sizeof(a->external_id));
	code_name(c, one->route, before->route, sizeof(one->route));
	code_name(c, one->server, before->server, sizeof(one->server));
	code_weight(c, &a->weight);
	code_unsigned(c, &a->in_flight, UINT32_MAX);
	a->status = (uint16_t)code_small(c, a->status, 999);
	a->stratum = (uint8_t)code_small(c, a->stratum, ACCOUNT_STRATA - 1);
	a->attempts = (uint8_t)code_small(c, a->attempts, UINT8_MAX);
	code_bool(c, &a->kernel);
	code_bool(c, &a->cold);
	a->parts = (uint8_t)code_small(c, a->parts, ACCOUNT_PARTS);
	for (unsigned k = 0; k < a->parts && c->err == 0; k++)
		code_part(c, a, k, of);
	if (head->counters > 0)
		code_counted(c, a, head);
	if (!c->packing)
		account_name_plain(a->external_id);
}

static const struct account_named none;

/* The counters of a block. */
static void
code_counters(struct codec *c, struct account_head *head)
{
	code_unsigned(c, &head->counters, TALECHAIN_COUNTER_COUNT);
	if (!c->packing && (head->counters == 0 || head->n == 0))
		c->err = -EPROTO;
	for (unsigned i = 0; i < head->counters && c->err == 0; i++) {
		char code[24] = "";

		if (c->packing)
			snprintf(code, sizeof(code), "%s",
			    talechain_counter_kind((unsigned)head->counter[i])
				->code);
		code_text(c, code, sizeof(code));
		if (!c->packing)
			head->counter[i] = talechain_counter_find(code);
	}
}

void
code_account_head(struct codec *c, struct account_head *head)
{
	unsigned n = head->n | (head->counters > 0 ? COUNTED : 0);

	code_unsigned(c, &n, COUNTED | ACCOUNT_BLOCK);
	head->n = n & ~COUNTED;
	if (!c->packing && head->n > ACCOUNT_BLOCK)
		c->err = -EPROTO;
	code_unsigned(c, &head->slow, ACCOUNT_BLOCK);
	code_i64(c, &head->first_ns);
	code_i64(c, &head->last_ns);
	if ((n & COUNTED) != 0)
		code_counters(c, head);
	if (!c->packing && c->err == 0 &&
	    (head->slow > head->n || head->first_ns > head->last_ns))
		c->err = -EPROTO;
}

static struct account_head
head_of(const struct account_named *one, unsigned n)
{
	struct account_head head = {.n = n,
	    .first_ns = one[0].account.end_wall_ns,
	    .last_ns = one[0].account.end_wall_ns};
	uint32_t counters = 0;

	for (unsigned i = 0; i < n; i++) {
		int64_t end_ns = one[i].account.end_wall_ns;

		head.slow += one[i].account.stratum != ACCOUNT_OTHER;
		if (end_ns < head.first_ns)
			head.first_ns = end_ns;
		if (end_ns > head.last_ns)
			head.last_ns = end_ns;
		for (unsigned k = 0; k < one[i].account.counted; k++)
			counters |= 1U << one[i].account.counter[k];
	}
	for (int i = 0; i < TALECHAIN_COUNTER_COUNT; i++)
		if ((counters >> i & 1) != 0)
			head.counter[head.counters++] = i;
	return head;
}

int
account_head_read(
    const uint8_t *bytes, size_t length, struct account_head *head)
{
	struct codec c = {.in = bytes, .length = length};

	*head = (struct account_head){.n = 0};
	code_account_head(&c, head);
	return c.err;
}

int
account_pack(struct packed *out, const struct account_named *one, unsigned n)
{
	struct codec c = {.packing = true,
	    .out = out->at,
	    .at = out->length,
	    .length = out->length};
	struct causes causes = {.n = 0};
	struct account_head head = head_of(one, n);

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < one[i].account.parts; k++)
			cause_number(&causes, one[i].account.cause[k]);
	code_account_head(&c, &head);
	code_causes(&c, &causes);
	for (unsigned i = 0; i < n && c.err == 0; i++) {
		struct account_named copy = one[i];

		code_account(
		    &c, &copy, i > 0 ? &one[i - 1] : &none, &causes, &head);
	}
	out->at = c.out;
	if (c.err < 0)
		return c.err;
	out->length = c.at;
	return 0;
}

int
account_unpack(const uint8_t *bytes, size_t length,
    void (*take)(void *user, const struct account_named *one), void *user)
{
	struct codec c = {.in = bytes, .length = length};
	struct account_named one[2] = {none, none};
	struct causes causes = {.n = 0};
	struct account_head head = {.n = 0};

	code_account_head(&c, &head);
	if (c.err == 0 && head.n == 0)
		c.err = -EPROTO;
	code_causes(&c, &causes);
	for (unsigned i = 0; i < head.n && c.err == 0; i++) {
		one[0] = none;
		code_account(&c, &one[0], &one[1], &causes, &head);
		if (c.err == 0)
			take(user, &one[0]);
		one[1] = one[0];
	}
	return c.err == 0 && c.at != length ? -EPROTO
	       : c.err < 0		    ? c.err
					    : (int)head.n;
}
