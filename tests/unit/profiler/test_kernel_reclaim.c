/*
 * test_kernel_reclaim.c: memory that this process frees as its control group is
 * at its limit, in events of the kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/instant.h"
#include "cgroup.h"
#include "kernel_events.h"

#define LIMIT_BYTES (32L << 20)
#define FILE_BYTES (256L << 20)

/* The group to which processes return. */
static bool
leave(const struct cgroup *g)
{
	struct cgroup root = {.old = g->old};

	snprintf(root.path, sizeof(root.path), "/sys/fs/cgroup%s",
	    g->old ? "/memory" : "");
	return cgroup_write(&root, "cgroup.procs", "0");
}

/* Pages that were freed so far because the machine had too few: no group. */
static uint64_t
freed_by_now(void)
{
	static const char *const who[] = {
	    "pgsteal_kswapd ", "pgsteal_direct ", "pgsteal_khugepaged "};
	FILE *f = fopen("/proc/vmstat", "re");
	uint64_t sum = 0;
	char line[128];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		for (unsigned i = 0; i < sizeof(who) / sizeof(who[0]); i++)
			if (strncmp(line, who[i], strlen(who[i])) == 0)
				sum += strtoull(strchr(line, ' '), NULL, 10);
	fclose(f);
	return sum;
}

/* Read all of a file that is a hole: no disk is needed, but memory is. */
static void
read_hole(int file)
{
	static char block[1 << 20];

	for (off_t at = 0; at < FILE_BYTES; at += (off_t)sizeof(block))
		assert_int_equal(
		    pread(file, block, sizeof(block), at), sizeof(block));
}

/*
 * Goal: each time that this thread frees memory is an event; none overlaps
 * another, together they are no longer than the reading, and they freed what
 * was read but for the limit, and for what was freed because the machine has
 * little memory.
 */
TEST(test_group)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char name[] = "/var/tmp/tailor-hole-XXXXXX", limit[32];
	uint64_t sum_ns = 0, pages = 0, ended = 0, took_ns, freed_pages;
	struct cgroup group;
	struct recording r;
	struct instant begin;
	unsigned of_group = 0;
	int file;

	snprintf(limit, sizeof(limit), "%ld", LIMIT_BYTES);
	if (!cgroup_make(&group, "memory"))
		skip();
	if (!cgroup_write(&group,
		group.old ? "memory.limit_in_bytes" : "memory.max", limit)) {
		cgroup_remove(&group);
		unit_skip("no memory can be limited here");
	}
	file = mkstemp(name);
	assert_true(file >= 0);
	unlink(name);
	assert_int_equal(ftruncate(file, FILE_BYTES), 0);
	recording_open_usual(&r);
	assert_true(cgroup_write(&group, "cgroup.procs", "0"));
	recording_begin(&r);
	freed_pages = freed_by_now();
	begin = instant_now();
	read_hole(file);
	took_ns = (uint64_t)instant_since(instant_now(), begin);
	recording_end(&r);
	freed_pages = freed_by_now() - freed_pages;
	assert_true(leave(&group));
	close(file);
	cgroup_remove(&group);
	for (unsigned i = 0; i < r.count; i++) {
		const struct talechain_event *e = &r.event[i];

		if (e->type != TALECHAIN_RECLAIM)
			continue;
		assert_int_equal(e->tid, gettid());
		of_group += e->arg[0] == TALECHAIN_RECLAIM_GROUP;
		assert_true(e->ts - e->arg[1] >= ended);
		ended = e->ts;
		sum_ns += e->arg[1];
		pages += e->arg[2];
	}
	print_message("freed %llu pages in %.2f of %.2f ms\n",
	    (unsigned long long)pages, (double)sum_ns / 1e6,
	    (double)took_ns / 1e6);
	assert_true(of_group > 0);
	assert_in_range((pages + freed_pages) * page,
	    FILE_BYTES - 2 * LIMIT_BYTES,
	    FILE_BYTES + 2 * LIMIT_BYTES + 2 * freed_pages * page);
	assert_true(sum_ns > 0 && sum_ns < took_ns);
	recording_close(&r);
}
