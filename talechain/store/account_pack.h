/* account_pack.h: a block of accounts as bytes, and back.  Private to this room.
 *
 * A count, the causes that occur by their codes, then the accounts: times and
 * numbers as differences to the one before.  A name is written only where it
 * differs from that of the account before. */
#pragma once

#include "talechain/store/accounts.h"
#include "talechain/store/pack.h"

/* Append to out (as tale_pack) n accounts.  0 or -ENOMEM. */
int
account_pack(struct packed *out, const struct account_named *one, unsigned n);

/* Take each account of a block; take may be NULL.  What is taken is in range,
 * and its parts add up to its total.  Returns how many, or -EPROTO (then some
 * may have been taken). */
int account_unpack(const uint8_t *bytes, size_t length,
    void (*take)(void *user, const struct account_named *one), void *user);
