/*
 * depot.h: a store in a directory of its own, and tales to put into it.
 */
#pragma once

#include <stdint.h>

#include "talechain/tale/tale_struct.h"
#include "talechain/store/store.h"

#define BOOT "11111111-2222-3333-4444-555555555555"
#define OTHER_BOOT "99999999-2222-3333-4444-555555555555"

extern char depot_directory[64];

/* Of a test: make the directory, and remove it and its files. */
int depot_setup(void **state);
int depot_teardown(void **state);

/* The path of a file of the store; valid until the next call. */
const char *depot_path(const char *name);
/* Remove all files. */
void depot_empty(void);
/* Have SQLite run statements on one of them. */
void depot_sql(const char *name, const char *statements);

struct tale_store *depot_open(uint64_t bytes_max, unsigned keep);

/* A tale whose content is a function of number and version alone, and what is
 * said of it. */
struct tale *depot_tale(unsigned number, unsigned version, unsigned events);
void depot_summary(struct tale_summary *s, unsigned number);

/* Put it in; what tale_store_add says. */
int depot_add(
    struct tale_store *s, unsigned number, unsigned version, unsigned events);
/* What the store gives back is what was put in, to the last byte. */
void depot_assert_whole(
    struct tale_store *s, unsigned number, unsigned version, unsigned events);
unsigned depot_count(struct tale_store *s);
