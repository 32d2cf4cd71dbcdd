/* Goal: an event that the kernel describes is counted as it says, with all of
 * its terms, and is read by rdpmc only where that reads it. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profiler/counters/counter.h"

static char devices[64];

static int
setup(void **state)
{
	static const char *const files[][2] = {
	    {"type", "4"},
	    {"format/event", "config:0-7,32-35"},
	    {"format/umask", "config:8-15"},
	    {"format/edge", "config:18"},
	    {"format/ldlat", "config1:0-15"},
	    {"format/all", "config2:0-63"},
	    {"format/bad", "config3:0-7"},
	    {"format/wide", "config:0-64"},
	    {"events/cycles", "event=0x3c"},
	    {"events/misses", "event=0x2e,umask=0x41"},
	    {"events/loads", "event=0xcd,umask=0x1,ldlat=3,edge"},
	    {"events/split", "event=0x1c7,all=0xffffffffffffffff"},
	    {"events/whole", "config=0x100002,config1=7"},
	    {"events/given", "event=0x3c,umask=?"},
	    {"events/none", "event="},
	    {"events/unknown", "event=1,other=2"},
	    {"events/bad", "bad=1"},
	    {"events/wide", "wide=1"},
	};
	char path[128];
	FILE *f;

	(void)state;
	strcpy(devices, "/tmp/tailor-test-XXXXXX");
	if (mkdtemp(devices) == NULL)
		return -1;
	for (unsigned i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/cpu%s", devices,
		    i == 0   ? ""
		    : i == 1 ? "/format"
			     : "/events");
		mkdir(path, 0700);
	}
	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/cpu/%s", devices, files[i][0]);
		f = fopen(path, "w");
		if (f == NULL)
			return -1;
		fprintf(f, "%s\n", files[i][1]);
		fclose(f);
	}
	return 0;
}

static int
teardown(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", devices);
	return system(command);
}

TEST_WITH(test_terms, setup, teardown)
{
	static const struct {
		const char *name;
		uint64_t config, config1, config2;
	} found[] = {
	    {"cpu/cycles/", 0x3c, 0, 0},
	    {"cpu/misses/", 0x412e, 0, 0},
	    {"cpu/loads/", 0x401cd, 3, 0},
	    {"cpu/whole/", 0x100002, 7, 0},
	    {"cpu/split/", UINT64_C(0x1000000c7), 0, UINT64_MAX},
	};
	static const struct {
		const char *name;
		int err;
	} refused[] = {
	    {"cpu/given/", -EINVAL},
	    {"cpu/none/", -EINVAL},
	    {"cpu/bad/", -EINVAL},
	    {"cpu/wide/", -EINVAL},
	    {"cpu/unknown/", -ENOENT},
	    {"cpu/absent/", -ENOENT},
	    {"gpu/cycles/", -ENOENT},
	    {"cpu/cycles", -EINVAL},
	    {"cpu/../type/", -EINVAL},
	};
	struct counter_number n;

	for (unsigned i = 0; i < sizeof(found) / sizeof(*found); i++) {
		assert_int_equal(
		    counter_number_find(&n, found[i].name, devices), 0);
		assert_int_equal(n.type, 4);
		assert_int_equal(n.config, found[i].config);
		assert_int_equal(n.config1, found[i].config1);
		assert_int_equal(n.config2, found[i].config2);
	}
	for (unsigned i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_int_equal(
		    counter_number_find(&n, refused[i].name, devices),
		    refused[i].err);
}

TEST(test_what_rdpmc_reads)
{
	cpu_set_t own, one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
	while (!CPU_ISSET((size_t)cpu, &own))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_false(counter_is_here(getppid(), -1));
	assert_false(counter_is_here(getppid(), cpu));
	assert_true(CPU_COUNT(&own) == 1 || !counter_is_here(-1, cpu));
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_false(counter_is_here(getppid(), -1));
	assert_false(counter_is_here(-1, cpu + 1));
#if defined(__x86_64__)
	assert_true(counter_is_here(0, -1));
	assert_true(counter_is_here(-1, cpu));
#endif
	assert_int_equal(sched_setaffinity(0, sizeof(own), &own), 0);
}

/* Goal: what a counter did not count is known. */
TEST(test_counted)
{
	struct counter c = {.fd = -1};

	assert_true(counter_counted(&c) == 1); /* nothing was read */
	c.enabled_ns = 4;
	assert_true(counter_counted(&c) == 0);
	c.running_ns = 1;
	assert_true(counter_counted(&c) == 0.25);
	c.running_ns = 4;
	assert_true(counter_counted(&c) == 1);
}
