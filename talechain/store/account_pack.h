/* account_pack.h: a block of accounts as bytes, and back.  Private to this
 * room.
 *
 * A head by which a block is passed over, the causes that occur by their codes,
 * then the accounts: times and numbers as differences to the one before.  A
 * name is written only where it differs from that of the account before. */
#pragma once

#include "talechain/store/accounts.h"
#include "talechain/store/pack.h"

/* What a block says of its accounts, without reading them.  A block of no
 * accounts has latencies of all requests instead. */
struct account_head {
	unsigned n, slow;
	int64_t first_ns, last_ns; /* the least and the largest end */
	/* Counters that some have, by their codes, in order of the block's
	 * numbers; of none the block is as it was before there were any. */
	unsigned counters;
	int counter[TALECHAIN_COUNTER_COUNT]; /* NONE: not known any more */
};

/* 0 or -EPROTO.  A few ns. */
int account_head_read(
    const uint8_t *bytes, size_t length, struct account_head *head);

/* Append to out (as tale_pack) n accounts.  0 or -ENOMEM. */
int
account_pack(struct packed *out, const struct account_named *one, unsigned n);

/* Take each account of a block.  What is taken is in range,
 * and its parts add up to its total.  Returns how many, or -EPROTO (then some
 * may have been taken). */
int account_unpack(const uint8_t *bytes, size_t length,
    void (*take)(void *user, const struct account_named *one), void *user);

/* The same of a block of latencies: what is taken is in range, and its counts
 * add up to its count.  0, -ENOMEM (packing) or -EPROTO. */
int latency_pack(struct packed *out, const struct latency_block *block);
int latency_unpack(
    const uint8_t *bytes, size_t length, struct latency_block *block);

struct codec;
/* The walk of a head in both directions. */
void code_account_head(struct codec *c, struct account_head *head);

/* Make a name fit for a line of CSV, and for a terminal. */
void account_name_plain(char *name);
