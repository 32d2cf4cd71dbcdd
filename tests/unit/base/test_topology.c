/* Goal: every size of machine gets a plan that uses only allowed CPUs. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cgroup.h"
#include "base/topology_read.h"

struct expected {
	const char *machine;
	const char *allowed; /* NULL: all */
	unsigned cpus, cores, lanes;
	int proxy, observer;
	enum topology_poll poll;
	const char *server[TOPOLOGY_SERVERS];
};

static const struct expected machines[] = {
    {"core:8 pu:2", NULL, 16, 8, 2, 14, 15, TOPOLOGY_POLL_RELAX,
	{"0,2,4,6,8,10,12", "1,3,5,7,9,11,13"}},
    {"core:2 pu:2", NULL, 4, 2, 2, 2, 3, TOPOLOGY_POLL_RELAX, {"0", "1"}},
    {"numa:2 core:4 pu:2", NULL, 16, 8, 2, 14, 15, TOPOLOGY_POLL_RELAX,
	{"0,2,4,6,8,10,12", "1,3,5,7,9,11,13"}},
    /* numbered as most firmware does: siblings n and n + 4 */
    {"core:4 pu:2(indexes=core:pu)", NULL, 8, 4, 2, 3, 7, TOPOLOGY_POLL_RELAX,
	{"0-2", "4-6"}},
    {"core:6 pu:1", NULL, 6, 6, 1, 4, 5, TOPOLOGY_POLL_SLEEP, {"0-1", "2-3"}},
    {"core:4 pu:1", NULL, 4, 4, 1, 2, 3, TOPOLOGY_POLL_SLEEP, {"0", "1"}},
    {"core:3 pu:1", NULL, 3, 3, 1, 2, -1, TOPOLOGY_POLL_SLEEP, {"0", "1"}},
    {"core:2 pu:1", NULL, 2, 2, 1, -1, -1, TOPOLOGY_POLL_SLEEP, {"0", "1"}},
    {"core:1 pu:2", NULL, 2, 1, 2, -1, -1, TOPOLOGY_POLL_SLEEP, {"0", "1"}},
    {"pu:1", NULL, 1, 1, 1, -1, -1, TOPOLOGY_POLL_SLEEP, {"0", "0"}},
    /* only some CPUs allowed */
    {"core:8 pu:2", "4-7", 4, 2, 2, 6, 7, TOPOLOGY_POLL_RELAX, {"4", "5"}},
    {"core:8 pu:2", "0,2,4,6", 4, 4, 1, 4, 6, TOPOLOGY_POLL_SLEEP, {"0", "2"}},
    {"core:8 pu:2", "2-3,9", 3, 2, 2, 9, -1, TOPOLOGY_POLL_SLEEP, {"2", "3"}},
    {"core:8 pu:2", "0-1,4,6", 4, 3, 2, 0, 1, TOPOLOGY_POLL_RELAX, {"4", "6"}},
    {"core:8 pu:2", "5", 1, 1, 1, -1, -1, TOPOLOGY_POLL_SLEEP, {"5", "5"}},
};
#define MACHINES (sizeof(machines) / sizeof(machines[0]))

static struct topology *
read_machine(const char *machine, const char *allowed)
{
	struct topology *t;
	cpu_set_t set;

	if (allowed != NULL)
		assert_int_equal(topology_parse_cpus(allowed, &set), 0);
	assert_int_equal(
	    topology_read(&t, machine, allowed != NULL ? &set : NULL, NULL), 0);
	return t;
}

TEST(test_plans)
{
	for (unsigned i = 0; i < MACHINES; i++) {
		const struct expected *e = &machines[i];
		struct topology *t = read_machine(e->machine, e->allowed);
		struct topology_plan plan;
		char text[64];

		assert_int_equal(t->cpus, e->cpus);
		assert_int_equal(t->cores, e->cores);
		assert_int_equal(topology_lanes(t), e->lanes);
		topology_plan(t, &plan);
		assert_int_equal(plan.proxy_cpu, e->proxy);
		assert_int_equal(plan.observer_cpu, e->observer);
		assert_int_equal(plan.poll, e->poll);
		assert_int_equal(plan.siblings, e->poll == TOPOLOGY_POLL_RELAX);
		for (unsigned s = 0; s < TOPOLOGY_SERVERS; s++)
			assert_string_equal(
			    topology_format_cpus(
				&plan.server_cpus[s], text, sizeof(text)),
			    e->server[s]);
		assert_int_equal(plan.servers_overlap, e->cpus == 1);
		topology_close(&t);
		assert_null(t);
	}
}

