/*
 * test_kernel_reclaim.c: memory that this process frees as its control group is
 * at its limit, in events of the kernel.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
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
 * was read but for the limit.
 */
static void
test_group(void **state)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char name[] = "/var/tmp/tailor-hole-XXXXXX", limit[32];
	uint64_t sum_ns = 0, pages = 0, ended = 0, took_ns;
	struct cgroup group;
	struct recording r;
	struct instant begin;
	int file;

	(void)state;
	snprintf(limit, sizeof(limit), "%ld", LIMIT_BYTES);
	if (!cgroup_make(&group, "memory"))
		skip();
	if (!cgroup_write(&group,
		group.old ? "memory.limit_in_bytes" : "memory.max", limit)) {
		print_message("skipped: no memory can be limited here\n");
		cgroup_remove(&group);
		skip();
	}
	file = mkstemp(name);
	assert_true(file >= 0);
	unlink(name);
	assert_int_equal(ftruncate(file, FILE_BYTES), 0);
	recording_init(&r);
	recording_open(&r);
	assert_true(cgroup_write(&group, "cgroup.procs", "0"));
	recording_begin(&r);
	begin = instant_now();
	read_hole(file);
	took_ns = (uint64_t)instant_since(instant_now(), begin);
	recording_end(&r);
	assert_true(leave(&group));
	close(file);
	cgroup_remove(&group);
	for (unsigned i = 0; i < r.count; i++) {
		const struct talechain_event *e = &r.event[i];

		if (e->type != TALECHAIN_RECLAIM)
			continue;
		assert_int_equal(e->tid, gettid());
		assert_int_equal(e->arg[0], TALECHAIN_RECLAIM_GROUP);
		assert_true(e->ts - e->arg[1] >= ended);
		ended = e->ts;
		sum_ns += e->arg[1];
		pages += e->arg[2];
	}
	print_message("freed %llu pages in %.2f of %.2f ms\n",
	    (unsigned long long)pages, (double)sum_ns / 1e6,
	    (double)took_ns / 1e6);
	assert_in_range(pages * page, FILE_BYTES - 2 * LIMIT_BYTES,
	    FILE_BYTES + 2 * LIMIT_BYTES);
	assert_true(sum_ns > 0 && sum_ns < took_ns);
	recording_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
