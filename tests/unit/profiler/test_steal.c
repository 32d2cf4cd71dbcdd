/*
 * test_steal.c: what the host takes, from the text of /proc/stat to rates.
 */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/rates/steal.h"

#define TICK_NS (10 * NS_PER_MS)

static struct command_ring ring;

/* A file in place of /proc/stat. */
struct stat_file {
	char path[64];
	struct steal steal;
};

static void
stat_write(const struct stat_file *f, const char *text)
{
	FILE *out = fopen(f->path, "we");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static void
stat_open(struct stat_file *f, const char *text)
{
	int fd;

	memset(&ring, 0, sizeof(ring));
	snprintf(f->path, sizeof(f->path), "/tmp/tailor-steal-XXXXXX");
	fd = mkstemp(f->path);
	assert_true(fd >= 0);
	close(fd);
	stat_write(f, text);
	steal_open(&f->steal, f->path);
}

static void
stat_close(struct stat_file *f)
{
	steal_close(&f->steal);
	unlink(f->path);
}

static struct instant
ms(int64_t ms)
{
	return (struct instant){(uint64_t)(1000 * NS_PER_S + ms * NS_PER_MS)};
}

/* Goal: the eighth number of each CPU's line is taken, of no other line. */
TEST(test_parse)
{
	uint64_t ticks[STEAL_CPUS] = {[1] = 77};

	assert_int_equal(steal_parse("cpu  9 9 9 9 9 9 9 99 9 9\n"
				     "cpu0 1 2 3 4 5 6 7 8 9 10\n"
				     "cpu3 1 2 3 4 5 6 7 30 0 0\n"
				     "intr 1 2 3 4 5 6 7 8 9\n",
			     ticks),
	    2);
	assert_int_equal(ticks[0], 8);
	assert_int_equal(ticks[1], 77); /* it is offline: not in the text */
	assert_int_equal(ticks[3], 30);
}

/* Goal: a kernel without the number gives none, nor does other text. */
TEST(test_none)
{
	uint64_t ticks[STEAL_CPUS] = {0};

	assert_int_equal(steal_parse("cpu  1 2 3 4 5 6 7\n"
				     "cpu0 1 2 3 4 5 6 7\n",
			     ticks),
	    0);
	assert_int_equal(steal_parse("", ticks), 0);
	assert_int_equal(steal_parse("cpu0 1 2", ticks), 0);
	assert_int_equal(steal_parse("cpu512 1 2 3 4 5 6 7 8\n", ticks), 0);
}

/* Goal: only growth is reported, of its CPU, over the time between two reads;
 * what was stolen before the first read is not. */
TEST(test_growth)
{
	struct observer_command o;
	struct stat_file f;

	stat_open(&f, "cpu0 1 2 3 4 5 6 7 500\ncpu1 1 2 3 4 5 6 7 8\n");
	assert_int_equal(
	    steal_turn(&f.steal, &ring, false, ms(0)), 100 * NS_PER_MS);
	assert_false(command_pop(&ring, &o));
	stat_write(&f, "cpu0 1 2 3 4 5 6 7 500\ncpu1 1 2 3 4 5 6 7 11\n");
	assert_int_equal(
	    steal_turn(&f.steal, &ring, false, ms(40)), 60 * NS_PER_MS);
	assert_false(command_pop(&ring, &o)); /* not due */
	steal_turn(&f.steal, &ring, false, ms(120));
	assert_true(command_pop(&ring, &o));
	assert_int_equal(o.kind, COMMAND_RATE);
	assert_int_equal(o.rate.signal, TALECHAIN_RATE_STEAL);
	assert_int_equal(o.rate.server, -1);
	assert_int_equal(o.rate.cpu, 1);
	assert_int_equal(o.rate.count, 3 * TICK_NS);
	assert_int_equal(o.rate.base, 120 * NS_PER_MS);
	assert_int_equal(o.rate.interval_ns, 120 * NS_PER_MS);
	assert_int_equal(o.at.ns, ms(120).ns);
	assert_false(command_pop(&ring, &o));
	assert_int_equal(f.steal.total_ns, 3 * TICK_NS);
	stat_close(&f);
}

/* Goal: it is read every four seconds at rest, and soon when a request
 * comes. */
TEST(test_rest)
{
	struct stat_file f;

	stat_open(&f, "cpu0 1 2 3 4 5 6 7 8\n");
	assert_int_equal(
	    steal_turn(&f.steal, &ring, true, ms(0)), 4 * NS_PER_S);
	assert_int_equal(
	    steal_turn(&f.steal, &ring, true, ms(600)), 3400 * NS_PER_MS);
	assert_int_equal(f.steal.at.ns, ms(0).ns);
	assert_int_equal(
	    steal_turn(&f.steal, &ring, false, ms(610)), 100 * NS_PER_MS);
	assert_int_equal(f.steal.at.ns, ms(610).ns);
	/* At rest it is early rather than a wake-up of its own. */
	assert_int_equal(
	    steal_turn(&f.steal, &ring, true, ms(710)), 4 * NS_PER_S);
	assert_int_equal(
	    steal_turn(&f.steal, &ring, true, ms(4200)), 510 * NS_PER_MS);
	assert_int_equal(
	    steal_turn(&f.steal, &ring, true, ms(4210)), 4 * NS_PER_S);
	assert_int_equal(f.steal.at.ns, ms(4210).ns);
	stat_close(&f);
}

/* Goal: without the account nothing is read again, and nothing is claimed. */
TEST(test_not_observed)
{
	struct observer_command o;
	struct stat_file f;

	stat_open(&f, "cpu0 1 2 3 4 5 6 7\n");
	assert_int_equal(steal_turn(&f.steal, &ring, false, ms(0)), -1);
	stat_write(&f, "cpu0 1 2 3 4 5 6 7 8\n");
	assert_int_equal(steal_turn(&f.steal, &ring, false, ms(200)), -1);
	assert_false(command_pop(&ring, &o));
	stat_close(&f);
	steal_open(&f.steal, "/nowhere/stat");
	assert_int_equal(steal_turn(&f.steal, &ring, false, ms(0)), -1);
	steal_close(&f.steal);
}

/* Goal: all CPUs are read on the largest machine that is supported, and an
 * account that goes back is no growth. */
TEST(test_many)
{
	struct observer_command o;
	struct stat_file f;
	char *text = calloc(STEAL_CPUS + 2, 128), *at;
	unsigned reported = 0;

	assert_non_null(text);
	for (unsigned round = 0; round < 3; round++) {
		at = text;
		for (unsigned i = 0; i <= STEAL_CPUS; i++)
			at += sprintf(at,
			    "cpu%u 1234567890 12345678 123456789 1234567890 "
			    "123456 0 1234567 %u 0 0\n",
			    i, round == 1 ? 20 : 10);
		if (round == 0)
			stat_open(&f, text);
		else
			stat_write(&f, text);
		steal_turn(&f.steal, &ring, false, ms(200 * round));
		while (command_pop(&ring, &o))
			reported++;
		assert_int_equal(reported, round == 0 ? 0 : STEAL_CPUS);
	}
	assert_int_equal(f.steal.total_ns, (uint64_t)STEAL_CPUS * 10 * TICK_NS);
	stat_close(&f);
	free(text);
}