/* Goal: a CPU's neighbours are the other lanes of its core that are ours. */
TEST(test_neighbours)
{
	static const struct {
		const char *machine, *allowed;
		int cpu;
		const char *neighbours;
	} row[] = {{"core:4 pu:2", NULL, 5, "4"},
	    {"core:2 pu:4", NULL, 6, "4-5,7"},
	    {"core:4 pu:2(indexes=core:pu)", NULL, 7, "3"},
	    {"core:4 pu:2", "0-2,4", 4, ""}, {"core:4 pu:2", "0-2,4", 0, "1"},
	    {"core:4 pu:2", "0-2,4", 5, ""}, {"core:4 pu:1", NULL, 1, ""},
	    {"core:4 pu:2", NULL, -1, ""}};
	struct topology *t;
	cpu_set_t set;
	char text[64];
	unsigned n;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		t = read_machine(row[i].machine, row[i].allowed);
		n = topology_neighbours(t, row[i].cpu, &set);
		assert_int_equal(n, CPU_COUNT(&set));
		assert_string_equal(
		    topology_format_cpus(&set, text, sizeof(text)),
		    row[i].neighbours);
		topology_close(&t);
	}
}

/* Whether the plan keeps the promises of topology.h on this machine. */
static void
check_plan(const struct topology *t, const cpu_set_t *allowed)
{
	struct topology_plan plan;
	cpu_set_t both;

	topology_plan(t, &plan);
	for (unsigned s = 0; s < TOPOLOGY_SERVERS; s++) {
		assert_true(CPU_COUNT(&plan.server_cpus[s]) > 0);
		CPU_AND(&both, &plan.server_cpus[s], allowed);
		assert_true(CPU_EQUAL(&both, &plan.server_cpus[s]));
		if (plan.proxy_cpu >= 0)
			assert_false(CPU_ISSET(
			    (size_t)plan.proxy_cpu, &plan.server_cpus[s]));
		if (plan.observer_cpu >= 0)
			assert_false(CPU_ISSET(
			    (size_t)plan.observer_cpu, &plan.server_cpus[s]));
	}
	CPU_AND(&both, &plan.server_cpus[0], &plan.server_cpus[1]);
	assert_int_equal(CPU_COUNT(&both) > 0, plan.servers_overlap);
	assert_true(
	    plan.proxy_cpu < 0 || CPU_ISSET((size_t)plan.proxy_cpu, allowed));
	assert_true(plan.observer_cpu < 0 ||
		    CPU_ISSET((size_t)plan.observer_cpu, allowed));
	assert_true(plan.proxy_cpu < 0 || plan.proxy_cpu != plan.observer_cpu);
	if (plan.poll != TOPOLOGY_POLL_SLEEP)
		assert_true(plan.observer_cpu >= 0);
	assert_true(strlen(plan.why) > 0);
	assert_true(strlen(plan.why) < sizeof(plan.why) - 1);
}

TEST(test_plans_for_random_allowed_sets)
{
	static const char *const shapes[] = {"core:8 pu:2", "core:16 pu:1",
	    "numa:2 core:2 pu:4", "package:2 core:3 pu:2"};

	srandom(1);
	for (unsigned round = 0; round < 200; round++) {
		struct topology *t;
		cpu_set_t allowed;

		CPU_ZERO(&allowed);
		for (size_t cpu = 0; cpu < 12; cpu++)
			if (random() % 3 == 0)
				CPU_SET(cpu, &allowed);
		CPU_SET((size_t)random() % 12, &allowed);
		assert_int_equal(
		    topology_read(&t, shapes[round % 4], &allowed, NULL), 0);
		assert_int_equal(t->cpus, CPU_COUNT(&allowed));
		check_plan(t, &allowed);
		topology_close(&t);
	}
}

TEST(test_this_machine)
{
	struct topology *t;
	cpu_set_t allowed;

	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	assert_int_equal(topology_open(&t, NULL), 0);
	assert_int_equal(t->cpus, CPU_COUNT(&allowed));
	check_plan(t, &allowed);
	topology_close(&t);
}

TEST(test_bad_descriptions)
{
	struct topology *t = NULL;
	cpu_set_t none;

	assert_int_equal(topology_open(&t, "nonsense:8"), -EINVAL);
	CPU_ZERO(&none);
	assert_int_equal(
	    topology_read(&t, "core:2 pu:1", &none, NULL), -ENOSYS);
	assert_null(t);
	topology_close(&t);
}

/* --- cgroup quota, from a tree of files of our own ---------------------- */

static char root[64];

static void
run(const char *command, const char *argument)
{
	char line[256];

	snprintf(line, sizeof(line), command, argument);
	assert_int_equal(system(line), 0);
}

