/*
 * fake_page.h: hsperfdata files as HotSpot writes them, by hand.
 *
 * The test plays the JVM: it has the file mapped and stores counters in the
 * order in which the JVM does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profiler/jvm/hsperf_format.h"

#define FAKE_BYTES 32768

struct fake_page {
	unsigned char *map;
	uint32_t used, entries;
	/* where each counter's value is, 0 if it was not added */
	uint32_t at[HSPERF_COUNTER_COUNT];
	int fd;
};

/* A file with a prologue and no entries yet, under path, or a memfd. */
void fake_init(struct fake_page *f, const char *path);
void fake_fini(struct fake_page *f);

/* Add one entry of any name; returns where its value lies. */
uint32_t fake_add_long(struct fake_page *f, const char *name, uint64_t value);
uint32_t fake_add_text(
    struct fake_page *f, const char *name, const char *value, uint32_t room);

/* Add what a JVM with this collector has: "Serial", "Parallel", "G1", "ZGC",
 * "Shenandoah"; some unrelated counters, too. */
void fake_add_jvm(struct fake_page *f, const char *collector);

void fake_set(struct fake_page *f, enum hsperf_counter c, uint64_t value);
uint64_t fake_get(const struct fake_page *f, enum hsperf_counter c);
void fake_set_cause(struct fake_page *f, const char *cause);

/* The JVM's steps, at a time in its ticks. */
void fake_safepoint_begin(struct fake_page *f);
void fake_safepoint_end(struct fake_page *f, uint64_t ticks);
void fake_gc_begin(
    struct fake_page *f, int collector, const char *cause, uint64_t ticks);
void fake_gc_end(struct fake_page *f, int collector, uint64_t ticks);