static void
write_file(const char *path, const char *text)
{
	char full[256], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = full + strlen(root) + 1;
	     (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int
root_setup(void **state)
{
	(void)state;
	strcpy(root, "/tmp/tailor-test-XXXXXX");
	return mkdtemp(root) != NULL ? 0 : -1;
}

static int
root_teardown(void **state)
{
	(void)state;
	run("rm -r '%s'", root);
	return 0;
}

TEST_WITH(test_quota_version_2, root_setup, root_teardown)
{
	assert_true(cgroup_cpu_quota(root) == 0); /* no files at all */
	write_file("/proc/self/cgroup", "0::/a/b\n");
	write_file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	assert_true(cgroup_cpu_quota(root) == 0);
	write_file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
	assert_true(cgroup_cpu_quota(root) == 1.5);
	write_file("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
	assert_true(cgroup_cpu_quota(root) == 1.5); /* the smallest */
	write_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
	assert_true(cgroup_cpu_quota(root) == 0.5); /* up to the mount */
	write_file("/sys/fs/cgroup/cpu.max", "nonsense");
	assert_true(cgroup_cpu_quota(root) == 1.5);
}

TEST_WITH(test_quota_version_1, root_setup, root_teardown)
{
	write_file("/proc/self/cgroup",
	    "3:cpuset:/z\n2:cpu,cpuacct:/docker/77\n1:name=systemd:/z\n");
	write_file("/sys/fs/cgroup/cpuset/z/cpu.cfs_quota_us", "1\n");
	write_file("/sys/fs/cgroup/cpuset/z/cpu.cfs_period_us", "100\n");
	assert_true(cgroup_cpu_quota(root) == 0);
	write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
	write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
	/* The path is the host's; in here only the mount's root is seen. */
	assert_true(cgroup_cpu_quota(root) == 2.5);
	write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
	assert_true(cgroup_cpu_quota(root) == 0);
}

TEST_WITH(test_idle, root_setup, root_teardown)
{
	static const char *const line[] = {"0::/a/b\n", "2:cpu:/a/b\n"};
	static const char *const top[] = {"", "/cpu"};
	char path[64];

	for (unsigned v = 0; v < 2; v++) {
		write_file("/proc/self/cgroup", line[v]);
		snprintf(
		    path, sizeof(path), "/sys/fs/cgroup%s/a/cpu.idle", top[v]);
		assert_false(cgroup_cpu_idle(root));
		write_file(path, "0\n");
		assert_false(cgroup_cpu_idle(root));
		write_file(path, "1\n"); /* of the group above ours */
		assert_true(cgroup_cpu_idle(root));
		write_file("/proc/self/cgroup", "0::/b\n3:cpuset:/a\n");
		assert_false(cgroup_cpu_idle(root));
		write_file(path, "0\n");
	}
}

TEST_WITH(test_quota_stops_spinning, root_setup, root_teardown)
{
	struct topology_plan plan;
	struct topology *t;

	write_file("/proc/self/cgroup", "0::/\n");
	write_file("/sys/fs/cgroup/cpu.max", "200000 100000\n");
	assert_int_equal(topology_read(&t, "core:8 pu:2", NULL, root), 0);
	assert_true(t->quota == 2);
	topology_plan(t, &plan);
	assert_int_equal(plan.poll, TOPOLOGY_POLL_SLEEP);
	assert_non_null(strstr(plan.why, "quota is 2.00 CPUs"));
	topology_close(&t);
	write_file("/sys/fs/cgroup/cpu.max", "800000 100000\n");
	assert_int_equal(topology_read(&t, "core:8 pu:2", NULL, root), 0);
	topology_plan(t, &plan);
	assert_int_equal(plan.poll, TOPOLOGY_POLL_RELAX);
	topology_close(&t);
}

/* --- lists of CPUs ------------------------------------------------------- */

TEST(test_cpu_lists)
{
	static const char *const good[] = {
	    "0", "0-3,8", "1,3,5", "1023", "0-1023"};
	static const struct {
		const char *text;
		int error;
	} bad[] = {{"", -EINVAL}, {",", -EINVAL}, {"1,", -EINVAL},
	    {"3-1", -EINVAL}, {"a", -EINVAL}, {"1 ,2", -EINVAL},
	    {"-1", -EINVAL}, {"1-", -EINVAL}, {"1-2-3", -EINVAL},
	    {"1024", -ERANGE}, {"99999999999999999999999", -ERANGE},
	    {"0-4294967296", -ERANGE}, {"2000,x", -EINVAL}};
	char text[64];
	cpu_set_t set, before;

	for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(topology_parse_cpus(good[i], &set), 0);
		assert_string_equal(
		    topology_format_cpus(&set, text, sizeof(text)), good[i]);
	}
	memcpy(&before, &set, sizeof(set));
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    topology_parse_cpus(bad[i].text, &set), bad[i].error);
	assert_true(CPU_EQUAL(&before, &set));
	CPU_ZERO(&set);
	assert_string_equal(topology_format_cpus(&set, text, 64), "");
	topology_parse_cpus("10-20,30,40", &set);
	assert_string_equal(topology_format_cpus(&set, text, 8), "10-20,3");
}
